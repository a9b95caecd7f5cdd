import RelayRooms
import Signalling

/// What an administrator asks of the loops. Each looks at what is its own and says what it found.
enum AdminQuery: Sendable {
    // To every loop.
    case rooms(AdminPage)
    case sessions(AdminPage)
    case session(String)
    case endSession(String)

    // To the home of the room.
    case room(RoomName)
    case participants(RoomName, AdminPage)
    case streams(RoomName, AdminPage)
    case endRoom(RoomName)
    case removeParticipant(RoomName, ParticipantID)

    // To the loop of participants.
    case facts([(participant: UInt32, token: UInt64)])

    // To the loop of streams' publishers.
    case receptions(RoomNumber, [UInt32])
}

/// What one loop found.
enum AdminFinding: Sendable {
    case rooms([AdminRoom])
    case sessions([AdminSession])
    /// `nil`: not here.
    case session(AdminSession?)
    /// `nil`: there is no such room.
    case room(AdminRoom?)
    case participants([AdminParticipant]?, addresses: [MemberAddress])
    case streams(AdminStreamPart?)
    case receptions([UInt32: RelayMessage.StreamQuality])
    case facts([UInt32: AdminSession])
    /// Whether what was to be ended was there.
    case ended(Bool)
}

/// A part of a list, in the order of its key.
struct AdminPage: Sendable {
    static let limitDefault = 100
    static let limitMax = 500

    let limit: Int
    /// The key behind which the part begins.
    let after: String?

    /// Reads `limit` and `after`. Anything else in a query is not for this list, and nothing is read from it.
    ///
    /// - Returns: `nil` for a limit that is no number from 1 to ``limitMax``, and for what is said twice.
    init?(_ query: [(name: String, value: String)]) {
        let limits = query.filter { $0.name == "limit" }
        let afters = query.filter { $0.name == "after" }
        guard limits.count <= 1, afters.count <= 1 else { return nil }
        if let text = limits.first?.value {
            guard text.utf8.count <= 3, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let limit = Int(text),
                (1...AdminPage.limitMax).contains(limit)
            else { return nil }
            self.limit = limit
        } else {
            limit = AdminPage.limitDefault
        }
        after = afters.first?.value
    }

    /// The page's elements out of all, by a key that is unique, and one more when there is one: so that whoever puts parts together knows.
    func cut<Element, Key: Comparable>(_ elements: some Sequence<Element>, by key: (Element) -> Key, after: Key?) -> [Element] {
        let behind = elements.filter { element in after.map { key(element) > $0 } ?? true }
        return Array(behind.sorted { key($0) < key($1) }.prefix(limit + 1))
    }

    /// `after` as the number that keys of a list are; `nil` when it is none.
    var numberAfter: UInt32?? {
        guard let after else { return .some(nil) }
        return UInt32(after).map { .some($0) }
    }
}

/// A room as administrators see it.
struct AdminRoom: Codable, Sendable, Equatable {
    let name: String
    let participants: Int
    let waiting: Int
    let streams: Int
    let locked: Bool
}

/// A participant as administrators see it.
struct AdminParticipant: Codable, Sendable, Equatable {
    let participant: UInt32
    let identity: RelayMessage.Identity?
    let displayName: String?
    let role: Role?
    /// In the lobby.
    let waiting: Bool
    let muted: [StreamKind]?
    /// Of its audio session: whether it is interrupted, and whether nothing comes from it and goes to it.
    let interrupted: Bool
    let held: Bool
    let streams: Int
    var session: String?
    var device: String?
    var address: String?
    var state: AdminSession.State?
    /// Milliseconds since 1970-01-01T00:00Z.
    var since: Double?
    let loop: Int
}

/// A session as administrators see it.
struct AdminSession: Codable, Sendable, Equatable {
    enum Transport: String, Codable, Sendable {
        case http1 = "http/1.1"
        case http2 = "h2"
    }

    enum State: String, Codable, Sendable {
        case connected
        /// Its connection was lost, and it is kept for its client to come back.
        case parked
    }

    let session: String
    let identity: RelayMessage.Identity?
    let device: String?
    /// Of a parked session: what it was.
    let address: String
    let state: State
    let transport: Transport
    /// Milliseconds since 1970-01-01T00:00Z.
    let since: Double
    let room: String?
    let participant: UInt32?
    let loop: Int
    /// Ping to pong, smoothed, and the least.
    var roundTripMilliseconds: Double?
    var roundTripMillisecondsMin: Double?
    /// How far the client's clock is ahead of the relay's, how sure that is, and how much faster it runs.
    var clockOffsetMilliseconds: Double?
    var clockUncertaintyMilliseconds: Double?
    var clockDriftPPM: Double?
    /// Of the connection that carries the session: what it carries (bits a second), whether that is too little, what the kernel has not sent, and TCP's round trip.
    var bitrate: Int?
    var congested: Bool?
    var notSentBytes: Int?
    var tcpRoundTripMilliseconds: Double?
    var audioSession: AdminAudioSession?
    // For who asks for the one session.
    var frames: AdminFrames?
    var reports: [AdminReport]?
}
