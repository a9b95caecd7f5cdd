/// Why a room refused. The signalling layer gives each its stable code and sentence.
package enum RoomFault: Error, Hashable, Sendable {
    case tooManyRooms
    case roomFull(participantsMax: Int)
    case tooManyPublishers(publishersMax: Int)
    case tooManyStreams(streamsMax: Int)
    case roomStreamsFull(streamsMax: Int)
    case notAMember
    case unknownStream
    /// The room is locked, and who comes is no host.
    case locked
    case lobbyFull
    /// Whoever asks does not moderate the room.
    case notHost
    /// The role does not publish.
    case role
    /// The policy does not let the participant publish that kind, whatever its role.
    case kindNotAllowed
    case unknownParticipant
    /// Another node may have become home to the room meanwhile.
    case homeUncertain
}
