import RelayBase
import RelayRooms

/// The home of rooms, and what it says to the loops that have members: after `EventLoop+Rooms` and `EventLoop+Members`.
extension RelayLoop {
    // MARK: At home

    func joinAtHome(_ name: RoomName, _ address: MemberAddress) {
        let admission = RoomAdmission(role: .speaker, publish: .all, settings: RoomSettings())
        guard
            case .joined(let room, let member) = try? home.join(
                name, at: address, identity: "", admission: admission, profile: { _ in "" })
        else {
            post(.joined(token: address.token, nil), to: address.loop)
            return
        }
        for loop in room.loops { post(.participantsChanged(room.number), to: loop) }
        let joined = Joined(
            room: room.number, name: room.name, home: index, participant: member.id, streams: room.streams.map(StreamEntry.init))
        post(.joined(token: address.token, joined), to: address.loop)
    }

    func leaveAtHome(_ number: RoomNumber, _ participant: ParticipantID) {
        guard let departure = home.leave(number, participant) else { return }
        for stream in departure.streams { announceEnd(of: stream.id, in: departure.room, and: departure.member.address.loop) }
        for loop in departure.room.loops { post(.participantsChanged(number), to: loop) }
    }

    func publishAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ address: MemberAddress, _ offer: StreamOffer) {
        guard
            let (room, stream) = try? home.publish(
                number, participant, lane: offer.lane, settings: RoomSettings(), description: offer)
        else {
            passPublished(address, number, offer.request, nil, [])
            return
        }
        let entry = StreamEntry(stream)
        let others = room.loops.filter { $0 != address.loop }
        for loop in [address.loop] + others { post(.streamAdded(number, entry), to: loop) }
        passPublished(address, number, offer.request, stream.id, others)
    }

    func passPublished(_ address: MemberAddress, _ room: RoomNumber, _ request: UInt32, _ stream: UInt32?, _ via: [Int]) {
        post(.published(address, room, request: request, stream: stream, via: Array(via.dropFirst())), to: via.first ?? address.loop)
    }

    func unpublishAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ stream: UInt32) {
        guard let (room, ended) = try? home.unpublish(number, participant, stream: stream) else { return }
        announceEnd(of: ended.id, in: room, and: ended.address.loop)
    }

    private func announceEnd(of stream: UInt32, in room: SimulatedRooms.Room, and publisherLoop: Int) {
        var loops = room.loops
        if !loops.contains(publisherLoop) { loops.append(publisherLoop) }
        for loop in loops { post(.streamEnded(room.number, stream: stream), to: loop) }
    }

    // MARK: At the members' loops

    func joined(_ token: UInt64, _ joined: Joined?) {
        let session = session(token)
        guard let joined else {
            session?.place = .outside
            if let session { send(session, .joinFailed) }
            return
        }
        guard let session, case .joining = session.place, enter(session, joined) else {
            post(.leave(joined.room, joined.participant), to: joined.home)
            return
        }
        let streams = joined.streams.flatMap { [$0.stream, UInt32($0.lane.rawValue), $0.publisher.value] }
        send(session, .joined, [UInt32(truncatingIfNeeded: joined.room.value), joined.participant.value] + streams)
    }

    private func enter(_ session: RelaySession, _ joined: Joined) -> Bool {
        guard let room = localRoom(joined), let subscriber = room.fanout.addSubscriber(joined.participant, token: session.token) else { return false }
        room.fanout.setWishes(Int(subscriber.index), session.wishes)
        room.members.append((joined.participant, session.token))
        session.place = .inside(SessionMembership(room: room, participant: joined.participant, subscriber: subscriber))
        return true
    }

    private func localRoom(_ joined: Joined) -> SimulatedRoom? {
        if let handle = roomHandles[joined.room] { return rooms[handle] }
        let room = SimulatedRoom(number: joined.room, name: joined.name, home: joined.home, limits: limits, budget: budget)
        guard let handle = rooms.insert(room) else { return nil }
        room.handle = handle
        roomHandles[joined.room] = handle
        for entry in joined.streams { addStream(room, entry) }
        return room
    }

    @discardableResult
    private func addStream(_ room: SimulatedRoom, _ entry: StreamEntry) -> StreamSlot? {
        guard
            let slot = room.fanout.addStream(
                id: entry.stream, publisher: entry.publisher, lane: entry.lane, layers: entry.layers)
        else { return nil }
        let route = StreamRoute(entry: entry)
        if slot.index < room.routes.count { room.routes[slot.index] = route } else { room.routes.append(route) }
        return slot
    }

    func streamAdded(_ number: RoomNumber, _ entry: StreamEntry) {
        guard let room = room(number), let slot = addStream(room, entry) else { return }
        tell(number, .streamAdded, [entry.stream, UInt32(entry.lane.rawValue), entry.publisher.value], except: entry.publisher)
        for member in room.members where member.participant != entry.publisher {
            guard let membership = session(member.session)?.membership, membership.subscribesToAll else { continue }
            subscribe(membership, [slot])
        }
    }

    func streamEnded(_ number: RoomNumber, _ stream: UInt32) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        let publisher = room.routes[slot.index].entry.publisher
        room.fanout.endStream(slot)
        room.routes[slot.index].isRequested = false
        room.routes[slot.index].remote = []
        tell(number, .streamEnded, [stream], except: publisher)
        for member in room.members where member.participant == publisher {
            guard let session = session(member.session), let membership = session.membership,
                let place = membership.published.firstIndex(where: { $0.id == stream })
            else { continue }
            membership.published[place].hasEnded = true
            send(session, .unpublished, [stream])
        }
    }

    func published(_ token: UInt64, _ number: RoomNumber, _ request: UInt32, _ stream: UInt32?) {
        guard let session = session(token) else { return }
        guard let stream, let membership = session.membership, membership.room.number == number, let slot = membership.room.fanout.slot(of: stream)
        else {
            send(session, .publishFailed, [request])
            return
        }
        membership.published.append(PublishedStream(id: stream, slot: slot))
        send(session, .published, [request, stream])
    }

    func tell(_ number: RoomNumber, _ notice: RelayNotice, _ words: [UInt32], except: ParticipantID?) {
        guard let room = room(number) else { return }
        for member in room.members where member.participant != except {
            if let session = session(member.session) { send(session, notice, words) }
        }
    }

    // MARK: Leaving

    func leaveRoom(_ session: RelaySession) {
        guard let membership = session.membership else { return }
        session.place = .outside
        let room = membership.room
        post(.leave(room.number, membership.participant), to: room.home)
        room.openGaps.removeAll { $0.token == session.token }
        if !session.hasEnded { room.fanout.finishMessage(Int(membership.subscriber.index), into: &session.unfinished) }
        room.members.removeAll { $0.participant == membership.participant }
        let account = room.fanout.removeSubscriber(membership.subscriber)
        if let account {
            world.account.add(account)
            world.require(
                account.entered == account.delivered &+ account.dropped,
                "the final account of participant \(membership.participant.value) does not come out: \(account)")
        }
        releaseInterest(room)
        if room.members.isEmpty { dropRoom(room) }
    }

    private func dropRoom(_ room: SimulatedRoom) {
        for route in room.routes where route.isRequested { withdrawInterest(room, route) }
        room.fanout.releaseBudget()
        _ = rooms.remove(room.handle)
        roomHandles[room.number] = nil
    }
}

extension StreamEntry {
    init(_ stream: SimulatedRooms.Stream) {
        self.init(
            stream: stream.id, lane: stream.lane, layers: stream.description.layers, priority: stream.description.priority,
            publisher: stream.publisher, address: stream.address)
    }
}
