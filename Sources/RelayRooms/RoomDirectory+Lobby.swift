/// Who waits to be let in. A lobby outlives its hosts: who waits goes on waiting for the next.
extension RoomDirectory {
    /// Lets somebody in from the lobby; they keep their number.
    ///
    /// - Parameter settings: the room's; who is let in needs a place like anybody else. A lock does not keep out whom a host lets in.
    package mutating func admit(
        _ number: RoomNumber, by host: ParticipantID, _ participant: ParticipantID, _ settings: RoomSettings
    ) throws(RoomFault) -> (room: Room, member: Member) {
        var room = try room(number, for: host)
        guard let place = room.waiting.firstIndex(where: { $0.id == participant }) else { throw .unknownParticipant }
        try checkPlace(in: room, settings)
        var member = room.waiting.remove(at: place)
        // Another device of the same identity may have been muted or demoted meanwhile.
        member.role = room.restrictions.role(member.identity, member.role)
        member.muted = room.restrictions.muted(member.identity)
        room.members.append(member)
        rooms[number] = room
        return (room, member)
    }

    /// Sends somebody in the lobby away.
    package mutating func deny(
        _ number: RoomNumber, by host: ParticipantID, _ participant: ParticipantID
    ) throws(RoomFault) -> Departure {
        let room = try room(number, for: host)
        guard room.waiting.contains(where: { $0.id == participant }), let departure = leave(number, participant) else { throw .unknownParticipant }
        return departure
    }
}
