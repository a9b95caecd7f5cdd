import RelayBase
import RelayRooms
import Signalling

/// What nodes of a cluster say to each other: what loops say, as far as it may cross, and what only nodes have to say.
///
/// Written as JSON: it is control, rare beside media, and can be read where something goes wrong.
enum NodeMessage: Sendable, Codable {
    // To the home of a room.
    case join(JoinRequest)
    case leave(RoomNumber, ParticipantID, reason: RelayMessage.LeaveReason)
    case publish(PublishRequest)
    case unpublish(RoomNumber, ParticipantID, requester: MemberAddress, requestID: UInt64, stream: UInt32)
    case moderate(ModerationRequest)
    case review(RoomNumber, ParticipantID, roleBefore: Role, RoomAdmission)
    case present(RoomNumber, ParticipantID, MemberPresentation)
    case speech(RoomNumber, from: Place, [SpeakingStream])
    case withdraw(RoomNumber, ParticipantID, streams: [UInt32])
    case describe(RoomNumber, ParticipantID, for: ClaimReference)

    // From it.
    case joined(token: UInt64, requestID: UInt64, Joined?, Refusal?)
    case published(MemberAddress, requestID: UInt64, RoomNumber, UInt32?, Refusal?)
    case unpublished(token: UInt64, requestID: UInt64, UInt32?, Refusal?)
    case waiting(token: UInt64, requestID: UInt64, LobbyPlace)
    case admitted(token: UInt64, Joined)
    case removed(token: UInt64, RoomNumber, ParticipantID, RelayMessage.RemovalReason)
    case memberEvent(token: UInt64, RoomNumber, ParticipantID, JSONText)
    case described(ClaimReference, Joined?)
    case answer(token: UInt64, requestID: UInt64, RelayMessage.Answer?, Refusal?)
    case event(token: UInt64, JSONText)

    // To all that have members of it.
    case roomEvent(RoomNumber, JSONText, except: ParticipantID?)
    case presence(RoomNumber, PresenceChange, JSONText, except: ParticipantID?)
    case streamAdded(RoomNumber, StreamEntry, JSONText)
    case streamEnded(RoomNumber, stream: UInt32, JSONText, isForced: Bool)
    case memberChanged(RoomNumber, ParticipantID, role: Role, muted: PublishKinds, JSONText)
    case memberPresented(RoomNumber, ParticipantID, isHeld: Bool, JSONText)
    case speakers(RoomNumber, recent: [ParticipantID], JSONText)
    case roomEnded(RoomNumber, RelayMessage.RemovalReason)

    // Between the loop that gets a stream for its node and the publisher's.
    case interest(RoomNumber, stream: UInt32, RemoteInterest, layers: LayerSet, audio: WantedFormat?, isWanted: Bool)
    case keyFrameWanted(RoomNumber, stream: UInt32, spatial: Int)
    case reception(RoomNumber, stream: UInt32, from: Place, ReceptionAggregate)
    case ladder(RoomNumber, stream: UInt32, [LayerOption])

    case cluster(ClusterMail)
}

/// What is said of rooms as they span nodes and move between them. Loops, gateways and nodes say it alike.
enum ClusterMail: Sendable, Codable {
    /// To loops: the node has its number, and whatever it gives numbers to is numbered so.
    case numbered(node: Int, start: UInt32)
    /// To home loops: whether the node holds its lease. Without it nobody gives roles or locks.
    case lease(isHeld: Bool)
    /// To home loops: nodes are gone. Who was there may come back elsewhere, for a while.
    case nodesGone([Int])
    /// To loops: media from other nodes may have been lost. What they get is asked for anew.
    case reconnected
    /// To loops: a node is heard again that was held for gone, or that held this one for gone. What comes from there is asked for anew.
    case renewImports(node: Int)

    /// From a home to the gateway of a node with members: the room as it stands, for whoever has to take it over.
    case replica(Rooms.Room, home: Place)
    /// To a home loop: it has the room now.
    case restore(Rooms.Room, gone: [Int])
    /// To a home loop: another node has it. What it held goes to the gateway.
    case surrender(RoomNumber)
    case surrendered(Rooms.Room)
    /// To a home loop: nodes that have members, and these besides, hear where the home is, and call their roll.
    case announceHome(RoomNumber, to: [Int])
    /// To loops with members.
    case homeMoved(RoomNumber, home: Place, round: UInt64)
    /// From a loop to the home, of the round that it was asked in: who of the room is here. What differs is put right on both sides.
    /// `moving`: who was here and goes on elsewhere, where the home may not know it yet.
    case roll(RoomNumber, from: Place, round: UInt64, [RollEntry], moving: [ParticipantID])
    /// To the gateway of a loop that has called its roll: what its clients have not heard is told.
    case standing(Rooms.Room, home: Place)
    /// To the own gateway: a room has members here, or has none any more.
    case opened(RoomNumber, RoomName, from: Place)
    case dropped(RoomNumber, from: Place)
    /// To the own gateway: a room has begun whose home is this node.
    case began(RoomNumber, RoomName)
    /// To the own gateway of a node that goes away: a room that others have members of.
    case offer(RoomNumber, RoomName, nodes: [Int])
    /// To home loops: the node goes away, and gives its rooms to others.
    case giveRooms
    /// To the gateway of the node that gets a room, and what its entry in the registry is.
    case handOver(Rooms.Room, revision: UInt64, epoch: UInt64)
    /// To the own gateway: nobody is left in a room that this node was home to, of so many joins that the loop has seen. And its answer.
    case emptied(RoomName, joins: Int)
    case letGo(RoomName, joins: Int)
    /// To the loop that was home: where the room went.
    case moved(RoomNumber, home: Place)
    /// To a gateway: nothing. That nobody listens there is what is asked.
    case probe
    /// To a gateway: where is the home of this room?
    case askHome(RoomNumber, RoomName, node: Int)
    // Sessions that go on on another node; see SessionRecord.
    /// To the own gateway: what other nodes are to know of a session, under its token's digest.
    case ticket(String, SessionTicket)
    case ticketEnded(String)
    /// To the own gateway: somebody shows a token that this node has not given out.
    case claim(ForeignClaim)
    /// To the loop of the session: it goes on elsewhere. And its answer, to the gateway that asked.
    case release(ForeignClaim, token: UInt64, to: Int)
    case released(ForeignClaim, SessionRecord?)
    /// To the loop of the newcomer.
    case claimed(ForeignClaim, ForeignClaimResult)
    /// To the own gateway, and from there to the room's home: a member is here now.
    case adopt(Adoption)

    /// To loops: a member is at another address, with its streams.
    case memberMoved(RoomNumber, ParticipantID, MemberAddress)
}

/// A member whose session goes on at another loop.
struct Adoption: Sendable, Codable {
    let room: RoomNumber
    let name: RoomName
    let entry: RollEntry
    let claim: ClaimReference
}

/// A member as its own loop knows it.
struct RollEntry: Sendable, Codable {
    let member: Rooms.Member
    let streams: [Rooms.Stream]
}

/// JSON that is passed on as it is.
struct JSONText: Sendable, Codable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws { bytes = Array(try decoder.singleValueContainer().decode(String.self).utf8) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: bytes, as: UTF8.self))
    }
}

/// A member of a message that is JSON itself.
@propertyWrapper
struct EmbeddedJSON: Sendable, Codable {
    var wrappedValue: [UInt8]

    init(wrappedValue: [UInt8]) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws { wrappedValue = try JSONText(from: decoder).bytes }

    func encode(to encoder: any Encoder) throws { try JSONText(wrappedValue).encode(to: encoder) }
}

/// Several of them.
@propertyWrapper
struct EmbeddedJSONList: Sendable, Codable {
    var wrappedValue: [[UInt8]]

    init(wrappedValue: [[UInt8]]) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws { wrappedValue = try [JSONText](from: decoder).map(\.bytes) }

    func encode(to encoder: any Encoder) throws { try wrappedValue.map(JSONText.init).encode(to: encoder) }
}
