import RelayBase
import RelayRooms
import Signalling
import TLSTransport

/// A session as another node needs it to go on with it.
struct SessionRecord: Sendable, Codable {
    let session: String
    let owner: ResumeOwner
    var device: String?
    var wishes: SessionWishes
    var place: Place?

    /// Where the session is in a room.
    struct Place: Sendable, Codable {
        let room: RoomNumber
        let name: RoomName
        let admission: RoomAdmission
        let entry: RollEntry
        /// Of its streams, in their order: what subscribers need before anything else, and the last frame of each layer.
        let streams: [Published]
        let asked: [SubscriptionAsk]
    }

    struct Published: Sendable, Codable {
        let configurations: [EmbeddedBytes]
        let lastSequences: [UInt32?]
    }
}

/// What a client has asked for of the room's streams, in its order.
enum SubscriptionAsk: Sendable, Codable {
    case subscribe(ClientRequest.Subscribe)
    case unsubscribe(ClientRequest.Unsubscribe)
}

/// Bytes within JSON: a frame. As hexadecimal digits.
struct EmbeddedBytes: Sendable, Codable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let text = Array(try decoder.singleValueContainer().decode(String.self).utf8)
        let digits = text.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 != nil }) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no bytes"))
        }
        bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hexadecimal(bytes))
    }
}

/// What the registry knows of a session, under the digest of its token: where it is, and what it takes to go on with it if that node is gone.
struct SessionTicket: Sendable, Codable {
    let address: MemberAddress
    let record: SessionRecord
}

/// Somebody shows a token that this node does not know.
struct ForeignClaim: Sendable, Codable {
    /// Of the token.
    let digest: String
    let owner: ResumeOwner
    let newcomer: MemberAddress
}

/// What became of it.
enum ForeignClaimResult: Sendable, Codable {
    case arrived(SessionRecord)
    case unknown
    case anothers
    /// The registry cannot be asked.
    case unreachable
}
