/// Brings timestamps of another timescale to that of the mix, 48,000 a second, through their wraps.
struct TimescaleMap {
    static let ticksPerSecond = 48_000

    private let timescale: Int64
    private var last: UInt32?
    private var unwrapped: Int64 = 0

    init(timescale: Int) {
        self.timescale = Int64(max(timescale, 1))
    }

    var isOther: Bool { timescale != Int64(TimescaleMap.ticksPerSecond) }

    mutating func ticks(of timestamp: UInt32) -> UInt32 {
        unwrapped = position(of: timestamp)
        last = timestamp
        return ticks(at: unwrapped)
    }

    /// The same of a timestamp that has not come: the map stays as it is.
    func ticks(awaiting timestamp: UInt32) -> UInt32 { ticks(at: position(of: timestamp)) }

    /// The difference is the shorter way round; a sum of 2³² of them stays far within 63 bits.
    private func position(of timestamp: UInt32) -> Int64 {
        guard let last else { return Int64(timestamp) }
        return unwrapped &+ Int64(Int32(bitPattern: timestamp &- last))
    }

    private func ticks(at unwrapped: Int64) -> UInt32 {
        let (whole, rest) = unwrapped.quotientAndRemainder(dividingBy: timescale)
        return UInt32(truncatingIfNeeded: whole &* Int64(TimescaleMap.ticksPerSecond) &+ rest * Int64(TimescaleMap.ticksPerSecond) / timescale)
    }
}
