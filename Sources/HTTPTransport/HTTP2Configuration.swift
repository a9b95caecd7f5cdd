package import RelayBase

/// The parameters of one HTTP/2 connection. Sizes are bytes, times milliseconds.
package struct HTTP2Configuration: Sendable, Equatable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS; a stream beyond it is refused with REFUSED_STREAM, which the client may try again.
    package var streamsMax = 100
    /// SETTINGS_INITIAL_WINDOW_SIZE: the most that may lie unread in one stream.
    package var streamWindowBytes = 256 << 10
    /// The connection's window: the most that may lie unread in all streams together.
    package var connectionWindowBytes = 1 << 20
    /// SETTINGS_MAX_HEADER_LIST_SIZE, and what is enforced on the decoded list: name + value + 32 for each field (RFC 9113 §6.5.2).
    package var headerListBytesMax = 16 << 10
    package var headerFieldsMax = 100
    /// The bound on bytes queued for sending in one stream.
    package var outboundBytesMax = 8 << 20
    /// Control frames that wait for being sent, which a peer that does not read makes grow; server role.
    package var controlQueueBytesMax = 256 << 10
    package var abuse = HTTP2AbuseLimits()

    package init() {}

    /// Takes over what ``Limits`` bounds for both HTTP versions.
    package init(limits: Limits) {
        streamsMax = limits.http2StreamsMax
        headerListBytesMax = limits.requestHeadBytesMax
        headerFieldsMax = limits.requestFieldsMax
        abuse.headerBlockMillisecondsMax = limits.requestHeadMillisecondsMax
        abuse.idleMillisecondsMax = limits.idleHTTPMillisecondsMax
    }
}

/// What ``HTTP2AbuseGuard`` lets pass.
package struct HTTP2AbuseLimits: Sendable, Equatable {
    /// A budget of events: `burst` at once, and `perSecond` new ones a second.
    package struct Budget: Sendable, Equatable {
        package var burst: UInt32
        package var perSecond: UInt32

        package init(burst: UInt32, perSecond: UInt32) {
            self.burst = burst
            self.perSecond = perSecond
        }
    }

    /// RST_STREAM by the peer, and RST_STREAM that its invalid frames provoke: one budget for both.
    package var resets = Budget(burst: 200, perSecond: 20)
    package var settings = Budget(burst: 20, perSecond: 1)
    package var pings = Budget(burst: 100, perSecond: 20)
    package var emptyFrames = Budget(burst: 100, perSecond: 10)
    package var priorities = Budget(burst: 300, perSecond: 20)
    /// Beside the budget, each DATA frame sent allows ``windowUpdatesPerDataFrame`` more: some receivers return credit for every frame, twice.
    package var windowUpdates = Budget(burst: 1_000, perSecond: 100)
    package var windowUpdatesPerDataFrame: UInt64 = 4
    package var unknownFrames = Budget(burst: 100, perSecond: 10)
    package var continuationFramesMax = 8
    /// Encoded bytes of one header block. Larger than the decoded limit, so that a list that is merely too long can be answered with 431.
    package var headerBlockBytesMax = 64 << 10
    package var headerBlockMillisecondsMax: UInt64 = 10_000
    package var settingsMillisecondsMax: UInt64 = 10_000
    /// Time without an open stream until the connection is closed.
    package var idleMillisecondsMax: UInt64 = 60_000

    package init() {}
}
