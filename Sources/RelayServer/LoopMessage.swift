import HTTPProtocol
import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// What loops say to each other, through mailboxes. Control only: media goes through the rings.
enum LoopMessage: Sendable {
    // To the home loop of a room.
    case join(JoinRequest)
    case leave(RoomNumber, ParticipantID, reason: RelayMessage.LeaveReason)
    case publish(PublishRequest)
    case unpublish(RoomNumber, ParticipantID, requester: MemberAddress, requestID: UInt64, stream: UInt32)

    // To the loop of a member.
    case joined(token: UInt64, requestID: UInt64, Result<Joined, Refusal>)
    /// Passes through the loops of `via` first: each has then asked for the stream, if it has subscribers, before the publisher hears that it may send.
    case published(MemberAddress, requestID: UInt64, RoomNumber, Result<UInt32, Refusal>, via: [Int])
    case unpublished(token: UInt64, requestID: UInt64, Result<UInt32, Refusal>)

    // To every loop that has members of the room.
    case roomEvent(RoomNumber, message: [UInt8], except: ParticipantID?)
    case streamAdded(RoomNumber, StreamEntry, message: [UInt8])
    case streamEnded(RoomNumber, stream: UInt32, message: [UInt8])

    // From a loop with subscribers to the loop of the publisher.
    case interest(RoomNumber, stream: UInt32, RemoteInterest, isWanted: Bool)
    case keyFrameWanted(RoomNumber, stream: UInt32)

    // To a session, wherever it lives; nothing happens when it has ended.
    case toSession(token: UInt64, SessionNews)

    // From the supervisor.
    case reload(TLSContext)
    case policy(AccessPolicy)
    case tokens(TokenVerifier)
    case drain(deadlineMilliseconds: UInt64)
    case stop
}

/// What another loop has for a session.
enum SessionNews: Sendable {
    /// The one answer to a request.
    case answer(requestID: UInt64, Result<RelayMessage.Answer, Refusal>)
    /// A whole text message.
    case event([UInt8])
    case close(WebSocketCloseCode, reason: String)
}

struct JoinRequest: Sendable {
    let name: RoomName
    let profile: MemberProfile
    let address: MemberAddress
    let requestID: UInt64
}

struct MemberProfile: Sendable {
    let identity: RelayMessage.Identity?
    let displayName: String?
    /// The participant as a JSON object, once its number is known.
    var encoded: [UInt8] = []
}

struct PublishRequest: Sendable {
    let room: RoomNumber
    let participant: ParticipantID
    let address: MemberAddress
    let requestID: UInt64
    let lane: Lane
    let body: ClientRequest.Publish
}

/// A room as a new member finds it.
struct Joined: Sendable {
    let room: RoomNumber
    let name: RoomName
    let home: Int
    let participant: ParticipantID
    /// The participants as a JSON array, made of pieces that were encoded once each: large rooms fill in seconds.
    let participants: [UInt8]
    let streams: [StreamEntry]
}

/// A stream as every loop with members knows it.
struct StreamEntry: Sendable {
    let info: RelayMessage.StreamInfo
    let lane: Lane
    let publisher: ParticipantID
    let address: MemberAddress
}

/// Where another loop wants a stream's frames: its own handles, so that a record in the ring needs no look-up.
struct RemoteInterest: Sendable, Equatable {
    let loop: Int
    let room: Handle
    let slot: StreamSlot
}

typealias Rooms = RoomDirectory<MemberProfile, RelayMessage.StreamInfo>
