import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

/// Lobbies, and ways out of a room that its member did not choose.
extension EventLoop {
    // MARK: At the room's home

    func tellHosts(of room: Rooms.Room, _ message: [UInt8]) {
        for host in room.hosts { tell(host, in: room, message) }
    }

    private func tell(_ member: Rooms.Member, in room: Rooms.Room, _ message: [UInt8]) {
        post(.memberEvent(token: member.address.token, room.number, member.id, message: message), to: member.address.loop)
    }

    /// A new host learns who waits.
    func showLobby(of room: Rooms.Room, to host: Rooms.Member) {
        for member in room.waiting { tell(host, in: room, RelayMessage.lobbyWaiting(member.participant).encoded) }
    }

    /// The one who goes hears of it first: after that its loop tells it nothing more of the room.
    func announceRemoval(_ departure: Rooms.Departure, _ reason: RelayMessage.RemovalReason) {
        let member = departure.member
        post(.removed(token: member.address.token, departure.room.number, member.id, reason), to: member.address.loop)
        announce(departure, .removed)
    }

    /// Everybody is out, the lobby included; nobody is left who could be told of the others.
    func announceEnd(of room: Rooms.Room, _ reason: RelayMessage.RemovalReason) {
        for loop in audience(of: room) { post(.roomEnded(room.number, reason), to: loop) }
        for member in room.waiting { post(.removed(token: member.address.token, room.number, member.id, reason), to: member.address.loop) }
    }

    func evictAtHome(_ name: RoomName, _ participant: ParticipantID?, _ reason: RelayMessage.RemovalReason) {
        guard let room = home.room(named: name) else { return }
        if let participant {
            if let departure = home.leave(room.number, participant) { announceRemoval(departure, reason) }
        } else if let room = home.end(room.number) {
            announceEnd(of: room, reason)
        }
    }

    // MARK: At the loop of who comes or goes

    func waiting(_ token: UInt64, _ requestID: UInt64, _ place: LobbyPlace) {
        guard let channel = channels[Handle(packed: token)], case .joining(let joining) = channel.state, channel.closing.maySend else {
            post(.leave(place.room, place.participant, reason: .lost), to: place.home)
            return
        }
        channel.state = .waiting(place, joining.admission)
        guard channel.purpose == .session else {
            refuseListening(channel, "The room has a lobby, and nobody waits in it for this.", retry: false)
            return
        }
        var answer = RelayMessage.Answer()
        answer.room = place.name.text
        answer.participant = place.participant.value
        answer.role = place.role
        answer.state = .waiting
        send(channel, .ok(id: requestID, answer))
        if joining.policyGeneration != policyGeneration { review(channel) }
        performWaiting(channel)
    }

    func admitted(_ token: UInt64, _ joined: Joined) {
        guard let channel = channels[Handle(packed: token)], case .waiting(let place, let admission) = channel.state, place.room == joined.room,
            place.participant == joined.participant, channel.closing.maySend, enter(channel, joined, admission)
        else {
            post(.leave(joined.room, joined.participant, reason: .lost), to: joined.home)
            return
        }
        let entry = RelayMessage.RoomEntry(
            room: joined.name.text, participant: joined.participant.value, role: joined.role, locked: joined.isLocked, participants: nil,
            streams: joined.streams.map(\.info), speakers: joined.told)
        sendText(channel, RelayMessage.roomAdmitted(entry).encoded(with: "participants", joined.participants))
    }

    func removed(_ token: UInt64, _ number: RoomNumber, _ participant: ParticipantID, _ reason: RelayMessage.RemovalReason) {
        if let room = room(number) { flushHeld(room) }
        guard let channel = channels[Handle(packed: token)] else { return }
        let name: RoomName
        switch channel.state {
        case .inRoom(let membership) where membership.isOf(number, participant): name = membership.room.name
        case .waiting(let place, _) where place.room == number && place.participant == participant: name = place.name
        // It left by itself meanwhile.
        case .awaitingHello, .ready, .joining, .waiting, .inRoom: return
        }
        takeOut(channel)
        send(channel, .roomRemoved(.init(room: name.text, reason: reason)))
    }

    func roomEnded(_ number: RoomNumber, _ reason: RelayMessage.RemovalReason) {
        guard let room = room(number) else { return }
        flushHeld(room)
        let message = RelayMessage.roomRemoved(.init(room: room.name.text, reason: reason)).encoded
        for (_, handle) in room.members {
            guard let channel = channels[handle] else { continue }
            takeOut(channel)
            sendText(channel, message)
        }
    }
}
