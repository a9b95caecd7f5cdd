package import LoadReport

/// The frames of one stream as they come to one client: which were missing, and how they were spread. Pure.
package struct ReceivedStream: Sendable {
    /// What a frame tells.
    package struct Arrival: Equatable {
        /// The frame counts: it was due while the client heard the stream, and comes for the first time.
        package var isCounted = false
        /// Frames before it that never came.
        package var missing = 0
        /// Nanoseconds within which those were due; of no meaning without any.
        package var missingSince: UInt64 = 0
    }

    /// The number of the frame that is due next; `nil` before the first one.
    package private(set) var next: UInt32?
    private var lastDue: UInt64 = 0
    package private(set) var jitter = ReceiverJitter()
    /// A frame has come.
    package var hasBegun: Bool { next != nil }
    /// Its publisher has said that it has ended, and nothing more is due.
    package private(set) var hasEnded = false

    package init() {}

    /// Takes a frame.
    ///
    /// - Parameters:
    ///   - due: when it was, by this machine's clock.
    ///   - since: what was due earlier came from a cache, for a late joiner, and says nothing of delay.
    ///   - transitMicroseconds: from due to here.
    package mutating func take(_ stamp: FrameStamp, due: UInt64, since: UInt64, transitMicroseconds: Int) -> Arrival {
        var arrival = Arrival()
        guard let expected = next else {
            next = stamp.isLast ? stamp.number : stamp.number &+ 1
            hasEnded = stamp.isLast
            lastDue = due
            guard !stamp.isLast, due >= since else { return arrival }
            jitter.arrived(transitMicroseconds: transitMicroseconds)
            arrival.isCounted = true
            return arrival
        }
        let ahead = Int32(bitPattern: stamp.number &- expected)
        // Another layer's frame of the same picture, or one that was sent again.
        guard ahead >= 0 else { return arrival }
        arrival.missingSince = lastDue
        // Before the client came in, nothing was missing.
        if lastDue >= since || ahead == 0 { arrival.missing = Int(ahead) }
        next = stamp.isLast ? stamp.number : stamp.number &+ 1
        if stamp.isLast {
            hasEnded = true
            return arrival
        }
        hasEnded = false
        lastDue = due
        guard due >= since else {
            arrival.missing = 0
            return arrival
        }
        jitter.arrived(transitMicroseconds: transitMicroseconds)
        arrival.isCounted = true
        return arrival
    }

    /// Nothing is due until the next frame comes: the client did not hear the stream for a while.
    package mutating func restart() { next = nil }
}
