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
    case moderate(ModerationRequest)
    /// What a changed policy gives a member; `roleBefore` is what it gave until now.
    case review(RoomNumber, ParticipantID, roleBefore: Role, RoomAdmission)
    /// What the room is to see of a member's audio session.
    case present(RoomNumber, ParticipantID, MemberPresentation)
    /// Who speaks in the streams that come in on a loop: all of them, or the loudest.
    case speech(RoomNumber, from: Int, [SpeakingStream])
    /// Streams end that their publisher's audio session does not allow any more.
    case withdraw(RoomNumber, ParticipantID, streams: [UInt32])
    /// Takes one participant out, or with `nil` ends the room for all: for administrators, and for pairs that are no more.
    case evict(RoomName, ParticipantID?, RelayMessage.RemovalReason)

    /// Asks for the room as a member finds it, for whoever resumes its session. Tells nobody anything.
    case describe(RoomNumber, ParticipantID, for: ClaimReference)

    // To the loop of a session, with the newcomer's connection where that has come from another; see EventLoop+Resume.
    case resume(ResumeClaim)
    case arrive(MovingConnection, ResumeClaim)
    /// `nil`: it is no member any more.
    case described(ClaimReference, Joined?)

    // To the loop of a member.
    case joined(token: UInt64, requestID: UInt64, Result<Joined, Refusal>)
    /// Passes through the loops of `via` first: each has then asked for the stream, if it has subscribers, before the publisher hears that it may send.
    case published(MemberAddress, requestID: UInt64, RoomNumber, Result<UInt32, Refusal>, via: [Int])
    case unpublished(token: UInt64, requestID: UInt64, Result<UInt32, Refusal>)
    /// The answer to a `join` that leads into the lobby.
    case waiting(token: UInt64, requestID: UInt64, LobbyPlace)
    /// A host lets it in from the lobby.
    case admitted(token: UInt64, Joined)
    /// It is out of the room, or of its lobby: the home knows already.
    case removed(token: UInt64, RoomNumber, ParticipantID, RelayMessage.RemovalReason)
    /// For this member alone, as long as it is in the room.
    case memberEvent(token: UInt64, RoomNumber, ParticipantID, message: [UInt8])

    // To every loop that has members of the room.
    case roomEvent(RoomNumber, message: [UInt8], except: ParticipantID?)
    /// Somebody came or went: of no hurry where there is much of it.
    case presence(RoomNumber, PresenceChange, message: [UInt8], except: ParticipantID?)
    case streamAdded(RoomNumber, StreamEntry, message: [UInt8])
    /// `isForced`: the publisher did not ask for it, and is told too.
    case streamEnded(RoomNumber, stream: UInt32, message: [UInt8], isForced: Bool)
    case memberChanged(RoomNumber, ParticipantID, role: Role, muted: PublishKinds, message: [UInt8])
    /// What is seen of a member's audio session has changed.
    case memberPresented(RoomNumber, ParticipantID, isHeld: Bool, message: [UInt8])
    /// Others speak than before; `recent` is who spoke last.
    case speakers(RoomNumber, recent: [ParticipantID], message: [UInt8])
    case roomEnded(RoomNumber, RelayMessage.RemovalReason)

    // From a loop with subscribers to the loop of the publisher.
    /// `layers`: what subscribers there get or are to get; said again when it changes.
    /// `audio`: of an audio stream, what the best of them can play. `imported`: of a stream of another node, for the loop that gets it for all of them.
    case interest(RoomNumber, stream: UInt32, RemoteInterest, layers: LayerSet, audio: WantedFormat?, isWanted: Bool, imported: StreamEntry?)
    case keyFrameWanted(RoomNumber, stream: UInt32, spatial: Int)
    /// What the receivers on one loop have reported of late.
    case reception(RoomNumber, stream: UInt32, from: Int, ReceptionAggregate)
    // From the loop of a publisher to loops with subscribers: what there is to choose of the stream.
    case ladder(RoomNumber, stream: UInt32, [LayerOption])

    // To the loop that pairing lives on.
    case pairing(PairMail)

    // To the loop that audio sessions live on.
    case audioSession(AudioSessionAsk)

    // To the thread that works on a room's sound, and from it to loops with subscribers.
    case audioWork(AudioWork)
    case audioNews(AudioNews)

    // Between nodes of a cluster; see Cluster.
    /// To the gateway: a join, for whichever node is home to its room.
    case place(JoinRequest)
    /// To the gateway: for another node.
    case away(to: Int, NodeMessage)
    case cluster(ClusterMail)

    // To a session, wherever it lives; nothing happens when it has ended.
    case toSession(token: UInt64, SessionNews)

    // To the loop of a request that waits for its answer; nothing happens when it has ended.
    case httpAnswer(token: UInt64, HTTPAnswer)
    case adminFinding(token: UInt64, AdminFinding)
    // From the thread that makes overviews: what it asks every loop, and what came of it.
    case surveyLive(round: UInt64)
    case live(LiveEvent)
    // To whichever loop knows.
    case adminQuery(AdminQuery, from: ResponseTicket)

    // From the supervisor.
    case reload(TLSContext)
    case policy(AccessPolicy)
    case tokens(TokenVerifier)
    case web(WebFiles)
    case drain(deadlineMilliseconds: UInt64)
    case cancelDrain
    case stop
}

/// What another loop has for a session.
enum SessionNews: Sendable {
    /// The one answer to a request.
    case answer(requestID: UInt64, Result<RelayMessage.Answer, Refusal>)
    /// A whole text message.
    case event([UInt8])
    /// What becomes of its audio session.
    case audioSession(AudioSessionNews)
    case close(WebSocketCloseCode, reason: String)
}

struct JoinRequest: Sendable, Codable {
    let name: RoomName
    let profile: MemberProfile
    let admission: RoomAdmission
    let address: MemberAddress
    let requestID: UInt64
}

struct MemberProfile: Sendable, Codable {
    private enum CodingKeys: CodingKey {
        case identity
        case displayName
        case presentation
    }

    let identity: RelayMessage.Identity?
    let displayName: String?
    /// What the room sees of its audio session.
    var presentation = MemberPresentation()
    /// What never changes of the participant as a JSON object, once its number is known: all but the closing brace.
    var encoded: [UInt8] = []

    mutating func encode(as id: ParticipantID) {
        encoded = RelayMessage.Participant(participant: id.value, identity: identity, displayName: displayName).encoded
        encoded.removeLast()
    }
}

/// Who has come or gone.
enum PresenceChange: Sendable, Codable {
    case came(ParticipantID)
    case left(ParticipantID)
    /// Neither.
    case none
}

/// Whose claim a room is described for: the newcomer's loop has the rest of it.
struct ClaimReference: Sendable, Codable {
    let newcomer: MemberAddress
    let number: ResumeTickets.Table.ClaimNumber
}

/// What a host asks for.
struct ModerationRequest: Sendable, Codable {
    enum Act: Sendable, Codable {
        case mute(ParticipantID, PublishKinds, Bool)
        case remove(ParticipantID)
        case promote(ParticipantID, Role)
        case lock(Bool)
        case end
        case admit(ParticipantID)
        case deny(ParticipantID)
    }

    let room: RoomNumber
    let host: ParticipantID
    let address: MemberAddress
    let requestID: UInt64
    let act: Act
    /// For the audit log: the act's name in the protocol, who asks, and from where.
    let type: String
    let actor: String
    let isAdministrator: Bool
    let origin: String
}

/// Somebody's place in a lobby.
struct LobbyPlace: Sendable, Codable {
    let room: RoomNumber
    let name: RoomName
    @Place var home: Int
    let participant: ParticipantID
    let role: Role
    let displayName: String?
}

struct PublishRequest: Sendable, Codable {
    let room: RoomNumber
    let participant: ParticipantID
    let address: MemberAddress
    let requestID: UInt64
    let lane: Lane
    let body: ClientRequest.Publish
}

/// A room as a new member finds it.
struct Joined: Sendable, Codable {
    let room: RoomNumber
    let name: RoomName
    @Place var home: Int
    let participant: ParticipantID
    let role: Role
    let muted: PublishKinds
    let isLocked: Bool
    /// The participants as a JSON array, made of pieces that were encoded once each: large rooms fill in seconds.
    @EmbeddedJSON var participants: [UInt8]
    let streams: [StreamEntry]
    let speakers: [ActiveSpeaker]
    let recentSpeakers: [ParticipantID]
    /// For a host, who waits: messages that go right behind the answer, so that whoever asks anything after it has them all.
    @EmbeddedJSONList var lobby: [[UInt8]] = []
}

/// A stream as every loop with members knows it.
struct StreamEntry: Sendable, Codable {
    private enum CodingKeys: CodingKey {
        case info
        case lane
        case publisher
        case address
    }

    let info: RelayMessage.StreamInfo
    let lane: Lane
    let publisher: ParticipantID
    /// Where its frames come from, for the loop that has this.
    var address: MemberAddress
    /// Of a stream of another node, where it comes from in truth; `nil` for the loop that gets it from there.
    var imported: ImportedStream?
}

/// Where a stream of another node comes from, and what the loop that gets it for this node makes the room of.
struct ImportedStream: Sendable {
    let origin: MemberAddress
    let room: RoomName
}

typealias Rooms = RoomDirectory<MemberProfile, RelayMessage.StreamInfo>
