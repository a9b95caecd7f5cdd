package import RelayBase

/// When each packet of several files is due, so that they play together in real time: one absolute timeline, on which a delay of one packet never moves
/// the ones after it.
///
/// Pure: decode times in, instants out.
package struct PublishSchedule: Sendable {
    private let start: MonotonicInstant
    private let rate: Double
    /// The decode time of the timeline's origin.
    private let origin: Int64

    /// - Parameters:
    ///   - start: when the earliest packet is due.
    ///   - originNanoseconds: the earliest decode time over all streams.
    ///   - rate: media seconds for each second of the clock; positive and finite.
    package init(start: MonotonicInstant, originNanoseconds: Int64, rate: Double = 1) {
        precondition(rate.isFinite && rate > 0, "a timeline runs forwards")
        self.start = start
        self.rate = rate
        origin = originNanoseconds
    }

    /// When the packet with this decode time is due. Times before the origin are due at the start.
    package func due(decodeNanoseconds: Int64) -> MonotonicInstant {
        let (distance, overflow) = decodeNanoseconds.subtractingReportingOverflow(origin)
        guard !overflow else { return decodeNanoseconds < origin ? start : .distantFuture }
        guard distance > 0 else { return start }
        if rate == 1 { return start.advanced(byNanoseconds: UInt64(distance)) }
        let scaled = Double(distance) / rate
        return scaled < 9e18 ? start.advanced(byNanoseconds: UInt64(scaled)) : .distantFuture
    }

    /// How far behind the timeline `now` is for a packet, in nanoseconds; 0 when it is in time.
    package func lateness(decodeNanoseconds: Int64, now: MonotonicInstant) -> UInt64 {
        now.nanoseconds(since: due(decodeNanoseconds: decodeNanoseconds))
    }
}

/// Counts what a receiver of one stream sees: frames, bytes, and the holes and steps back in its sequence numbers (RFC 1982 arithmetic).
package struct SequenceAccount: Sendable, Equatable {
    package private(set) var frames: UInt64 = 0
    package private(set) var bytes: UInt64 = 0
    /// Sequence numbers that were skipped.
    package private(set) var missing: UInt64 = 0
    /// Times that the numbers skipped ahead.
    package private(set) var gaps: UInt64 = 0
    /// Frames that came again or out of order.
    package private(set) var reordered: UInt64 = 0
    private var newest: SerialNumber?

    package init() {}

    /// What comes next is numbered apart from what came: another spatial layer.
    package mutating func beginAnotherNumbering() {
        newest = nil
    }

    package mutating func take(sequence: UInt32, byteCount: Int) {
        frames &+= 1
        bytes &+= UInt64(clamping: byteCount)
        let number = SerialNumber(sequence)
        guard let newest else {
            self.newest = number
            return
        }
        let distance = number.distance(from: newest)
        if distance <= 0 {
            reordered &+= 1
            return
        }
        if distance > 1 {
            gaps &+= 1
            missing &+= UInt64(distance - 1)
        }
        self.newest = number
    }
}
