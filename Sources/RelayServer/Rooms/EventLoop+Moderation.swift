import RelayBase
import RelayRooms
import Signalling

extension EventLoop {
    // MARK: At the host's loop

    /// What only a host may ask for; the room's home decides.
    func moderation(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        let membership = try membership(channel)
        let act: ModerationRequest.Act
        switch request {
        case .mute(let mute):
            guard mute.kinds?.isEmpty != true else { throw .badValue("kinds") }
            act = .mute(ParticipantID(mute.participant), mute.kinds.map { PublishKinds($0) } ?? .all, mute.muted)
        case .remove(let reference): act = .remove(ParticipantID(reference.participant))
        case .promote(let promote): act = .promote(ParticipantID(promote.participant), promote.role)
        case .lock(let lock): act = .lock(lock.locked)
        case .end: act = .end
        case .admit(let reference): act = .admit(ParticipantID(reference.participant))
        case .deny(let reference): act = .deny(ParticipantID(reference.participant))
        default: throw .unknownType(request.type)
        }
        let message = ModerationRequest(
            room: membership.room.number, host: membership.participant, address: address(of: channel), requestID: id, act: act, type: request.type,
            actor: channel.principal?.name ?? "", isAdministrator: channel.principal.map(policy.isAdmin) ?? false,
            origin: "\(channel.clientAddress)")
        post(.moderate(message), to: membership.home)
    }

    // MARK: At the room's home

    func moderateAtHome(_ request: ModerationRequest) {
        var details = [("room", home.rooms[request.room]?.name.text ?? "")]
        if let participant = request.act.participant { details.append(("participant", "\(participant.value)")) }
        do throws(RoomFault) {
            try perform(request)
            shared.audit.record(
                request.type, by: request.actor, isAdministrator: request.isAdministrator, from: request.origin, .done, details)
        } catch {
            let refusal = Refusal(error)
            shared.audit.record(request.type, by: request.actor, from: request.origin, .refused(refusal.code), details)
            post(.toSession(token: request.address.token, .answer(requestID: request.requestID, .failure(refusal))), to: request.address.loop)
        }
    }

    /// The answer goes before what the act brings about: a host that removes itself hears of the room's last that it is out.
    private func perform(_ request: ModerationRequest) throws(RoomFault) {
        // Another node may have become home to the room: what is given here it would not know of.
        if !clusterHome.holdsLease, request.act.gives { throw .homeUncertain }
        let (room, host) = (request.room, request.host)
        switch request.act {
        case .mute(let participant, let kinds, let isMuted):
            let change = try home.mute(room, by: host, participant, kinds, isMuted)
            confirm(request)
            if let change { announce(change) }
        case .promote(let participant, let role):
            let change = try home.promote(room, by: host, participant, to: role)
            confirm(request)
            if let change { announce(change) }
        case .remove(let participant):
            let departure = try home.remove(room, by: host, participant)
            confirm(request)
            announceRemoval(departure, .removed)
        case .lock(let isLocked):
            let room = try home.lock(room, by: host, isLocked)
            confirm(request)
            guard let room else { return }
            let news = RelayMessage.roomLocked(.init(locked: isLocked)).encoded
            for loop in audience(of: room) { post(.roomEvent(room.number, message: news, except: nil), to: loop) }
        case .end:
            let room = try home.end(room, by: host)
            confirm(request)
            announceEnd(of: room, .ended)
        case .admit(let participant):
            let settings = home.rooms[room].map { self.settings(of: $0.name) } ?? RoomSettings()
            let (room, member) = try home.admit(room, by: host, participant, settings)
            confirm(request)
            admit(member, to: room)
        case .deny(let participant):
            let departure = try home.deny(room, by: host, participant)
            confirm(request)
            announceRemoval(departure, .denied)
        }
    }

    private func confirm(_ request: ModerationRequest) {
        post(.toSession(token: request.address.token, .answer(requestID: request.requestID, .success(.init()))), to: request.address.loop)
    }

    private func admit(_ member: Rooms.Member, to room: Rooms.Room) {
        announceArrival(of: member, in: room)
        post(.admitted(token: member.address.token, joined(room, member)), to: member.address.loop)
        tellHosts(of: room, RelayMessage.lobbyLeft(participant: member.id.value).encoded)
        if member.role.mayModerate { showLobby(of: room, to: member) }
    }

    /// Tells everybody of a member's new role or muted kinds, and of the streams that end by it.
    func announce(_ change: Rooms.Change) {
        let (room, member) = (change.room, change.member)
        let news = RelayMessage.participantChanged(.init(participant: member.id.value, role: member.role, muted: member.muted.streamKinds)).encoded
        for loop in audience(of: room) {
            post(.memberChanged(room.number, member.id, role: member.role, muted: member.muted, message: news), to: loop)
        }
        lookAtSpeakers(room.number)
        for stream in change.ended { announceEnd(of: stream.id, in: room, and: member.address.loop, isForced: true) }
        if member.role.mayModerate, !change.previousRole.mayModerate { showLobby(of: room, to: member) }
    }
}

extension ModerationRequest.Act {
    /// Whether it changes what somebody may do from now on.
    var gives: Bool {
        switch self {
        case .promote, .lock: true
        case .mute, .remove, .end, .admit, .deny: false
        }
    }

    var participant: ParticipantID? {
        switch self {
        case .mute(let participant, _, _), .remove(let participant), .promote(let participant, _), .admit(let participant), .deny(let participant):
            participant
        case .lock, .end: nil
        }
    }
}
