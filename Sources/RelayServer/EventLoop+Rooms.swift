import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

extension EventLoop {
    // MARK: As the home of rooms

    func handleAtHome(_ message: LoopMessage) {
        switch message {
        case .join(let request): joinAtHome(request)
        case .leave(let room, let participant, let reason): leaveAtHome(room, participant, reason)
        case .publish(let request): publishAtHome(request)
        case .unpublish(let room, let participant, let requester, let requestID, let stream):
            unpublishAtHome(room, participant, requester, requestID, stream)
        default: preconditionFailure("a message for members reached a room's home")
        }
    }

    private func joinAtHome(_ request: JoinRequest) {
        do {
            let (room, member) = try home.join(request.name, at: request.address) { id in
                var profile = request.profile
                let participant = RelayMessage.Participant(participant: id.value, identity: profile.identity, displayName: profile.displayName)
                profile.encoded = participant.encoded
                return profile
            }
            let joined = Joined(
                room: room.number, name: room.name, home: index, participant: member.id, participants: Rooms.Member.list(room.members),
                streams: room.streams.map(StreamEntry.init))
            let news = RelayMessage.participantJoined(member.participant).encoded
            for loop in room.loops { post(.roomEvent(room.number, message: news, except: member.id), to: loop) }
            post(.joined(token: request.address.token, requestID: request.requestID, .success(joined)), to: request.address.loop)
        } catch {
            post(.joined(token: request.address.token, requestID: request.requestID, .failure(Refusal(error))), to: request.address.loop)
        }
    }

    private func leaveAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ reason: RelayMessage.LeaveReason) {
        guard let (room, member, streams) = home.leave(number, participant) else { return }
        for stream in streams { announceEnd(of: stream.id, in: room, and: member.address.loop) }
        let news = RelayMessage.participantLeft(participant: participant.value, reason: reason).encoded
        for loop in room.loops { post(.roomEvent(number, message: news, except: nil), to: loop) }
    }

    private func publishAtHome(_ request: PublishRequest) {
        do {
            let info = RelayMessage.StreamInfo(
                stream: 0, participant: request.participant.value, kind: request.body.kind, codec: request.body.codec,
                description: request.body.description, source: request.body.source)
            let (room, stream) = try home.publish(request.room, request.participant, lane: request.lane, description: info)
            let entry = StreamEntry(stream)
            let news = RelayMessage.streamPublished(entry.info).encoded
            // The publisher's loop first: it must know the stream before another loop can ask it for the frames.
            let others = room.loops.filter { $0 != request.address.loop }
            for loop in [request.address.loop] + others { post(.streamAdded(room.number, entry, message: news), to: loop) }
            published(request.address, request.requestID, room.number, .success(stream.id), via: others)
        } catch {
            published(request.address, request.requestID, request.room, .failure(Refusal(error)), via: [])
        }
    }

    /// Sends the answer to a `publish` on its way, over the next loop that is to see it.
    private func published(_ address: MemberAddress, _ requestID: UInt64, _ room: RoomNumber, _ result: Result<UInt32, Refusal>, via: [Int]) {
        // Mailboxes keep their order: what a loop posts to the publisher's before it passes this on is read before this.
        post(.published(address, requestID: requestID, room, result, via: Array(via.dropFirst())), to: via.first ?? address.loop)
    }

    private func unpublishAtHome(
        _ number: RoomNumber, _ participant: ParticipantID, _ requester: MemberAddress, _ requestID: UInt64, _ id: UInt32
    ) {
        do {
            let (room, stream) = try home.unpublish(number, participant, stream: id)
            announceEnd(of: stream.id, in: room, and: requester.loop)
            post(.unpublished(token: requester.token, requestID: requestID, .success(id)), to: requester.loop)
        } catch {
            post(.unpublished(token: requester.token, requestID: requestID, .failure(Refusal(error))), to: requester.loop)
        }
    }

    /// Tells every loop with members, and the publisher's own, which may have none left.
    private func announceEnd(of stream: UInt32, in room: Rooms.Room, and publisherLoop: Int) {
        let news = RelayMessage.streamEnded(stream: stream).encoded
        var loops = room.loops
        if !loops.contains(publisherLoop) { loops.append(publisherLoop) }
        for loop in loops { post(.streamEnded(room.number, stream: stream, message: news), to: loop) }
    }

    // MARK: As a loop with members

    func handleForMembers(_ message: LoopMessage) {
        switch message {
        case .joined(let token, let requestID, let result): joined(token, requestID, result)
        case .published(let address, let requestID, let room, let result, let via):
            if address.loop == index {
                published(address.token, requestID, room, result)
            } else {
                published(address, requestID, room, result, via: via)
            }
        case .unpublished(let token, let requestID, let result): unpublished(token, requestID, result)
        case .roomEvent(let room, let message, let except): tell(room, message, except: except)
        case .streamAdded(let room, let entry, let message): streamAdded(room, entry, message)
        case .streamEnded(let room, let stream, let message): streamEnded(room, stream, message)
        default: preconditionFailure("a message for a room's home reached its members")
        }
    }

    private func joined(_ token: UInt64, _ requestID: UInt64, _ result: Result<Joined, Refusal>) {
        let channel = channels[Handle(packed: token)]
        switch result {
        case .failure(let refusal):
            guard let channel else { return }
            channel.state = .ready
            refuse(channel, requestID, refusal)
        case .success(let joined):
            // The session may have ended while its join was under way.
            guard let channel, case .joining = channel.state, channel.closing.maySend, let room = localRoom(joined),
                let subscriber = room.fanout.addSubscriber(joined.participant, token: token)
            else {
                post(.leave(joined.room, joined.participant, reason: .lost), to: joined.home)
                return
            }
            room.members.append((joined.participant, channel.handle))
            channel.state = .inRoom(Membership(room: room, home: joined.home, participant: joined.participant, subscriber: subscriber))
            counters.participants += 1
            var answer = RelayMessage.Answer()
            answer.room = joined.name.text
            answer.participant = joined.participant.value
            answer.streams = joined.streams.map(\.info)
            sendText(channel, RelayMessage.ok(id: requestID, answer).encoded(with: "participants", joined.participants))
        }
    }

    /// This loop's share of the room, made when its first member comes.
    private func localRoom(_ joined: Joined) -> LocalRoom? {
        if let handle = roomHandles[joined.room] { return rooms[handle] }
        let room = LocalRoom(number: joined.room, name: joined.name, limits: limits, budget: budget)
        guard let handle = rooms.insert(room) else { return nil }
        room.handle = handle
        roomHandles[joined.room] = handle
        for entry in joined.streams { addStream(room, entry) }
        return room
    }

    func dropRoom(_ room: LocalRoom) {
        for route in room.routes where route.isRequested { withdrawInterest(room, route) }
        counters.frames.add(room.fanout.totalAccount().account)
        room.fanout.releaseBudget()
        _ = rooms.remove(room.handle)
        roomHandles[room.number] = nil
    }

    func room(_ number: RoomNumber) -> LocalRoom? {
        roomHandles[number].flatMap { rooms[$0] }
    }

    private func tell(_ number: RoomNumber, _ message: [UInt8], except: ParticipantID?) {
        guard let room = room(number) else { return }
        for (participant, handle) in room.members where participant != except {
            if let channel = channels[handle] { sendText(channel, message) }
        }
    }

    @discardableResult
    private func addStream(_ room: LocalRoom, _ entry: StreamEntry) -> StreamSlot? {
        guard let slot = room.fanout.addStream(id: entry.info.stream, publisher: entry.publisher, lane: entry.lane) else { return nil }
        let route = StreamRoute(entry: entry)
        if slot.index < room.routes.count { room.routes[slot.index] = route } else { room.routes.append(route) }
        return slot
    }

    private func streamAdded(_ number: RoomNumber, _ entry: StreamEntry, _ message: [UInt8]) {
        guard let room = room(number), let slot = addStream(room, entry) else { return }
        tell(number, message, except: entry.publisher)
        for (participant, handle) in room.members where participant != entry.publisher {
            guard let membership = channels[handle]?.membership, membership.subscribesToAll else { continue }
            subscribe(membership, slot)
        }
    }

    private func streamEnded(_ number: RoomNumber, _ stream: UInt32, _ message: [UInt8]) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        let publisher = room.routes[slot.index].entry.publisher
        room.fanout.endStream(slot)
        room.routes[slot.index].isRequested = false
        room.routes[slot.index].remote = []
        tell(number, message, except: publisher)
        for (participant, handle) in room.members where participant == publisher {
            guard let membership = channels[handle]?.membership,
                let place = membership.published.firstIndex(where: { $0.id == stream })
            else { continue }
            membership.published[place].hasEnded = true
        }
    }

    private func published(_ token: UInt64, _ requestID: UInt64, _ number: RoomNumber, _ result: Result<UInt32, Refusal>) {
        guard let channel = channels[Handle(packed: token)] else { return }
        channel.pendingPublishes -= 1
        switch result {
        case .failure(let refusal): refuse(channel, requestID, refusal)
        case .success(let id):
            guard let membership = channel.membership, membership.room.number == number, let slot = membership.room.fanout.slot(of: id) else {
                refuse(channel, requestID, Refusal(RoomFault.notAMember))
                return
            }
            // Frames of ended streams may still be under way; a few of them are remembered.
            if membership.published.count >= 2 * limits.streamsPerParticipantMax { membership.published.removeAll { $0.hasEnded } }
            channel.hasPublished = true
            membership.published.append(PublishedStream(id: id, slot: slot, lane: membership.room.fanout.streams[slot.index].lane))
            var answer = RelayMessage.Answer()
            answer.stream = id
            send(channel, .ok(id: requestID, answer))
        }
    }

    private func unpublished(_ token: UInt64, _ requestID: UInt64, _ result: Result<UInt32, Refusal>) {
        guard let channel = channels[Handle(packed: token)] else { return }
        switch result {
        case .failure(let refusal): refuse(channel, requestID, refusal)
        case .success(let id):
            var answer = RelayMessage.Answer()
            answer.stream = id
            send(channel, .ok(id: requestID, answer))
        }
    }
}

extension Rooms.Member {
    /// Members as a JSON array.
    static func list(_ members: [Rooms.Member]) -> [UInt8] {
        var list: [UInt8] = [UInt8(ascii: "[")]
        for member in members {
            if list.count > 1 { list.append(UInt8(ascii: ",")) }
            list += member.profile.encoded
        }
        list.append(UInt8(ascii: "]"))
        return list
    }

    var participant: RelayMessage.Participant {
        RelayMessage.Participant(participant: id.value, identity: profile.identity, displayName: profile.displayName)
    }
}

extension StreamEntry {
    init(_ stream: Rooms.Stream) {
        var info = stream.description
        info.stream = stream.id
        self.init(info: info, lane: stream.lane, publisher: stream.publisher, address: stream.address)
    }
}
