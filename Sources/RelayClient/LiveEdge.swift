package import MediaProtocol
import RelayBase

/// Which frames of a live stream still go when its publisher has fallen behind: what is older than its class's deadline is left out, as the relay would do with it,
/// and of video then everything up to the next key frame. So what comes after an outage is what happens now, and not all that has happened meanwhile.
///
/// Of one spatial layer of a stream. Pure: the caller says how late a frame is, and whether its connection is to blame.
package struct LiveEdge: Sendable {
    private let isVideo: Bool
    private let deadlineNanoseconds: UInt64
    private var awaitsKey = false
    private var hasGap = false
    /// Frames that were left out.
    package private(set) var skipped: UInt64 = 0

    /// The deadline is the relay's own for frames of that kind, as it is unless configured otherwise.
    package init(kind: MediaKind) {
        let limits = Limits()
        isVideo = kind == .video
        let milliseconds =
            switch kind {
            case .audio: limits.audioDeadlineMilliseconds
            case .video: limits.videoDeadlineMilliseconds
            case .data, .configuration, .bundle, .part: limits.dataDeadlineMilliseconds
            }
        deadlineNanoseconds = UInt64(milliseconds) * 1_000_000
    }

    package func isLate(_ latenessNanoseconds: UInt64) -> Bool { latenessNanoseconds > deadlineNanoseconds }

    /// Whether the next frame goes.
    ///
    /// - Parameter isBehind: late frames are late because the connection was lost or took nothing, not because this machine was busy for a moment.
    package mutating func takes(latenessNanoseconds: UInt64, isKey: Bool, isDiscardable: Bool, isBehind: Bool) -> Bool {
        let isTooLate = isBehind && isLate(latenessNanoseconds)
        guard isTooLate || (awaitsKey && !isKey) else {
            awaitsKey = false
            return true
        }
        if isVideo, !isDiscardable { awaitsKey = true }
        hasGap = true
        skipped += 1
        return false
    }

    /// Whether the frame that goes now is the first behind what was left out: it says so by its flag *discontinuity*.
    package mutating func takeGap() -> Bool {
        defer { hasGap = false }
        return hasGap
    }
}
