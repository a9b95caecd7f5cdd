import FoundationEssentials
import RelayBase
import RelayRooms

/// How the relay is, for who operates it: made once for all who watch. Counters are totals since the start.
struct LiveOverview: Encodable, Sendable {
    struct Sessions: Encodable, Sendable {
        let connected: Int
        let parked: Int
    }

    struct Loop: Encodable, Sendable {
        let loop: Int
        let connections: Int
        /// Since the overview before.
        let busyShare: Double
        let slowIterations: UInt64
        let iterations: UInt64
    }

    struct Frames: Encodable, Sendable {
        let `in`: UInt64
        let delivered: UInt64
        /// Of media, handed to TLS.
        let bytes: UInt64
        let dropped: [String: UInt64]
    }

    struct Node: Encodable, Sendable {
        let node: String
        let state: String
    }

    /// What is neither in counters nor a loop's.
    struct Setting: Sendable {
        var node: String
        var version: String
        var uptimeSeconds: Double
        /// Milliseconds since 1970-01-01T00:00Z.
        var time: Double
        var isDraining: Bool
        var stale: [String]
        var residentBytes: UInt64
    }

    let node: String
    let version: String
    let uptimeSeconds: Double
    let time: Double
    let draining: Bool
    let connections: Int
    let sessions: Sessions
    let rooms: Int
    let participants: Int
    let streams: Int
    /// Of one core, all threads together, since the overview before.
    let cpuShare: Double
    let loops: [Loop]
    let frames: Frames
    /// WebSockets that have ended, by reason.
    let closes: [String: UInt64]
    let residentBytes: UInt64
    let certificates: [LiveCertificate]
    let stale: [String]
    let roomsTop: [AdminRoom]
    let nodes: [Node]

    /// - Parameter before: what rates are measured from.
    init(_ setting: Setting, _ survey: LiveSurvey, since before: LiveSurvey) {
        var sum = LoopCounters()
        for share in survey.shares { sum.add(share.counters) }
        node = setting.node
        version = setting.version
        uptimeSeconds = setting.uptimeSeconds
        time = setting.time
        draining = setting.isDraining
        connections = sum.connections
        sessions = Sessions(connected: max(0, sum.sessions - sum.parked), parked: sum.parked)
        rooms = sum.rooms
        participants = sum.participants
        streams = sum.streams
        cpuShare = LiveOverview.share(
            survey.processorNanoseconds, before.processorNanoseconds, over: survey.at.nanoseconds(since: before.at))
        loops = zip(survey.shares, before.shares).enumerated().map { index, shares in
            let (share, earlier) = shares
            let busy = LiveOverview.share(
                share.counters.busyNanoseconds, earlier.counters.busyNanoseconds, over: share.at.nanoseconds(since: earlier.at))
            return Loop(
                loop: index, connections: share.counters.connections, busyShare: min(busy, 1), slowIterations: share.counters.slowTurns,
                iterations: share.counters.iterations)
        }
        frames = Frames(
            in: sum.framesIn, delivered: sum.frames.delivered, bytes: sum.mediaBytesOut,
            dropped: [
                "expired": sum.frames.expired, "superseded": sum.frames.superseded, "interrupted": sum.frames.interrupted,
                "unsubscribed": sum.frames.unsubscribed, "refused": sum.frames.refused, "between_loops": sum.framesLostBetweenLoops,
            ])
        closes = sum.webSocketsClosed
        residentBytes = setting.residentBytes
        let all = survey.shares.flatMap(\.certificates)
        certificates = all.filter { $0.what != .client } + LiveShare.soonest(all.filter { $0.what == .client })
        stale = setting.stale
        roomsTop = LiveShare.largest(survey.shares.flatMap(\.rooms))
        nodes = [Node(node: setting.node, state: setting.isDraining ? "draining" : "up")]
    }

    /// What share of a time was used; 0 where no time has passed.
    private static func share(_ used: UInt64, _ before: UInt64, over nanoseconds: UInt64) -> Double {
        guard nanoseconds > 0, used > before else { return 0 }
        return (Double(used - before) / Double(nanoseconds) * 10_000).rounded() / 10_000
    }

    /// JSON in one line.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("plain values always encode") }
        return Array(data)
    }
}

/// An event of a text/event-stream (WHATWG HTML §9.2.6), in both forms in which it is sent; all who watch share the bytes.
struct LiveEvent: Sendable {
    let bytes: [UInt8]
    /// The same as a chunk of HTTP/1.1 (RFC 9112 §7.1).
    let chunk: [UInt8]

    /// - Parameter data: without line breaks.
    init(_ name: String, data: [UInt8]) {
        bytes = Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
        chunk = Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }
}
