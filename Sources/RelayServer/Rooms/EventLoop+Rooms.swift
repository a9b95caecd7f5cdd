import AudioSession
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

extension EventLoop {
    // MARK: As the home of rooms

    func handleAtHome(_ message: LoopMessage) {
        if shared.gateway != nil, let number = message.roomAtHome {
            guard !passOnMoved(message, number) else { return }
            defer { noteChange(number) }
            performAtHome(message)
        } else {
            performAtHome(message)
        }
    }

    private func performAtHome(_ message: LoopMessage) {
        switch message {
        case .join(let request): joinAtHome(request)
        case .leave(let room, let participant, let reason): leaveAtHome(room, participant, reason)
        case .publish(let request): publishAtHome(request)
        case .unpublish(let room, let participant, let requester, let requestID, let stream):
            unpublishAtHome(room, participant, requester, requestID, stream)
        case .moderate(let request): moderateAtHome(request)
        case .review(let room, let participant, let roleBefore, let admission):
            if let change = home.review(room, participant, roleBefore: roleBefore, admission) { announce(change) }
        case .describe(let room, let participant, let claim): describe(room, participant, for: claim)
        case .present(let room, let participant, let presentation): presentAtHome(room, participant, presentation)
        case .withdraw(let room, let participant, let streams): withdrawAtHome(room, participant, streams)
        case .speech(let room, let loop, let streams): speechAtHome(room, from: loop, streams)
        case .evict(let name, let participant, let reason): evictAtHome(name, participant, reason)
        default: preconditionFailure("a message for members reached a room's home")
        }
    }

    private func joinAtHome(_ request: JoinRequest) {
        noteJoin(request.name)
        do {
            var admission = request.admission
            admission.settings = settings(of: request.name)
            let identity = request.profile.identity?.name ?? ""
            let entry = try home.join(request.name, at: request.address, identity: identity, admission: admission) { id in
                var profile = request.profile
                profile.encode(as: id)
                return profile
            }
            switch entry {
            case .joined(let room, let member):
                if room.members.count + room.waiting.count == 1 { tellGateway(.began(room.number, room.name)) }
                noteChange(room.number)
                notePlace(room.number, member.id)
                replicateFirst(room, to: member)
                announceArrival(of: member, in: room)
                var joined = joined(room, member)
                if member.role.mayModerate { joined.lobby = room.waiting.map { RelayMessage.lobbyWaiting($0.participant).encoded } }
                post(.joined(token: request.address.token, requestID: request.requestID, .success(joined)), to: request.address.loop)
            case .waiting(let room, let member):
                if room.members.count + room.waiting.count == 1 { tellGateway(.began(room.number, room.name)) }
                let place = LobbyPlace(
                    room: room.number, name: room.name, home: index, participant: member.id, role: member.role,
                    displayName: member.profile.displayName)
                post(.waiting(token: request.address.token, requestID: request.requestID, place), to: request.address.loop)
                tellHosts(of: room, RelayMessage.lobbyWaiting(member.participant).encoded)
            }
        } catch {
            post(.joined(token: request.address.token, requestID: request.requestID, .failure(Refusal(error))), to: request.address.loop)
        }
    }

    /// What the operator says of a room. A pair's room has nobody who could let the other in.
    func settings(of name: RoomName) -> RoomSettings {
        var settings = policy.settings(of: name)
        if name.isPair { settings.hasLobby = false }
        return settings
    }

    /// A room as somebody finds it who comes in.
    func joined(_ room: Rooms.Room, _ member: Rooms.Member) -> Joined {
        Joined(
            room: room.number, name: room.name, home: index, participant: member.id, role: member.role, muted: member.muted, isLocked: room.isLocked,
            participants: Rooms.Member.list(room.members), streams: room.streams.map(StreamEntry.init), speakers: room.speakers.current,
            recentSpeakers: room.speakers.recent)
    }

    private func describe(_ number: RoomNumber, _ participant: ParticipantID, for claim: ClaimReference) {
        var description: Joined?
        if let room = home.rooms[number], let member = room.members.first(where: { $0.id == participant }) {
            var joined = joined(room, member)
            if member.role.mayModerate { joined.lobby = room.waiting.map { RelayMessage.lobbyWaiting($0.participant).encoded } }
            description = joined
        }
        post(.described(claim, description), to: claim.newcomer.loop)
    }

    func announceArrival(of member: Rooms.Member, in room: Rooms.Room) {
        let news = RelayMessage.participantJoined(member.participant).encoded
        for loop in audience(of: room) { post(.presence(room.number, .came(member.id), message: news, except: member.id), to: loop) }
    }

    private func leaveAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ reason: RelayMessage.LeaveReason) {
        if let departure = home.leave(number, participant) { announce(departure, reason) }
    }

    /// Tells those who are left.
    func announce(_ departure: Rooms.Departure, _ reason: RelayMessage.LeaveReason) {
        let (room, member) = (departure.room, departure.member)
        guard !departure.wasWaiting else {
            tellHosts(of: room, RelayMessage.lobbyLeft(participant: member.id.value).encoded)
            return
        }
        for stream in departure.streams { announceEnd(of: stream.id, in: room, and: member.address.loop, isForced: false) }
        let news = RelayMessage.participantLeft(participant: member.id.value, reason: reason).encoded
        for loop in audience(of: room) { post(.presence(room.number, .left(member.id), message: news, except: nil), to: loop) }
    }

    private func publishAtHome(_ request: PublishRequest) {
        do {
            let info = RelayMessage.StreamInfo(
                stream: 0, participant: request.participant.value, kind: request.body.kind, codec: request.body.codec,
                description: request.body.description, source: request.body.source, layers: request.body.layers, priority: request.body.priority)
            let settings = home.rooms[request.room].map { self.settings(of: $0.name) } ?? RoomSettings()
            let (room, stream) = try home.publish(
                request.room, request.participant, lane: request.lane, settings: settings, description: info)
            let entry = StreamEntry(stream)
            let news = RelayMessage.streamPublished(entry.info).encoded
            // The publisher's loop first: it must know the stream before another loop can ask it for the frames.
            let first =
                LoopPlace.isForeign(request.address.loop)
                ? LoopPlace.of(LoopPlace.every, on: LoopPlace.node(of: request.address.loop)) : request.address.loop
            let others = audience(of: room).filter { $0 != first }
            for loop in [first] + others { post(.streamAdded(room.number, entry, message: news), to: loop) }
            published(request.address, request.requestID, room.number, .success(stream.id), via: others.filter { !LoopPlace.isForeign($0) })
        } catch {
            published(request.address, request.requestID, request.room, .failure(Refusal(error)), via: [])
        }
    }

    /// Sends the answer to a `publish` on its way, over the next loop that is to see it.
    func published(_ address: MemberAddress, _ requestID: UInt64, _ room: RoomNumber, _ result: Result<UInt32, Refusal>, via: [Int]) {
        // Mailboxes keep their order: what a loop posts to the publisher's before it passes this on is read before this.
        post(.published(address, requestID: requestID, room, result, via: Array(via.dropFirst())), to: via.first ?? address.loop)
    }

    private func unpublishAtHome(
        _ number: RoomNumber, _ participant: ParticipantID, _ requester: MemberAddress, _ requestID: UInt64, _ id: UInt32
    ) {
        do {
            let (room, stream) = try home.unpublish(number, participant, stream: id)
            announceEnd(of: stream.id, in: room, and: requester.loop, isForced: false)
            post(.unpublished(token: requester.token, requestID: requestID, .success(id)), to: requester.loop)
        } catch {
            post(.unpublished(token: requester.token, requestID: requestID, .failure(Refusal(error))), to: requester.loop)
        }
    }

    /// Tells every loop with members, and the publisher's own, which may have none left.
    func announceEnd(of stream: UInt32, in room: Rooms.Room, and publisherLoop: Int, isForced: Bool) {
        let news = RelayMessage.streamEnded(stream: stream).encoded
        var loops = audience(of: room)
        let publisher = LoopPlace.isForeign(publisherLoop) ? LoopPlace.of(LoopPlace.every, on: LoopPlace.node(of: publisherLoop)) : publisherLoop
        if !loops.contains(publisher) { loops.append(publisher) }
        for loop in loops { post(.streamEnded(room.number, stream: stream, message: news, isForced: isForced), to: loop) }
        lookAtSpeakers(room.number)
    }
}

extension Rooms.Member {
    /// Members as a JSON array.
    static func list(_ members: [Rooms.Member]) -> [UInt8] {
        var list: [UInt8] = [UInt8(ascii: "[")]
        for member in members {
            if list.count > 1 { list.append(UInt8(ascii: ",")) }
            list += member.encoded
        }
        list.append(UInt8(ascii: "]"))
        return list
    }

    var participant: RelayMessage.Participant {
        var participant = RelayMessage.Participant(
            participant: id.value, identity: profile.identity, displayName: profile.displayName, role: role,
            muted: muted.isEmpty ? nil : muted.streamKinds)
        let presentation = profile.presentation
        if presentation.interrupted != nil { participant.interrupted = true }
        if presentation.isHeld { participant.held = true }
        participant.route = presentation.route.map { AudioRoute($0) }
        participant.category = presentation.purpose?.category.rawValue
        participant.mode = presentation.purpose?.mode.rawValue
        return participant
    }

    /// The same as JSON, made of what was encoded once and what may change.
    private var encoded: [UInt8] {
        var bytes = profile.encoded
        bytes += ",\"role\":\"\(role.rawValue)\"".utf8
        if !muted.isEmpty { bytes += ",\"muted\":[\(muted.streamKinds.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]".utf8 }
        bytes += profile.presentation.members
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}

extension StreamEntry {
    init(_ stream: Rooms.Stream) {
        var info = stream.description
        info.stream = stream.id
        self.init(info: info, lane: stream.lane, publisher: stream.publisher, address: stream.address)
    }
}
