/// Lays pictures' timestamps, which wrap and begin anew, on one axis that does not, by the timestamps alone: sequence numbers count each layer apart.
struct VideoTimeline: Sendable {
    private let scale: TickScale
    private var isSet = false
    private var timestamp: UInt32 = 0
    private var ticks: Int64 = 0

    /// What says it is so much later or earlier than the fastest is on another timeline.
    private static var delayMicroseconds: Range<Int64> { -2_000_000..<12_000_000 }
    /// And what says that it begins anew, and is not as near as this.
    private static var nearMicroseconds: Range<Int64> { -200_000..<1_000_000 }
    /// Far above zero, so that what comes before the first is still a count.
    private static var secondsAtFirst: Int64 { 86_400 }

    init(scale: TickScale) {
        self.scale = scale
    }

    /// - Parameters:
    ///   - arrival: in microseconds.
    ///   - reference: arrival minus media time of the fastest, if that is known.
    mutating func place(_ timestamp: UInt32, isDiscontinuity: Bool, arrival: Int64, reference: Int64?) -> Int64 {
        guard isSet, let reference else { return begin(timestamp, at: scale.timescale * Self.secondsAtFirst) }
        let distance = Int64(Int32(bitPattern: timestamp &- self.timestamp))
        let natural = ticks + distance
        let delay = arrival - scale.microseconds(natural) - reference
        guard (isDiscontinuity ? Self.nearMicroseconds : Self.delayMicroseconds).contains(delay) else {
            return begin(timestamp, at: max(scale.ticks(microseconds: arrival - reference), ticks + 1))
        }
        if distance > 0 {
            self.timestamp = timestamp
            ticks = natural
        }
        return natural
    }

    private mutating func begin(_ timestamp: UInt32, at place: Int64) -> Int64 {
        isSet = true
        self.timestamp = timestamp
        ticks = place
        return place
    }

    mutating func reset() {
        isSet = false
    }
}
