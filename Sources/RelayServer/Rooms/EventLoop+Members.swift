import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

/// What a room's home says to the loops that have members of it.
extension EventLoop {
    func handleForMembers(_ message: LoopMessage) {
        switch message {
        case .joined(let token, let requestID, let result): joined(token, requestID, result)
        case .published(let address, let requestID, let room, let result, let via):
            passOn(address, requestID, room, result, via: via)
        case .unpublished(let token, let requestID, let result): unpublished(token, requestID, result)
        case .waiting(let token, let requestID, let place): waiting(token, requestID, place)
        case .admitted(let token, let joined): admitted(token, joined)
        case .removed(let token, let room, let participant, let reason): removed(token, room, participant, reason)
        case .memberEvent(let token, let room, let participant, let message):
            guard let channel = channels[Handle(packed: token)], channel.membership?.isOf(room, participant) == true else { return }
            sendText(channel, message)
        case .memberChanged(let room, let participant, let role, let muted, let message):
            memberChanged(room, participant, role: role, muted: muted)
            tell(room, message, except: nil)
        case .memberPresented(let room, let participant, let isHeld, let message): memberPresented(room, participant, isHeld: isHeld, message)
        case .roomEnded(let room, let reason): roomEnded(room, reason)
        case .roomEvent(let room, let message, let except): tell(room, message, except: except)
        case .presence(let room, _, let message, let except): tellPresence(room, message, except: except)
        case .speakers(let room, let recent, let message): speakersChanged(room, recent, message)
        case .streamAdded(let room, let entry, let message): streamAdded(room, entry, message)
        case .streamEnded(let room, let stream, let message, let isForced): streamEnded(room, stream, message, isForced: isForced)
        default: preconditionFailure("a message for a room's home reached its members")
        }
    }

    private func joined(_ token: UInt64, _ requestID: UInt64, _ result: Result<Joined, Refusal>) {
        let channel = channels[Handle(packed: token)]
        switch result {
        case .failure(let refusal):
            guard let channel else { return }
            if case .joining(let joining) = channel.state { auditRefusedJoin(channel, joining.name, refusal) }
            channel.state = .ready
            if channel.purpose == .listener { refuseListening(channel, refusal.message, retry: refusal.retry) }
            refuse(channel, requestID, refusal)
            performWaiting(channel)
        case .success(let joined):
            // The session may have ended while its join was under way.
            guard let channel, case .joining(let joining) = channel.state, channel.closing.maySend else {
                post(.leave(joined.room, joined.participant, reason: .lost), to: joined.home)
                return
            }
            guard enter(channel, joined, joining.admission) else {
                post(.leave(joined.room, joined.participant, reason: .lost), to: joined.home)
                channel.state = .ready
                if channel.purpose == .listener { refuseListening(channel, Refusal.internalFault.message, retry: true) }
                refuse(channel, requestID, .internalFault)
                performWaiting(channel)
                return
            }
            guard channel.purpose == .session else {
                beginListening(channel)
                if joining.policyGeneration != policyGeneration { review(channel) }
                return
            }
            var answer = RelayMessage.Answer()
            answer.room = joined.name.text
            answer.participant = joined.participant.value
            answer.role = joined.role
            answer.state = .joined
            answer.locked = joined.isLocked
            answer.streams = joined.streams.map(\.info)
            answer.speakers = joined.told
            sendText(channel, RelayMessage.ok(id: requestID, answer).encoded(with: "participants", joined.participants))
            for message in joined.lobby { sendText(channel, message) }
            if joining.policyGeneration != policyGeneration { review(channel) }
            performWaiting(channel)
        }
    }

    /// Makes a session a member here. Answers false when there is no place for it.
    func enter(_ channel: Channel, _ joined: Joined, _ admission: RoomAdmission) -> Bool {
        guard let room = localRoom(joined), let subscriber = room.fanout.addSubscriber(joined.participant, token: channel.handle.packed) else {
            return false
        }
        room.fanout.setWishes(Int(subscriber.index), channel.wishes.egress)
        // The connection may have been lost while the join was under way.
        if channel.isParked { room.fanout.park(Int(subscriber.index)) }
        room.members.append((joined.participant, channel.handle))
        let displayName =
            switch channel.state {
            case .joining(let joining): joining.displayName
            case .waiting(let place, _): place.displayName
            case .awaitingHello, .ready, .inRoom: String?.none
            }
        let membership = Membership(
            room: room, participant: joined.participant, displayName: displayName, role: joined.role, subscriber: subscriber, admission: admission,
            spent: channel.spentBitRate, budget: budget, now: now)
        membership.setMuted(joined.muted)
        channel.state = .inRoom(membership)
        counters.participants += 1
        noteTicket(channel)
        enterWithAudio(channel)
        return true
    }

    /// This loop's share of the room, made when its first member comes.
    private func localRoom(_ joined: Joined) -> LocalRoom? {
        if let room = room(joined.room) {
            // As long as it only got streams for other loops it had no others.
            if room.members.isEmpty { opened(room, joined) }
            return room
        }
        guard let room = makeRoom(joined.room, joined.name, home: joined.home) else { return nil }
        opened(room, joined)
        return room
    }

    private func opened(_ room: LocalRoom, _ joined: Joined) {
        room.home = joined.home
        room.recentSpeakers = joined.recentSpeakers
        for entry in joined.streams where room.fanout.slot(of: entry.info.stream) == nil { addStream(room, entry) }
        tellGateway(.opened(room.number, room.name, from: Place(wrappedValue: index)))
    }

    func makeRoom(_ number: RoomNumber, _ name: RoomName, home: Int) -> LocalRoom? {
        let room = LocalRoom(number: number, name: name, home: home, limits: limits, budget: budget)
        guard let handle = rooms.insert(room) else { return nil }
        room.handle = handle
        beginHolding(room)
        roomHandles[number] = handle
        return room
    }

    /// Nobody here is in the room any more; it stays as long as this loop gets streams for others.
    func membersGone(_ room: LocalRoom) {
        tellGateway(.dropped(room.number, from: Place(wrappedValue: index)))
        if !room.isImporting { dropRoom(room) }
    }

    func dropRoom(_ room: LocalRoom) {
        for route in room.routes where route.isRequested { withdrawInterest(room, route) }
        forgetDeliveries(room)
        endHolding(room)
        counters.frames.add(room.fanout.totalAccount().account)
        room.fanout.releaseBudget()
        _ = rooms.remove(room.handle)
        roomHandles[room.number] = nil
    }

    func room(_ number: RoomNumber) -> LocalRoom? {
        roomHandles[number].flatMap { rooms[$0] }
    }

    func tell(_ number: RoomNumber, _ message: [UInt8], except: ParticipantID?) {
        guard let room = room(number) else { return }
        for (participant, handle) in room.members where participant != except {
            if let channel = channels[handle] { sendText(channel, message) }
        }
    }

    @discardableResult
    func addStream(_ room: LocalRoom, _ entry: StreamEntry) -> StreamSlot? {
        guard room.fanout.slot(of: entry.info.stream) == nil,
            let slot = room.fanout.addStream(
                id: entry.info.stream, publisher: entry.publisher, lane: entry.lane, layers: entry.info.layerDeclarations)
        else {
            return nil
        }
        let entry = importing(entry, room)
        room.setRoute(StreamRoute(entry: entry), of: slot)
        if entry.lane == .audio { room.speech.reset(slot) }
        room.rankedOrder = nil
        armLayerLook()
        return slot
    }

    private func streamAdded(_ number: RoomNumber, _ entry: StreamEntry, _ message: [UInt8]) {
        guard let room = room(number), let slot = addStream(room, entry) else { return }
        tell(number, message, except: entry.publisher)
        for (participant, handle) in room.members where participant != entry.publisher {
            guard let channel = channels[handle], let wishes = channel.membership?.standing.wishes(for: entry.info.source) else { continue }
            deliver(channel, [slot], wishes)
        }
        if room.deliveries != nil { addToMix(room, room.routes[slot.index].entry) }
    }

    private func streamEnded(_ number: RoomNumber, _ stream: UInt32, _ message: [UInt8], isForced: Bool) {
        guard let room = room(number) else { return }
        flushHeld(room)
        guard let slot = room.fanout.slot(of: stream) else { return }
        let publisher = room.routes[slot.index].entry.publisher
        let isRanked = room.isRanked(slot)
        // The loop that gets it for this one may have heard of the end before it was asked.
        if room.routes[slot.index].isRequested, room.routes[slot.index].entry.imported != nil { withdrawInterest(room, room.routes[slot.index]) }
        room.fanout.endStream(slot)
        room.rankedOrder = nil
        room.routes[slot.index].isRequested = false
        room.routes[slot.index].remote = []
        if room.deliveries != nil { endDeliveries(room, of: stream) }
        tell(number, message, except: isForced ? nil : publisher)
        for (participant, handle) in room.members where participant == publisher {
            guard let membership = channels[handle]?.membership,
                let place = membership.published.firstIndex(where: { $0.id == stream })
            else { continue }
            membership.end(at: place)
            if let channel = channels[handle] { noteTicket(channel) }
        }
        if isRanked { rankVideo(room) }
        if room.members.isEmpty, !room.isImporting { dropRoom(room) }
    }

    func published(_ token: UInt64, _ requestID: UInt64, _ number: RoomNumber, _ result: Result<UInt32, Refusal>) {
        guard let channel = channels[Handle(packed: token)] else { return }
        channel.pendingPublishes -= 1
        switch result {
        case .failure(let refusal):
            if refusal == .role || refusal == .notAllowed, let name = channel.membership?.room.name {
                audit("publish", channel, .refused(refusal.code), [("room", name.text)])
            }
            refuse(channel, requestID, refusal)
        case .success(let id):
            guard let membership = channel.membership, membership.room.number == number, let slot = membership.room.fanout.slot(of: id) else {
                refuse(channel, requestID, Refusal(RoomFault.notAMember))
                return
            }
            // Frames of ended streams may still be under way; a few of them are remembered.
            if membership.published.count >= 2 * limits.streamsPerParticipantMax { membership.published.removeAll { $0.hasEnded } }
            channel.hasPublished = true
            noteTicket(channel)
            membership.published.append(PublishedStream(id: id, slot: slot, lane: membership.room.fanout.streams[slot.index].lane))
            var answer = RelayMessage.Answer()
            answer.stream = id
            send(channel, .ok(id: requestID, answer))
            // The category may have changed while the request was under way.
            if let audio = channel.audio, !audio.mayPublish { applyRights(channel, audio) }
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
