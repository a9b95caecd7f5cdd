/// Lays packets' timestamps, which wrap, jump and begin anew, on one axis that does none of that.
///
/// A timestamp that goes on from the last one keeps its distance. Where a new timeline begins (the packet says so, or what it says of time cannot be), the packet is
/// laid at the live edge: where it would be had it come without delay.
struct MediaTimeline: Sendable {
    private let scale: TickScale
    private var isSet = false
    private var mustBegin = false
    private var timestamp: UInt32 = 0
    private var ticks: Int64 = 0
    private var sequence: UInt32 = 0
    /// The first sequence number of the timeline: what is older is of another.
    private var beginning: UInt32 = 0
    /// From one sequence number to the next.
    private var stepTicks: Int64 = 0

    /// A packet that says it is so much later than the fastest is on another timeline. Longer than any stall that a connection survives.
    static var delayMicrosecondsMax: Int64 { 12_000_000 }
    /// And one that is so much ahead of the fastest.
    static var advanceMicrosecondsMax: Int64 { 2_000_000 }
    /// A packet that says it begins anew goes on with the timeline when it is that near to it.
    private static var nearMicroseconds: Int64 { 1_000_000 }
    private static var nearAdvanceMicroseconds: Int64 { 200_000 }
    /// Sequence numbers so far back are not late, they are a sender that began anew.
    private static var reorderingMax: Int32 { 2_000 }
    private static var reorderingAtFirst: Int { 100 }
    /// What a timestamp may be beside what the sequence number says, in steps, and be of the same timeline.
    private static var stepsBeside: Int64 { 4 }
    /// Far above zero, so that what comes before the first packet is still a count.
    private static var secondsAtFirst: Int64 { 86_400 }

    init(scale: TickScale) {
        self.scale = scale
    }

    struct Place: Sendable {
        var ticks: Int64
        /// A new timeline begins.
        var isBeginning: Bool
    }

    /// - Parameters:
    ///   - arrival: in microseconds.
    ///   - reference: arrival minus media time of the fastest, if that is known.
    ///   - endTicks: where the newest packet that is stored ends: nothing new begins before it.
    /// - Returns: `nil` for a packet of a timeline that has ended.
    mutating func place(_ packet: JitterPacket, arrival: Int64, reference: Int64?, endTicks: Int64) -> Place? {
        guard isSet, let reference else {
            let place = begin(packet, at: scale.timescale * Self.secondsAtFirst)
            // Of the first ones too, one may have overtaken another.
            if !packet.isDiscontinuity { beginning = packet.sequence &- UInt32(Self.reorderingAtFirst) }
            return place
        }
        let ahead = Int32(bitPattern: packet.sequence &- sequence)
        let distance = Int64(Int32(bitPattern: packet.timestamp &- timestamp))
        let natural = ticks + distance
        let delay = arrival - scale.microseconds(natural) - reference
        if ahead < 0, ahead > -Self.reorderingMax, !(packet.isDiscontinuity && isElsewhere(ahead, distance)) {
            guard !mustBegin, Int32(bitPattern: packet.sequence &- beginning) >= 0, distance <= 0, delay < Self.delayMicrosecondsMax else {
                return nil
            }
            return Place(ticks: natural, isBeginning: false)
        }
        let isPossible = ahead >= 0 && distance >= 0 && delay < Self.delayMicrosecondsMax && delay > -Self.advanceMicrosecondsMax
        let isNear = isPossible && delay < Self.nearMicroseconds && delay > -Self.nearAdvanceMicroseconds
        let isAnnounced = mustBegin || packet.isDiscontinuity && ahead != 0
        if isAnnounced ? isNear : isPossible {
            if isAnnounced { beginning = packet.sequence }
            mustBegin = false
            if ahead == 1 { stepTicks = distance }
            sequence = packet.sequence
            timestamp = packet.timestamp
            ticks = natural
            return Place(ticks: natural, isBeginning: isAnnounced)
        }
        let live = scale.ticks(microseconds: max(arrival - reference, 0))
        return begin(packet, at: max(live, endTicks, ticks + 1))
    }

    /// Whether a packet of before has a timestamp that the timeline did not have there.
    private func isElsewhere(_ ahead: Int32, _ distance: Int64) -> Bool {
        stepTicks > 0 && (distance - Int64(ahead) * stepTicks).magnitude > (Self.stepsBeside * stepTicks).magnitude
    }

    /// Forgets all: the next packet begins.
    mutating func reset() {
        isSet = false
    }

    /// A new timeline begins with the next packet.
    mutating func restart() {
        mustBegin = true
    }

    private mutating func begin(_ packet: JitterPacket, at place: Int64) -> Place {
        isSet = true
        mustBegin = false
        timestamp = packet.timestamp
        sequence = packet.sequence
        beginning = packet.sequence
        ticks = place
        return Place(ticks: place, isBeginning: true)
    }

    /// The timestamp of a place on the axis, as the newest timeline counts.
    func timestamp(of place: Int64) -> UInt32 {
        timestamp &+ UInt32(truncatingIfNeeded: place - ticks)
    }
}
