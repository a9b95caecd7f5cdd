import RelayBase
import RelayRooms

/// What a stream's publisher says of it.
struct StreamOffer {
    var lane: Lane
    /// Of video: its spatial layers, lowest first.
    var layers: [LayerDeclaration] = []
    var priority = 2
    /// The request's number: its answer bears it too.
    var request: UInt32
}

typealias SimulatedRooms = RoomDirectory<String, StreamOffer>

struct StreamEntry {
    let stream: UInt32
    let lane: Lane
    let layers: [LayerDeclaration]
    let priority: Int
    let publisher: ParticipantID
    let address: MemberAddress
}

/// A room as a new member finds it.
struct Joined {
    let room: RoomNumber
    let name: RoomName
    let home: Int
    let participant: ParticipantID
    let streams: [StreamEntry]
}

/// What loops say to each other: the part of the relay's messages that matters for media.
enum LoopMail {
    // To a room's home.
    case join(RoomName, MemberAddress)
    case leave(RoomNumber, ParticipantID)
    case publish(RoomNumber, ParticipantID, MemberAddress, StreamOffer)
    case unpublish(RoomNumber, ParticipantID, stream: UInt32)
    // To the loop of a member.
    case joined(token: UInt64, Joined?)
    case published(MemberAddress, RoomNumber, request: UInt32, stream: UInt32?, via: [Int])
    // To every loop with members.
    case participantsChanged(RoomNumber)
    case streamAdded(RoomNumber, StreamEntry)
    case streamEnded(RoomNumber, stream: UInt32)
    // From a loop with subscribers to the publisher's.
    case interest(RoomNumber, stream: UInt32, RemoteInterest, layers: LayerSet, isWanted: Bool)
    case keyFrameWanted(RoomNumber, stream: UInt32, spatial: Int)
    // From the publisher's loop to one with subscribers: what there is to choose.
    case ladder(RoomNumber, stream: UInt32, [LayerOption])
    // To a session's loop, with the connection that its client has come back on.
    case resume(MemberAddress, connection: Int, [ClientMark])
}

/// What a client says to the relay.
enum ClientMessage {
    case join(room: Int)
    case resume(MemberAddress, [ClientMark])
    case leave
    case publish(StreamOffer)
    case unpublish(stream: UInt32)
    case subscribeToAll
    case subscribe(stream: UInt32)
    case unsubscribeFromAll
    case unsubscribe(stream: UInt32)
    case requestKeyFrame(stream: UInt32)
    /// Takes nothing for now, of a stream or with `nil` of all; or goes on.
    case hold(stream: UInt32?, Bool)
    case frame([UInt8])

    /// As long as the real one is, about.
    var byteCount: Int {
        if case .frame(let bytes) = self { bytes.count + 8 } else { 90 }
    }
}

/// What the relay says to a client: a WebSocket text message whose payload is words of 32 bits, in the byte stream between the media.
enum RelayNotice: UInt32 {
    case joined = 1
    case joinFailed
    case left
    case published
    case publishFailed
    case unpublished
    case streamAdded
    case streamEnded
    case subscribed
    case unsubscribed
    case keyFrameRequested
    case layersWanted
    case participantsChanged
    case resumed
    case resumeRefused
    case gap
    case held
    case released

    func encoded(_ words: [UInt32]) -> [UInt8] {
        let byteCount = 4 * (words.count + 1)
        var bytes: [UInt8] = [0x81]
        if byteCount < 126 {
            bytes.append(UInt8(byteCount))
        } else {
            bytes += [126, UInt8(truncatingIfNeeded: byteCount >> 8), UInt8(truncatingIfNeeded: byteCount)]
        }
        for word in [rawValue] + words {
            for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }
}
