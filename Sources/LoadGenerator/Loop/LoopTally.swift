import LoadReport
import MediaProtocol

/// What a loop has measured.
struct LoopTally: Sendable {
    var reached = 0
    var failedByReason: [String: Int] = [:]
    var handshakes = 0
    var handshakesResumed = 0
    /// When the first began and the last ended.
    var handshakesTime: Range<UInt64>?
    var handshakeLatency = LatencyRecording()
    var joinToFirstFrame = LatencyRecording()
    // Within the measured window.
    var sent = 0
    var due = 0
    var delivered = 0
    /// Due, and not sent: the connection took nothing more.
    var notSent = 0
    /// Missing, because the client itself was not there for them.
    var missingByAbsence: [String: Int] = [:]
    // Over the whole run, as the relay counts.
    var sentInAll = 0
    var receivedInAll = 0
    var foreign = 0
    /// By kind: audio, video, data.
    var latency = [LatencyRecording](repeating: LatencyRecording(), count: 3)
    /// Frames that came late because their reader did not read, or was away.
    var lateByAbsence = LatencyRecording()
    var jitter = LatencyRecording()
    /// How late the generator itself was with what was due.
    var lateness = LatencyRecording()
    /// From the loss of a connection to the first frame over the next.
    var comebacks = LatencyRecording()
    var events: [String: Int] = [:]
    /// Streams that were published here, and how many of their frames were due.
    var published: [StreamKey: PublishedTotal] = [:]
    var clients: [ClientResult] = []
    var processorSeconds = 0.0

    static func kindIndex(_ kind: MediaKind) -> Int? {
        switch kind {
        case .audio: 0
        case .video: 1
        case .data: 2
        case .configuration, .bundle, .part: nil
        }
    }

    static let kindNames = ["audio", "video", "data"]

    mutating func handshook(from began: UInt64, to ended: UInt64, isResumed: Bool) {
        handshakes += 1
        if isResumed { handshakesResumed += 1 }
        handshakeLatency.record(microseconds: Int((ended - min(began, ended)) / 1_000))
        let known = handshakesTime ?? began..<ended
        handshakesTime = min(known.lowerBound, began)..<max(known.upperBound, ended)
    }
}

/// A stream of a room.
struct StreamKey: Hashable, Sendable {
    var room: Int
    var stream: UInt32
}

struct PublishedTotal: Sendable {
    /// Of the client that publishes it: it does not hear itself.
    var seat: Int
    /// Frames that were due in all.
    var total: UInt32 = 0
    /// Within the measured window, and between which instants.
    var inWindow = 0
    var firstDue: UInt64 = 0
    var lastDue: UInt64 = 0

    mutating func wasDue(at instant: UInt64) {
        if inWindow == 0 { firstDue = instant }
        lastDue = instant
        inWindow += 1
    }
}

/// What one client had, and what it still waits for at the end.
struct ClientResult: Sendable {
    var seat: Int
    var room: Int
    var due: Int
    var delivered: Int
    var latency: LatencyRecording?
    /// Since when it heard what there was to be heard, to the end; `nil`: it did not, at the end.
    var hearsSince: UInt64?
    /// What came, by number of the stream.
    var streams: [ReceivedStream?]
}
