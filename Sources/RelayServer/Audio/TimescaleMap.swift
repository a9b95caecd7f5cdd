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
        // The difference is the shorter way round; a sum of 2³² of them stays far within 63 bits.
        if let last { unwrapped &+= Int64(Int32(bitPattern: timestamp &- last)) } else { unwrapped = Int64(timestamp) }
        last = timestamp
        let (whole, rest) = unwrapped.quotientAndRemainder(dividingBy: timescale)
        return UInt32(truncatingIfNeeded: whole &* Int64(TimescaleMap.ticksPerSecond) &+ rest * Int64(TimescaleMap.ticksPerSecond) / timescale)
    }
}
