/// Who is compared.
enum ServerKind: String, CaseIterable {
    case relay, floor, peer
}

/// Who is in a room, and how they are connected.
struct RoomShape: Equatable {
    enum Transport: String {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    let publishers: Int
    let subscribers: Int
    var transport = Transport.http1

    var roomName: String { "room-\(publishers)-\(subscribers)-\(transport == .http1 ? 1 : 2)" }
}

/// What servers are loaded with, and what is demanded of the relay.
struct SpeedLoad {
    enum Pattern: Equatable {
        /// One publisher sends so many frames at once, and the next as many when all subscribers have them all.
        case rounds(outstanding: Int)
        /// Each publisher sends a frame at each of its instants, whatever has become of those before.
        case paced(framesPerSecond: Int)
    }

    let name: String
    let text: String
    let pattern: Pattern
    let shape: RoomShape
    /// Of a message, with the 16 bytes of the media header.
    let messageBytes: Int
    /// The relay's frames per CPU-second against the peer's and the floor's, at least.
    var peerRatioMin: Double?
    var floorRatioMin: Double?
    /// Against the relay's own figure for the same load over HTTP/1.1, at least.
    var ownRatioMin: Double?
    /// The median latency, at most; the 99th percentile must be no worse than the peer's.
    var medianMillisecondsMax: Double?
    /// Two loops against one, at least.
    var loopsRatioMin: Double?

    var isPaced: Bool {
        if case .paced = pattern { true } else { false }
    }

    /// The floor and the peer speak HTTP/1.1, and have one thread.
    func isFor(_ kind: ServerKind) -> Bool {
        kind == .relay || (shape.transport == .http1 && loopsRatioMin == nil)
    }

    private static let talk = RoomShape(publishers: 1, subscribers: 200)
    private static let conference = RoomShape(publishers: 40, subscribers: 50)

    /// Those of one shape side by side: they share their clients.
    static let all: [SpeedLoad] = [160, 1_200].flatMap(talks) + [160, 1_200].map(conference) + [160, 1_200].map(conferenceOverHTTP2) + [loops]

    private static func suffix(_ bytes: Int) -> String { bytes == 160 ? "" : "-\(bytes)" }

    /// Of larger frames less is demanded: there is less to be saved by few sends.
    private static func share(_ bytes: Int) -> Double { bytes == 160 ? 1 : 0.8 }

    private static func talks(_ bytes: Int) -> [SpeedLoad] {
        [(1, 1.05), (16, 1.2), (64, 2.5)].map { outstanding, ratio in
            SpeedLoad(
                name: "one-\(outstanding)\(suffix(bytes))", text: "1 → 200, \(outstanding) outstanding, \(bytes) bytes",
                pattern: .rounds(outstanding: outstanding), shape: talk, messageBytes: bytes, peerRatioMin: ratio * share(bytes),
                floorRatioMin: 0.95)
        }
    }

    private static func conference(_ bytes: Int) -> SpeedLoad {
        SpeedLoad(
            name: "conference\(suffix(bytes))", text: "40 × 50/s → 50, \(bytes) bytes", pattern: .paced(framesPerSecond: 50), shape: conference,
            messageBytes: bytes, peerRatioMin: 3 * share(bytes), floorRatioMin: bytes == 160 ? nil : 0.95, medianMillisecondsMax: 2)
    }

    private static func conferenceOverHTTP2(_ bytes: Int) -> SpeedLoad {
        var shape = conference
        shape.transport = .http2
        return SpeedLoad(
            name: "conference-h2\(suffix(bytes))", text: "40 × 50/s → 50, \(bytes) bytes, HTTP/2", pattern: .paced(framesPerSecond: 50),
            shape: shape, messageBytes: bytes, ownRatioMin: 0.8)
    }

    private static let loops = SpeedLoad(
        name: "loops", text: "1 → 200, 16 outstanding, 160 bytes, two loops", pattern: .rounds(outstanding: 16), shape: talk, messageBytes: 160,
        loopsRatioMin: 1.8)
}
