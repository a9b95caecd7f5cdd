/// Where a subscriber's frames went. Every frame that enters for a subscriber ends in exactly one of the counters but ``entered``:
/// `entered − delivered − dropped = pending`, and 0 once nothing is queued.
package struct FrameAccount: Sendable, Equatable {
    /// Frames that were due to the subscriber.
    package var entered: UInt64 = 0
    /// Frames sealed for the subscriber to their last byte.
    package var delivered: UInt64 = 0
    /// Dropped whole because their deadline had passed, or because the log needed their room.
    package var expired: UInt64 = 0
    /// Video dropped because what it refers to was dropped: until the next key frame.
    package var superseded: UInt64 = 0
    /// Dropped because the subscriber let go of the stream, or left, while they were queued.
    package var unsubscribed: UInt64 = 0
    /// Dropped because the subscriber's audio session, or its playback of the stream, stopped while they were queued.
    package var interrupted: UInt64 = 0
    /// Refused for the subscriber before they were queued: its prelude had no room.
    package var refused: UInt64 = 0

    package init() {}

    package var dropped: UInt64 { expired &+ superseded &+ unsubscribed &+ interrupted &+ refused }

    package mutating func add(_ other: FrameAccount) {
        entered &+= other.entered
        delivered &+= other.delivered
        expired &+= other.expired
        superseded &+= other.superseded
        unsubscribed &+= other.unsubscribed
        interrupted &+= other.interrupted
        refused &+= other.refused
    }
}
