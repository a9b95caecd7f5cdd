package import RelayBase

/// Counts what a peer does that is legal frame by frame and ruinous in mass, and refuses what the HTTP/2 library would let pass although it shows in a
/// frame's header alone. Pure: time is passed in, nothing is sent.
package struct HTTP2AbuseGuard {
    package enum Verdict: Hashable, Sendable {
        /// The frame goes on to the HTTP/2 library.
        case pass
        /// The frame is done with here.
        case swallow
    }

    private struct HeaderBlock {
        var since: MonotonicInstant
        var bytes: Int
        var continuationFrames = 0
        /// The frame with END_HEADERS has begun; the block is whole as soon as that frame is.
        var isLastFrame: Bool
    }

    private let limits: HTTP2AbuseLimits
    private var resets: TokenBucket
    private var settings: TokenBucket
    private var pings: TokenBucket
    private var emptyFrames: TokenBucket
    private var priorities: TokenBucket
    private var windowUpdates: TokenBucket
    private var unknownFrames: TokenBucket
    private var windowUpdateCredit: UInt64 = 0
    private var headerBlock: HeaderBlock?
    private var settingsDue: Int
    private let swallowsLastSettingsAcknowledgement: Bool
    private let settingsDeadline: MonotonicInstant
    private var idleSince: MonotonicInstant?

    /// - Parameters:
    ///   - settingsSent: SETTINGS frames sent at the start, each to be acknowledged.
    ///   - swallowsLastAcknowledgement: the last of them is kept from the library (see ``HTTP2Session``).
    package init(limits: HTTP2AbuseLimits, settingsSent: Int, swallowsLastAcknowledgement: Bool, now: MonotonicInstant) {
        self.limits = limits
        resets = TokenBucket(limits.resets, now: now)
        settings = TokenBucket(limits.settings, now: now)
        pings = TokenBucket(limits.pings, now: now)
        emptyFrames = TokenBucket(limits.emptyFrames, now: now)
        priorities = TokenBucket(limits.priorities, now: now)
        windowUpdates = TokenBucket(limits.windowUpdates, now: now)
        unknownFrames = TokenBucket(limits.unknownFrames, now: now)
        settingsDue = settingsSent
        swallowsLastSettingsAcknowledgement = swallowsLastAcknowledgement
        settingsDeadline = now.advanced(byMilliseconds: limits.settingsMillisecondsMax)
        idleSince = now
    }

    /// A frame's header came; its payload may still be on the way.
    package mutating func receive(_ header: HTTP2FrameHeader, now: MonotonicInstant) throws(HTTP2Fault) -> Verdict {
        if let block = headerBlock, block.isLastFrame { headerBlock = nil }
        switch header.type {
        case HTTP2FrameHeader.FrameType.data:
            if header.isEmptyData, !header.has(HTTP2FrameHeader.Flag.endStream) {
                try Self.spend(&emptyFrames, now, .emptyFrameFlood)
            }
        case HTTP2FrameHeader.FrameType.headers, HTTP2FrameHeader.FrameType.pushPromise, HTTP2FrameHeader.FrameType.continuation:
            try receiveHeaderBlock(header, now: now)
        case HTTP2FrameHeader.FrameType.priority, HTTP2FrameHeader.FrameType.priorityUpdate:
            // The library does not look at PRIORITY once this end has turned the scheme off.
            if header.type == HTTP2FrameHeader.FrameType.priority, header.streamID == 0 { throw .priorityOnConnection }
            try Self.spend(&priorities, now, .priorityFlood)
        case HTTP2FrameHeader.FrameType.rstStream:
            try Self.spend(&resets, now, .rapidReset)
        case HTTP2FrameHeader.FrameType.settings:
            return try receiveSettings(header, now: now)
        case HTTP2FrameHeader.FrameType.ping:
            try Self.spend(&pings, now, .pingFlood)
        case HTTP2FrameHeader.FrameType.windowUpdate:
            if windowUpdateCredit > 0 {
                windowUpdateCredit -= 1
            } else {
                try Self.spend(&windowUpdates, now, .windowUpdateFlood)
            }
        default:
            // GOAWAY, and whatever HTTP/2 does not define: an endpoint ignores those (RFC 9113 §5.5), at a price.
            try Self.spend(&unknownFrames, now, .unknownFrameFlood)
        }
        return .pass
    }

    /// All bytes that came are scanned.
    package mutating func chunkScanned(atFrameBoundary: Bool) {
        if atFrameBoundary, let block = headerBlock, block.isLastFrame { headerBlock = nil }
    }

    /// This end answered an invalid frame with RST_STREAM.
    package mutating func resetProvoked(now: MonotonicInstant) throws(HTTP2Fault) {
        try Self.spend(&resets, now, .provokedResets)
    }

    package mutating func dataFrameSent() {
        // The cap keeps a long-lived connection from hoarding credit for a flood.
        windowUpdateCredit = min(windowUpdateCredit + limits.windowUpdatesPerDataFrame, 100_000)
    }

    /// The number of open streams became zero (`true`) or one (`false`).
    package mutating func streamsChanged(noneOpen: Bool, now: MonotonicInstant) {
        idleSince = noneOpen ? now : nil
    }

    /// When ``deadlineReached(now:)`` is to be called; ``MonotonicInstant/distantFuture`` when nothing is waited for.
    package var nextDeadline: MonotonicInstant {
        var deadline = settingsDue > 0 ? settingsDeadline : .distantFuture
        if let headerBlock {
            deadline = min(deadline, headerBlock.since.advanced(byMilliseconds: limits.headerBlockMillisecondsMax))
        }
        if let idleSince {
            deadline = min(deadline, idleSince.advanced(byMilliseconds: limits.idleMillisecondsMax))
        }
        return deadline
    }

    package func deadlineReached(now: MonotonicInstant) throws(HTTP2Fault) {
        if settingsDue > 0, now >= settingsDeadline { throw .settingsTimeout }
        if let headerBlock, now >= headerBlock.since.advanced(byMilliseconds: limits.headerBlockMillisecondsMax) { throw .headerBlockTimeout }
        if let idleSince, now >= idleSince.advanced(byMilliseconds: limits.idleMillisecondsMax) { throw .idle }
    }

    private static func spend(_ bucket: inout TokenBucket, _ now: MonotonicInstant, _ fault: HTTP2Fault) throws(HTTP2Fault) {
        guard bucket.take(now: now) else { throw fault }
    }

    private mutating func receiveHeaderBlock(_ header: HTTP2FrameHeader, now: MonotonicInstant) throws(HTTP2Fault) {
        if header.length == 0 { try Self.spend(&emptyFrames, now, .emptyFrameFlood) }
        let isLast = header.has(HTTP2FrameHeader.Flag.endHeaders)
        guard header.type == HTTP2FrameHeader.FrameType.continuation, var block = headerBlock else {
            headerBlock = HeaderBlock(since: now, bytes: Int(header.length), isLastFrame: isLast)
            return
        }
        block.continuationFrames += 1
        block.bytes += Int(header.length)
        block.isLastFrame = isLast
        guard block.continuationFrames <= limits.continuationFramesMax, block.bytes <= limits.headerBlockBytesMax else { throw .continuationFlood }
        headerBlock = block
    }

    private mutating func receiveSettings(_ header: HTTP2FrameHeader, now: MonotonicInstant) throws(HTTP2Fault) -> Verdict {
        guard header.has(HTTP2FrameHeader.Flag.acknowledgement) else {
            try Self.spend(&settings, now, .settingsFlood)
            return .pass
        }
        guard header.length == 0 else { throw .malformedSettingsAcknowledgement }
        guard settingsDue > 0 else { throw .unexpectedSettingsAcknowledgement }
        // One on a stream goes on to the library, which knows the right error.
        guard header.streamID == 0 else { return .pass }
        settingsDue -= 1
        return settingsDue == 0 && swallowsLastSettingsAcknowledgement ? .swallow : .pass
    }
}
