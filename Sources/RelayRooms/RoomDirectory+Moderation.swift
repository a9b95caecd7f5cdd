/// What hosts do, and what the policy and administrators do to a room from outside.
///
/// `host` names who asks; every act refuses whoever is no host of the room at that moment. Hosts are equals: each may do everything to each, oneself included.
extension RoomDirectory {
    /// A member's role or muted kinds changed. `room` and `member` are as they are now.
    package struct Change: Sendable {
        package let room: Room
        package let member: Member
        package let previousRole: Role
        /// Streams that ended because the member may not publish them any more.
        package let ended: [Stream]
    }

    /// Mutes kinds of a member's streams, or lets them be heard again. A mute lasts until it is lifted, or as long as the room.
    ///
    /// - Returns: `nil` when that is how it was already.
    package mutating func mute(
        _ number: RoomNumber, by host: ParticipantID, _ participant: ParticipantID, _ kinds: PublishKinds, _ isMuted: Bool
    ) throws(RoomFault) -> Change? {
        var (room, place) = try place(of: participant, in: number, for: host)
        let before = room.members[place].muted
        room.restrictions.note(room.members[place].identity, kinds, isMuted: isMuted)
        room.members[place].muted = isMuted ? before.union(kinds) : before.subtracting(kinds)
        rooms[number] = room
        guard room.members[place].muted != before else { return nil }
        return Change(room: room, member: room.members[place], previousRole: room.members[place].role, ended: [])
    }

    /// Gives a member another role. Its streams end when the new one does not publish.
    ///
    /// - Returns: `nil` when it had that role already.
    package mutating func promote(
        _ number: RoomNumber, by host: ParticipantID, _ participant: ParticipantID, to role: Role
    ) throws(RoomFault) -> Change? {
        var (room, place) = try place(of: participant, in: number, for: host)
        let before = room.members[place].role
        room.restrictions.note(room.members[place].identity, role: role, before: before)
        rooms[number] = room
        guard before != role else { return nil }
        return change(room, place, role: role, publishable: room.members[place].publishable)
    }

    /// Takes a member out.
    package mutating func remove(
        _ number: RoomNumber, by host: ParticipantID, _ participant: ParticipantID
    ) throws(RoomFault) -> Departure {
        _ = try place(of: participant, in: number, for: host)
        guard let departure = leave(number, participant) else { throw .unknownParticipant }
        return departure
    }

    /// - Returns: the room, or `nil` when that is how it was already.
    package mutating func lock(_ number: RoomNumber, by host: ParticipantID, _ isLocked: Bool) throws(RoomFault) -> Room? {
        var room = try room(number, for: host)
        guard room.isLocked != isLocked else { return nil }
        room.isLocked = isLocked
        rooms[number] = room
        return room
    }

    /// Ends the room for everybody, the lobby included. Answers it as it was.
    package mutating func end(_ number: RoomNumber, by host: ParticipantID) throws(RoomFault) -> Room {
        let room = try room(number, for: host)
        forget(room)
        return room
    }

    /// Ends the room from outside: an administrator, or the pair that it belonged to is no more. Answers it as it was.
    package mutating func end(_ number: RoomNumber) -> Room? {
        guard let room = rooms[number] else { return nil }
        forget(room)
        return room
    }

    /// Brings a member, or somebody in the lobby, in line with a policy that has changed.
    ///
    /// - Parameters:
    ///   - before: the role that the policy gave until now. Only who still has it gets the new one: a role that a host gave stays.
    ///   - admission: what the policy gives now.
    /// - Returns: `nil` when nobody needs to know.
    package mutating func review(
        _ number: RoomNumber, _ participant: ParticipantID, roleBefore before: Role, _ admission: RoomAdmission
    ) -> Change? {
        guard var room = rooms[number] else { return nil }
        // A role of the policy is no way round what a host has imposed.
        func role(of member: Member) -> Role { room.restrictions.role(member.identity, admission.role) }
        if let place = room.waiting.firstIndex(where: { $0.id == participant }) {
            room.waiting[place].role = role(of: room.waiting[place])
            room.waiting[place].publishable = admission.publish
            rooms[number] = room
            return nil
        }
        guard let place = room.members.firstIndex(where: { $0.id == participant }) else { return nil }
        let role = room.members[place].role == before ? role(of: room.members[place]) : room.members[place].role
        let had = (role: room.members[place].role, publishable: room.members[place].publishable)
        let change = change(room, place, role: role, publishable: admission.publish)
        return role == had.role && change.ended.isEmpty ? nil : change
    }

    // MARK: Parts

    func room(_ number: RoomNumber, for host: ParticipantID) throws(RoomFault) -> Room {
        guard let room = rooms[number], let moderator = room.members.first(where: { $0.id == host }) else { throw .notAMember }
        guard moderator.role.mayModerate else { throw .notHost }
        return room
    }

    private func place(of participant: ParticipantID, in number: RoomNumber, for host: ParticipantID) throws(RoomFault) -> (room: Room, place: Int) {
        let room = try room(number, for: host)
        guard let place = room.members.firstIndex(where: { $0.id == participant }) else { throw .unknownParticipant }
        return (room, place)
    }

    private mutating func change(_ before: Room, _ place: Int, role: Role, publishable: PublishKinds) -> Change {
        var room = before
        let id = room.members[place].id
        let previousRole = room.members[place].role
        room.members[place].role = role
        room.members[place].publishable = publishable
        let ended = room.streams.filter { $0.publisher == id && !(role.mayPublish && publishable.contains(PublishKinds($0.lane))) }
        room.streams.removeAll { stream in ended.contains { $0.id == stream.id } }
        room.members[place].streams.removeAll { stream in ended.contains { $0.id == stream } }
        rooms[room.number] = room
        return Change(room: room, member: room.members[place], previousRole: previousRole, ended: ended)
    }
}
