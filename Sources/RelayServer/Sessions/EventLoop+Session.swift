import MediaProtocol
import Reactor
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

extension EventLoop {
    static let protocolVersion = 1
    private static let displayNameBytesMax = SignallingBounds.displayNameBytesMax
    private static let bytesPerRule = 2
    private static let sourceBytesMax = SignallingBounds.sourceBytesMax
    private static let streamsPerRequestMax = SignallingBounds.streamsPerRequestMax
    private static let sourcesPerRequestMax = SignallingBounds.sourcesPerRequestMax
    private static let standingSourcesMax = 64

    /// One text message of a session. Whatever it is, it gets exactly one answer; only what is not JSON at all closes.
    func request(_ channel: Channel, _ bytes: [UInt8]) {
        guard channel.requestBudget.take(byteCount: bytes.count, now: now) else {
            beginClose(channel, .policyViolation, reason: "more than controlMessagesPerSecondMax", counted: "control_rate")
            return
        }
        do throws(SignallingFault) {
            let incoming = try IncomingRequest(decoding: bytes)
            answer(channel, incoming.id, incoming.request, messageBytes: bytes.count)
        } catch {
            switch error {
            case .notJSON: beginClose(channel, .invalidFramePayloadData, reason: "a text message must be one JSON object", counted: "not_json")
            case .malformed(let id, let detail): refuse(channel, id, .malformed(detail))
            case .unknownType(let id, let type): refuse(channel, id, .unknownType(type))
            }
        }
    }

    /// Does what a request asks for, at once or when the request before it that it depends on is answered.
    func answer(_ channel: Channel, _ id: UInt64, _ request: ClientRequest, messageBytes: Int) {
        do throws(Refusal) {
            if waits(channel, request) {
                guard channel.waitingRequests.keep(id, request, messageBytes: messageBytes, bytesMax: limits.controlMessageBytesMax) else {
                    throw .pending
                }
            } else {
                try perform(channel, id, request)
            }
        } catch {
            refuse(channel, id, error)
        }
    }

    func refuse(_ channel: Channel, _ id: UInt64?, _ refusal: Refusal) {
        counters.requestErrors[refusal.code, default: 0] &+= 1
        send(channel, .error(id: id, refusal))
    }

    private func perform(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        if case .hello(let hello) = request {
            try self.hello(channel, id, hello)
            return
        }
        guard channel.sessionID != "" else { throw .helloFirst }
        switch request {
        case .hello: break
        case .time(let time): try exchangeTime(channel, id, time)
        case .report(let report): try self.report(channel, id, report)
        case .join(let join): try self.join(channel, id, join)
        case .leave:
            guard channel.isInRoomOrLobby else { throw Refusal(RoomFault.notAMember) }
            leaveRoom(channel, reason: .left)
            send(channel, .ok(id: id, .init()))
        case .publish(let publish): try self.publish(channel, id, publish)
        case .unpublish(let reference):
            let membership = try self.membership(channel)
            guard membership.published.contains(where: { $0.id == reference.stream && !$0.hasEnded }) else { throw Refusal(RoomFault.unknownStream) }
            post(
                .unpublish(membership.room.number, membership.participant, requester: address(of: channel), requestID: id, stream: reference.stream),
                to: membership.home)
        case .subscribe(let subscribe): try self.subscribe(channel, id, subscribe)
        case .unsubscribe(let unsubscribe): try self.unsubscribe(channel, id, unsubscribe)
        case .requestKeyFrame(let reference): try requestKeyFrame(channel, id, reference.stream)
        case .authenticate(let request): try authenticate(channel, id, request)
        case .mute, .remove, .promote, .lock, .end, .admit, .deny: try moderation(channel, id, request)
        case .pairRequest, .pairAccept, .pairDecline, .pairCancel, .pairCode, .pairEnter, .pairList, .pairRevoke, .pairDevices:
            try pairing(channel, id, request)
        case .sessionInit, .setCategory, .setActive, .interruptionBegan, .interruptionEnded, .routeChanged, .playbackPause, .playbackContinue:
            try audioSession(channel, id, request)
        case .streamStart, .streamPrime, .streamPause, .streamStop, .streamFlush, .streamReset, .setParameters:
            try playback(channel, id, request)
        }
    }

    /// What another loop has for one of this loop's sessions.
    func tell(_ token: UInt64, _ news: SessionNews) {
        guard let channel = channels[Handle(packed: token)] else { return }
        switch news {
        case .answer(let id, .success(let answer)): send(channel, .ok(id: id, answer))
        case .answer(let id, .failure(let refusal)): refuse(channel, id, refusal)
        case .event(let message): sendText(channel, message)
        case .audioSession(let news): perform(news, channel)
        case .close(let code, let reason): beginClose(channel, code, reason: reason, counted: reason)
        }
    }

    func membership(_ channel: Channel) throws(Refusal) -> Membership {
        guard let membership = channel.membership else { throw Refusal(RoomFault.notAMember) }
        return membership
    }

    func address(of channel: Channel) -> MemberAddress {
        MemberAddress(loop: index, token: channel.handle.packed)
    }

    // MARK: Rooms

    private func join(_ channel: Channel, _ id: UInt64, _ join: ClientRequest.Join) throws(Refusal) {
        switch channel.state {
        case .ready: break
        case .joining: throw .pending
        case .awaitingHello: throw .helloFirst
        case .inRoom, .waiting: throw .alreadyInRoom
        }
        guard let name = RoomName(join.room, bytesMax: limits.roomNameBytesMax) else {
            throw .badRoomName(bytesMax: limits.roomNameBytesMax)
        }
        if let displayName = join.displayName, displayName.utf8.count > EventLoop.displayNameBytesMax { throw .badValue("displayName") }
        guard !shared.readiness.isDraining else { throw .draining }
        // Every rule may have to be looked at: with a long policy a join costs as much as so long a message.
        guard channel.requestBudget.take(byteCount: policy.access.count * EventLoop.bytesPerRule, now: now) else {
            beginClose(channel, .policyViolation, reason: "more than controlMessagesPerSecondMax", counted: "control_rate")
            return
        }
        do throws(Refusal) {
            if name.isPair {
                try joinPair(channel, id, join, name)
            } else {
                let admission = try admission(channel, to: name, asking: join.role)
                postJoin(beginJoin(channel, id, name, admission, displayName: join.displayName))
            }
        } catch {
            auditRefusedJoin(channel, name, error)
            throw error
        }
    }

    /// What the policy says to a client that wants to join a room that is no pair's.
    private func admission(_ channel: Channel, to name: RoomName, asking role: Role?) throws(Refusal) -> RoomAdmission {
        guard let principal = channel.principal else { throw .unauthenticated }
        do {
            return try policy.admission(of: principal, to: name, asking: role)
        } catch {
            throw Refusal(error)
        }
    }

    /// Begins a join that has been decided: the request is for the room's home, which answers it.
    func beginJoin(_ channel: Channel, _ id: UInt64, _ name: RoomName, _ admission: RoomAdmission, displayName: String?) -> JoinRequest {
        channel.state = .joining(Joining(name: name, admission: admission, policyGeneration: policyGeneration, displayName: displayName))
        let profile = MemberProfile(
            identity: channel.identity, displayName: displayName, presentation: channel.audio?.presentation ?? MemberPresentation())
        return JoinRequest(name: name, profile: profile, admission: admission, address: address(of: channel), requestID: id)
    }

    func auditRefusedJoin(_ channel: Channel, _ name: RoomName, _ refusal: Refusal) {
        audit("join", channel, .refused(refusal.code), [("room", name.text)])
    }

    func audit(_ act: String, _ channel: Channel, _ outcome: Audit.Outcome, _ details: [(String, String)]) {
        shared.audit.record(act, by: channel.principal?.name ?? "", from: "\(channel.clientAddress)", outcome, details)
    }

    /// Takes a session out of its room or its lobby, whatever the cause, and says so to the home.
    func leaveRoom(_ channel: Channel, reason: RelayMessage.LeaveReason) {
        switch channel.state {
        case .inRoom(let membership):
            if channel.goesOnElsewhere {
                noteMoving(membership)
            } else {
                post(.leave(membership.room.number, membership.participant, reason: reason), to: membership.home)
            }
        case .waiting(let place, _): post(.leave(place.room, place.participant, reason: reason), to: place.home)
        case .awaitingHello, .ready, .joining: return
        }
        takeOut(channel)
    }

    /// Takes a session out of this loop's share of its room; what was begun for it is finished.
    func takeOut(_ channel: Channel) {
        let membership = channel.membership
        if channel.isInRoomOrLobby { channel.state = .ready }
        noteTicket(channel)
        defer { if membership != nil, channel.purpose == .listener { endListening(channel) } }
        guard let membership else { return }
        let room = membership.room
        if !channel.isGone { forgetPlaybacks(channel, membership) }
        if membership.mix != nil, let deliveries = room.deliveries {
            post(.audioWork(.unmixOutput(room.number, membership.participant)), to: deliveries.worker)
        }
        // Who leaves and joins again finds the same bit rate as if it had stayed.
        channel.spentBitRate = membership.bitRate ?? channel.spentBitRate
        // A message that was begun is finished first: the WebSocket lives on.
        if !channel.isGone { finishBegun(channel, membership) }
        room.members.removeAll { $0.participant == membership.participant }
        if let account = room.fanout.removeSubscriber(membership.subscriber) { channel.liveness.departed.add(account) }
        if !room.openGaps.isEmpty { room.openGaps.removeAll { $0.channel == channel.handle } }
        counters.participants -= 1
        releaseInterest(room)
        if room.members.isEmpty { membersGone(room) }
    }

    // MARK: Streams

    private func publish(_ channel: Channel, _ id: UInt64, _ publish: ClientRequest.Publish) throws(Refusal) {
        let membership = try membership(channel)
        try requirePublishing(channel)
        guard let codec = publish.kind == .data ? true : EventLoop.isKnown(publish.codec, kind: publish.kind) else {
            throw .unknownCodec(publish.codec)
        }
        guard codec else { throw .badValue("codec") }
        if let source = publish.source, source.utf8.count > EventLoop.sourceBytesMax { throw .badValue("source") }
        if publish.codec.utf8.count > MediaCodec.codecStringBytesMax { throw .badValue("codec") }
        if let member = publish.description?.memberOutOfRange { throw .badValue("description.\(member)") }
        if let member = publish.layersFault { throw .badValue(member) }
        guard channel.pendingPublishes < limits.streamsPerParticipantMax else { throw .pending }
        channel.pendingPublishes += 1
        post(
            .publish(
                PublishRequest(
                    room: membership.room.number, participant: membership.participant, address: address(of: channel), requestID: id,
                    lane: Lane(publish.kind), body: publish)),
            to: membership.home)
    }

    /// `nil`: not a codec; false: a codec of the other kind.
    private static func isKnown(_ codec: String, kind: StreamKind) -> Bool? {
        guard let known = MediaCodec(codecString: codec) else { return nil }
        return switch known {
        case .audio: kind == .audio
        case .video: kind == .video
        }
    }

    /// - Parameter id: `nil`: the request was answered by another node.
    func subscribe(_ channel: Channel, _ id: UInt64?, _ request: ClientRequest.Subscribe) throws(Refusal) {
        let membership = try membership(channel)
        try requireSubscribing(channel)
        if let member = request.wishOutOfRange ?? request.memberOfOtherDelivery { throw .badValue(member) }
        let wishes = SubscriptionWishes(request)
        var slots = try slots(membership, request)
        guard wishes.delivery == .live || membership.deliveryChanges.take(byteCount: 0, now: now) else { throw .pending }
        if case .paced(let wish) = wishes.delivery { try checkVariants(channel, membership, slots, wish) }
        // Nothing can be refused any more.
        if request.all == true {
            membership.standing.all = wishes
            membership.forwarded = nil
        }
        if let sources = request.sources { membership.standing.want(sources, wishes) }
        let channels = request.channels ?? 1
        if wishes.delivery == .mixed { slots.removeAll { membership.room.fanout.streams[$0.index].lane == .audio } }
        var answer = RelayMessage.Answer()
        answer.subscribed = slots.map { membership.room.fanout.streams[$0.index].id }
        if wishes.delivery == .mixed { answer.mix = MixMembership.info(channels: channels) }
        // The answer goes first: media of a stream follows the news of it.
        if let id { send(channel, .ok(id: id, answer)) }
        note(.subscribe(request), of: channel, membership)
        if wishes.delivery == .mixed {
            enterMix(channel, membership, channels: channels)
        } else if request.all == true {
            leaveMix(membership)
        }
        deliver(channel, slots, wishes)
    }

    /// The streams that a request names, now.
    private func slots(_ membership: Membership, _ request: ClientRequest.Subscribe) throws(Refusal) -> [StreamSlot] {
        let room = membership.room
        let foreign = room.foreignSlots(to: membership.participant)
        if request.all == true { return foreign }
        var slots: [StreamSlot] = []
        if let sources = request.sources {
            guard !sources.isEmpty, sources.count <= EventLoop.sourcesPerRequestMax,
                sources.allSatisfy({ $0.utf8.count <= EventLoop.sourceBytesMax }),
                membership.standing.sources.count + sources.count <= EventLoop.standingSourcesMax
            else { throw .badValue("sources") }
            slots = foreign.filter { slot in room.routes[slot.index].entry.info.source.map(sources.contains) ?? false }
            guard request.streams != nil else { return slots }
        }
        guard let streams = request.streams, !streams.isEmpty, streams.count <= EventLoop.streamsPerRequestMax else { throw .badValue("streams") }
        for stream in Set(streams).sorted() {
            guard let slot = room.fanout.slot(of: stream), room.routes[slot.index].entry.publisher != membership.participant else {
                throw Refusal(RoomFault.unknownStream)
            }
            if !slots.contains(slot) { slots.append(slot) }
        }
        return slots
    }

    func unsubscribe(_ channel: Channel, _ id: UInt64?, _ request: ClientRequest.Unsubscribe) throws(Refusal) {
        let membership = try membership(channel)
        let room = membership.room
        var slots: [StreamSlot] = []
        if request.all == true {
            membership.standing = StandingWishes()
            slots = room.fanout.subscribed(Int(membership.subscriber.index))
            leaveMix(membership)
        } else {
            guard let streams = request.streams, !streams.isEmpty, streams.count <= EventLoop.streamsPerRequestMax else { throw .badValue("streams") }
            for stream in Set(streams).sorted() {
                guard let slot = room.fanout.slot(of: stream, for: Int(membership.subscriber.index)) ?? room.fanout.slot(of: stream) else {
                    throw Refusal(RoomFault.unknownStream)
                }
                slots.append(slot)
                if stream == MixMembership.stream { leaveMix(membership) }
            }
        }
        forgetPlaybacks(channel, membership) { slots.contains($0.slot) }
        for slot in slots { room.fanout.unsubscribe(Int(membership.subscriber.index), slot) }
        membership.paced.removeAll { slots.contains($0.slot) }
        releaseInterest(room)
        for slot in slots {
            tellDemand(room, slot)
            tellFormat(room, slot)
        }
        var answer = RelayMessage.Answer()
        answer.subscribed = room.fanout.subscribed(Int(membership.subscriber.index)).map { room.fanout.streams[$0.index].id }
        if let id { send(channel, .ok(id: id, answer)) }
        note(.unsubscribe(request), of: channel, membership)
        rankVideo(room, for: channel)
    }

    private func requestKeyFrame(_ channel: Channel, _ id: UInt64, _ stream: UInt32) throws(Refusal) {
        let membership = try membership(channel)
        guard let slot = membership.room.fanout.slot(of: stream),
            membership.room.fanout.subscribed(Int(membership.subscriber.index)).contains(slot)
        else { throw Refusal(RoomFault.unknownStream) }
        guard membership.room.fanout.streams[slot.index].lane == .video else { throw .badValue("stream") }
        let subscriber = Int(membership.subscriber.index)
        let layer = membership.room.fanout.layers(subscriber, slot).current
        membership.room.fanout.wantKeyFrame(slot, spatial: layer.isNone ? nil : layer.spatial)
        markDirty(membership.room)
        send(channel, .ok(id: id, .init()))
    }
}

extension Lane {
    init(_ kind: StreamKind) {
        switch kind {
        case .audio: self = .audio
        case .video: self = .video
        case .data: self = .data
        }
    }
}

extension LocalRoom {
    /// The slots of the streams that have not ended and are not the participant's own.
    func foreignSlots(to participant: ParticipantID) -> [StreamSlot] {
        fanout.openSlots.filter { routes[$0.index].entry.publisher != participant }
    }
}
