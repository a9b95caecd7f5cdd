import AudioSession
import JitterBuffer
import Reactor
import RelayBase
import RelayRooms
import Signalling

/// Paced delivery: a stream's frames come from the worker that holds its buffers, in slots of their own. See record 35.
extension EventLoop {
    /// Gives streams to a member in the delivery that it wishes.
    func deliver(_ channel: Channel, _ slots: [StreamSlot], _ wishes: SubscriptionWishes) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        let audio = wishes.delivery == .live && room.deliveries == nil ? [] : slots.filter { room.fanout.streams[$0.index].lane == .audio }
        switch wishes.delivery {
        case .live:
            for slot in audio { letGo(membership, room.fanout.streams[slot.index].id, unless: slot) }
            subscribe(channel, slots, wishes.layers, lastN: wishes.lastN)
        case .paced(let wish):
            subscribe(channel, slots.filter { !audio.contains($0) }, wishes.layers, lastN: wishes.lastN)
            pace(channel, membership, audio, wish, wishes.layers)
        case .mixed:
            subscribe(channel, slots.filter { !audio.contains($0) }, wishes.layers, lastN: wishes.lastN)
        }
        if !audio.isEmpty { releaseInterest(room) }
    }

    /// Whether a request would need more buffers of a stream than a loop may have.
    func checkVariants(_ channel: Channel, _ membership: Membership, _ slots: [StreamSlot], _ wish: PacedWish) throws(Refusal) {
        guard let deliveries = membership.room.deliveries else { return }
        let variant = wish.variant(for: channel.audio)
        for slot in slots where membership.room.fanout.streams[slot.index].lane == .audio {
            let id = membership.room.fanout.streams[slot.index].id
            let all = deliveries.paced.filter { $0.entry.info.stream == id && !$0.hasEnded }
            guard all.count < limits.pacedVariantsMax || all.contains(where: { $0.variant == variant }) else { throw .deliveriesMax }
        }
    }

    private func pace(_ channel: Channel, _ membership: Membership, _ sources: [StreamSlot], _ wish: PacedWish, _ layers: LayerWishes) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let variant = wish.variant(for: channel.audio)
        for source in sources {
            let id = room.fanout.streams[source.index].id
            guard let slot = pacedSlot(room, source, variant) else {
                subscribe(channel, [source], layers)
                continue
            }
            letGo(membership, id, unless: slot)
            membership.paced.removeAll { $0.stream == id }
            membership.paced.append(PacedSubscription(stream: id, wish: wish, slot: slot))
            if !room.fanout.isSubscribed(subscriber, slot) { room.fanout.subscribe(subscriber, slot, now: now) }
            room.fanout.setLayerWishes(subscriber, slot, layers)
            followDelivery(room, slot)
            if let reason = room.deliveries?.paced.first(where: { $0.slot == slot })?.reason {
                send(channel, .streamUnmixed(.init(stream: id, reason: reason)))
            }
        }
        markDirty(room)
    }

    /// Lets a member go of a stream in whatever delivery it has it, unless that is the slot.
    func letGo(_ membership: Membership, _ id: UInt32, unless slot: StreamSlot?) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        guard let current = room.fanout.slot(of: id, for: subscriber), current != slot else { return }
        membership.playbacks.removeAll { $0.slot == current }
        room.fanout.unsubscribe(subscriber, current)
        membership.paced.removeAll { $0.slot == current }
        followDelivery(room, current)
        if !room.fanout.streams[current.index].isDerived { tellFormat(room, current) }
    }

    /// The slot of a variant, made when there is none. With as many as there may be, streams to come go in one that has the same policy; without one, `nil`.
    private func pacedSlot(_ room: LocalRoom, _ source: StreamSlot, _ variant: PacedVariant) -> StreamSlot? {
        let deliveries = deliveries(of: room)
        let entry = forWorker(room.routes[source.index].entry, room)
        let all = deliveries.paced.filter { $0.entry.info.stream == entry.info.stream && !$0.hasEnded }
        if let known = all.first(where: { $0.variant == variant }) { return known.slot }
        guard all.count < limits.pacedVariantsMax else { return all.first { $0.variant.conceals == variant.conceals }?.slot }
        guard let slot = addDerived(room, entry.info, publisher: entry.publisher) else { return nil }
        deliveries.paced.append(PacedSlot(entry: entry, variant: variant, slot: slot))
        return slot
    }

    func deliveries(of room: LocalRoom) -> RoomDeliveries {
        if let deliveries = room.deliveries { return deliveries }
        let deliveries = RoomDeliveries(worker: shared.audioWorker(of: room.number))
        room.deliveries = deliveries
        return deliveries
    }

    func addDerived(_ room: LocalRoom, _ info: RelayMessage.StreamInfo, publisher: ParticipantID) -> StreamSlot? {
        guard let slot = room.fanout.addStream(id: info.stream, publisher: publisher, lane: .audio, isDerived: true) else { return nil }
        // Nothing of it is any publisher's: what is asked of it goes to the worker.
        let address = MemberAddress(loop: deliveries(of: room).worker, token: 0)
        room.setRoute(StreamRoute(entry: StreamEntry(info: info, lane: .audio, publisher: publisher, address: address)), of: slot)
        return slot
    }

    /// In the way of an answer to `publish`: it has passed the room's worker for sound.
    static let askedWorker = -1

    /// Passes an answer to `publish` on to the publisher's loop: behind what this loop asks of the room's worker for it, where there is such, so that the worker has asked for the
    /// stream before the publisher hears that it may send.
    func passOn(_ address: MemberAddress, _ requestID: UInt64, _ number: RoomNumber, _ result: Result<UInt32, Refusal>, via: [Int]) {
        let isAsked = via == [EventLoop.askedWorker]
        var via = isAsked ? [] : via
        if !isAsked, case .success = result, let worker = room(number)?.deliveries?.worker, !via.contains(worker) { via.append(worker) }
        guard address.loop == index, via.isEmpty else {
            published(address, requestID, number, result, via: via)
            return
        }
        published(address.token, requestID, number, result)
    }

    // MARK: What is wanted

    /// What is wanted in a slot that the relay makes may have changed: the worker hears of it.
    func followDelivery(_ room: LocalRoom, _ slot: StreamSlot) {
        guard let deliveries = room.deliveries, room.fanout.isOpen(slot), room.fanout.streams[slot.index].isDerived else { return }
        guard let place = deliveries.place(of: slot) else {
            followMix(room)
            return
        }
        let paced = deliveries.paced[place]
        let isActive = room.fanout.wantedLayers(slot)[0] != nil
        let audio = room.fanout.wantedAudio(slot)
        if let told = paced.told, told.isActive == isActive, told.audio == audio { return }
        deliveries.paced[place].told = (isActive, audio)
        let interest = RemoteInterest(loop: index, room: room.handle, slot: slot)
        let order = PaceOrder(
            room: room.number, entry: paced.entry, variant: paced.variant, interest: interest, isActive: isActive, audio: audio)
        post(.audioWork(.pace(order)), to: deliveries.worker)
    }

    /// Lets go of slots that nobody gets any more.
    func releaseDeliveries(_ room: LocalRoom) {
        guard let deliveries = room.deliveries else { return }
        deliveries.paced.removeAll { paced in
            guard room.fanout.streams[paced.slot.index].subscribers == 0 else { return false }
            room.fanout.endStream(paced.slot)
            let interest = RemoteInterest(loop: index, room: room.handle, slot: paced.slot)
            post(.audioWork(.unpace(room.number, stream: paced.entry.info.stream, interest)), to: deliveries.worker)
            return true
        }
        releaseMix(room)
        if deliveries.isEmpty { room.deliveries = nil }
    }

    /// The room goes from this loop.
    func forgetDeliveries(_ room: LocalRoom) {
        guard let deliveries = room.deliveries else { return }
        room.deliveries = nil
        post(.audioWork(.forget(room.number, loop: index)), to: deliveries.worker)
    }

    /// A stream has ended: what its buffers hold still comes.
    func endDeliveries(_ room: LocalRoom, of stream: UInt32) {
        guard let deliveries = room.deliveries else { return }
        for place in deliveries.paced.indices where deliveries.paced[place].entry.info.stream == stream { deliveries.paced[place].hasEnded = true }
        forgetMixed(room, stream)
        post(.audioWork(.ended(room.number, stream: stream)), to: deliveries.worker)
    }

    /// Looked at with the layers: less is told of when it has lasted a moment.
    func lookAtDeliveries(_ room: LocalRoom) {
        guard let deliveries = room.deliveries else { return }
        for paced in deliveries.paced { followDelivery(room, paced.slot) }
        followMix(room)
    }

    /// A client's audio session is for something else than before.
    func followMode(_ channel: Channel) {
        guard let membership = channel.membership else { return }
        tellMeasurement(membership)
        guard membership.room.deliveries != nil else { return }
        followMix(channel, membership)
        followListener(channel)
    }

    /// What suits a listener has changed: how careful its buffers are to be, as far as it has not said so, or how late its output is. Where it needs others it gets them.
    func followListener(_ channel: Channel) {
        guard let membership = channel.membership, membership.room.deliveries != nil else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        for paced in membership.paced where room.fanout.isSubscribed(subscriber, paced.slot) {
            guard let source = room.fanout.slot(of: paced.stream), let known = room.deliveries?.paced.first(where: { $0.slot == paced.slot }),
                known.variant != paced.wish.variant(for: channel.audio)
            else { continue }
            pace(channel, membership, [source], paced.wish, room.fanout.layerWishes(subscriber, paced.slot))
        }
        releaseInterest(room)
    }

    /// Nothing that has waited is of use to the client's output: what it gets from the relay's buffers goes on at the live edge.
    func startDeliveriesAfresh(_ channel: Channel) {
        guard let membership = channel.membership, membership.room.deliveries != nil else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slots = room.fanout.subscribed(subscriber).filter { room.fanout.streams[$0.index].isDerived }
        for slot in slots { room.fanout.startAfresh(subscriber, slot, now: now) }
        followHold(room, slots)
    }

    /// The room's worker hears, with its first interest in a stream, whether the publisher measures.
    func tellMeasurement(_ room: LocalRoom, _ slot: StreamSlot, to loop: Int) {
        let entry = room.routes[slot.index].entry
        guard isWorker(loop), entry.address.loop == index, let channel = channels[Handle(packed: entry.address.token)] else { return }
        let isMeasurement = channel.audio?.snapshot?.mode == .measurement
        post(.audioWork(.measure(room.number, stream: entry.info.stream, isMeasurement)), to: loop)
    }

    /// The same when its mode changes.
    private func tellMeasurement(_ membership: Membership) {
        let room = membership.room
        for stream in membership.published where stream.lane == .audio && !stream.hasEnded && room.fanout.isOpen(stream.slot) {
            for route in room.routes[stream.slot.index].remote { tellMeasurement(room, stream.slot, to: route.interest.loop) }
        }
    }

    // MARK: From the worker

    func audioNews(_ news: AudioNews) {
        switch news {
        case .unmixed(let number, let stream, let reason, let participant): unmixed(number, stream, reason, participant)
        case .undecodable(let number, let stream, let slot, let reason): undecodable(number, stream, slot, reason)
        case .ready(let number, let stream, let slot, let frames, let milliseconds):
            guard let room = room(number) else { return }
            for (_, handle) in room.members {
                guard let channel = channels[handle], let membership = channel.membership,
                    let place = membership.playbacks.firstIndex(where: { $0.slot == slot && $0.id == stream })
                else { continue }
                membership.playbacks[place].buffered = (frames, milliseconds)
            }
        case .paceEnded(let number, let stream, let slot):
            guard let room = room(number), let deliveries = room.deliveries,
                let place = deliveries.paced.firstIndex(where: { $0.slot == slot && $0.entry.info.stream == stream && $0.hasEnded })
            else { return }
            deliveries.paced.remove(at: place)
            room.fanout.endStream(slot)
            for (_, handle) in room.members { channels[handle]?.membership?.paced.removeAll { $0.slot == slot } }
            if deliveries.isEmpty { room.deliveries = nil }
        }
    }

    private func undecodable(_ number: RoomNumber, _ stream: UInt32, _ slot: StreamSlot, _ reason: RelayMessage.UnmixedReason) {
        guard let room = room(number), let deliveries = room.deliveries,
            let place = deliveries.paced.firstIndex(where: { $0.slot == slot && $0.entry.info.stream == stream && $0.reason == nil })
        else { return }
        deliveries.paced[place].reason = reason
        for (_, handle) in room.members {
            guard let channel = channels[handle], let membership = channel.membership,
                room.fanout.isSubscribed(Int(membership.subscriber.index), slot)
            else { continue }
            send(channel, .streamUnmixed(.init(stream: stream, reason: reason)))
        }
    }

    /// What buffers of the relay's hold of a publisher's sound is of no use any more.
    func resetBuffers(_ membership: Membership) {
        let room = membership.room
        for stream in membership.published where stream.lane == .audio && !stream.hasEnded && room.fanout.isOpen(stream.slot) {
            for route in room.routes[stream.slot.index].remote where isWorker(route.interest.loop) {
                post(.audioWork(.reset(room.number, stream: stream.id)), to: route.interest.loop)
            }
        }
    }
}
