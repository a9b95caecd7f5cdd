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
    /// Due, and not sent: their publisher was lost, without the scenario having it so.
    var notSentByLost = 0
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
    private static let markNanoseconds: UInt64 = 250_000_000

    /// Of the client that publishes it: it does not hear itself.
    var seat: Int
    /// Frames that were due in all.
    var total: UInt32 = 0
    private(set) var lastDue: UInt64 = 0
    /// How many were due before an instant, some a second.
    private(set) var marks: [(instant: UInt64, number: UInt32)] = []

    init(seat: Int) { self.seat = seat }

    mutating func wasDue(at instant: UInt64, number: UInt32) {
        lastDue = instant
        if let last = marks.last, instant - min(last.instant, instant) < Self.markNanoseconds { return }
        marks.append((instant, number))
    }
}

extension RunPart.Stream {
    /// - Parameter epoch: milliseconds since 1970 at 0 of the machine's clock.
    init(_ key: StreamKey, _ published: PublishedTotal, epoch: Double) {
        self.init(
            room: key.room, stream: key.stream, seat: published.seat, total: published.total, lastDue: epoch + Double(published.lastDue) / 1e6,
            marks: published.marks.map { RunPart.Mark(time: epoch + Double($0.instant) / 1e6, number: $0.number) })
    }
}

extension RunPart.Listener {
    /// - Parameter window: what was measured, in nanoseconds of the machine's clock.
    init(_ client: ClientResult, _ window: Range<UInt64>, epoch: Double) {
        var waitsFor: [UInt32: UInt32?] = [:]
        for (number, stream) in client.streams.enumerated() {
            if let stream, stream.hasBegun { waitsFor[UInt32(number)] = .some(stream.hasEnded ? nil : stream.next) }
        }
        self.init(
            room: client.room, seat: client.seat, since: client.hearsSince.map { epoch + Double(max($0, window.lowerBound)) / 1e6 },
            until: epoch + Double(window.upperBound) / 1e6, due: client.due, delivered: client.delivered, waitsFor: waitsFor)
    }
}

/// What one client had, and what it still waits for at the end.
struct ClientResult: Sendable {
    var seat: Int
    var room: Int
    /// But for what fell due while the scenario had it not read, or away.
    var due: Int
    var delivered: Int
    var latency: LatencyRecording?
    /// Since when it heard what there was to be heard, to the end; `nil`: it did not, at the end.
    var hearsSince: UInt64?
    /// What came, by number of the stream.
    var streams: [ReceivedStream?]
}
