import RelayBase
import RelayRooms

/// What each subscriber gets of streams with layers, and what publishers hear of it: after `EventLoop+Layers`.
extension RelayLoop {
    static let layerLookMilliseconds: UInt64 = 100
    private static let looksPerLadder = 5

    func lookAtLayers() {
        layerLooks = (layerLooks + 1) % RelayLoop.looksPerLadder
        for handle in rooms.handles {
            guard let room = rooms[handle], room.fanout.streams.count > 0 else { continue }
            if room.fanout.hasVideo { surveyLayers(room) }
            let hasLayers = room.fanout.hasLayers
            for member in room.members {
                guard let session = session(member.session), let membership = session.membership else { continue }
                let view = bandwidth(of: session)
                let isTight = view.isLimited || view.isCongested
                guard room.fanout.hasVideo, hasLayers || isTight || membership.chooser.isHolding else { continue }
                chooseLayers(membership, view)
            }
            guard room.fanout.hasVideo else { continue }
            for slot in room.fanout.openSlots {
                if room.routes[slot.index].isRequested { requestInterest(room, slot) }
                tellDemand(room, slot)
            }
        }
    }

    private func bandwidth(of session: RelaySession) -> BandwidthView {
        guard !session.isParked else { return BandwidthView() }
        let estimate = session.flow.estimate
        return BandwidthView(bitsPerSecond: estimate.bitsPerSecond, isLimited: estimate.isLimited, isCongested: estimate.state == .congested)
    }

    // MARK: Publishers' streams

    private func wantedLayers(_ room: SimulatedRoom, _ slot: StreamSlot) -> LayerSet {
        room.routes[slot.index].remote.wanted(with: room.fanout.wantedLayers(slot))
    }

    private func surveyLayers(_ room: SimulatedRoom) {
        for slot in room.fanout.openSlots where room.fanout.streams[slot.index].lane == .video {
            guard room.routes[slot.index].entry.address.loop == index else { continue }
            room.fanout.surveyLayers(slot, wanted: wantedLayers(room, slot), now: now)
            guard layerLooks == 0 else { continue }
            for remote in room.routes[slot.index].remote { sendLadder(room, slot, to: remote.interest.loop) }
        }
    }

    func tellDemand(_ room: SimulatedRoom, _ slot: StreamSlot) {
        guard room.fanout.isOpen(slot), room.fanout.streams[slot.index].lane == .video else { return }
        let entry = room.routes[slot.index].entry
        guard entry.address.loop == index, let session = session(entry.address.token) else { return }
        let all = room.fanout.allLayers(slot)
        guard let wanted = room.routes[slot.index].demand.look(wantedLayers(room, slot), all: all, now: now) else { return }
        let layers = room.fanout.layers(wanted, of: slot).flatMap { [UInt32($0.spatial), UInt32($0.temporal)] }
        send(session, .layersWanted, [entry.stream] + layers)
    }

    // MARK: Subscribers

    private func chooseLayers(_ membership: SessionMembership, _ view: BandwidthView) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let streams = room.fanout.videoStreams(subscriber) { room.routes[$0.index].entry.priority }
        guard !streams.isEmpty else { return }
        let choices = membership.chooser.look(streams, view, reservedBitsPerSecond: room.fanout.reservedBitsPerSecond(subscriber), now: now)
        for (stream, choice) in zip(streams, choices) where room.fanout.layers(subscriber, stream.slot).target != choice {
            world.note(
                "chooses", subscriber, Int(room.fanout.streams[stream.slot.index].id), choice.isNone ? -1 : choice.spatial * 10 + choice.temporal)
            let wasPaused = room.fanout.layers(subscriber, stream.slot).current.isNone
            room.fanout.setLayerTarget(subscriber, stream.slot, choice, now: now)
            if wasPaused, !room.fanout.layers(subscriber, stream.slot).current.isNone {
                // It begins with what is cached.
                membership.noteHistory(room.fanout.streams[stream.slot.index].id, room.routes[stream.slot.index].arrivals)
            }
            requestInterest(room, stream.slot)
            tellDemand(room, stream.slot)
            markDirty(room)
        }
    }

    func subscribe(_ membership: SessionMembership, _ slots: [StreamSlot]) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let new = slots.filter { !room.fanout.isSubscribed(subscriber, $0) }
        if new.contains(where: { room.fanout.streams[$0.index].lane == .video }) { surveyLayers(room) }
        for slot in new { membership.noteHistory(room.fanout.streams[slot.index].id, room.routes[slot.index].arrivals) }
        if !slots.isEmpty, let session = session(room.fanout.subscribers[subscriber].token) {
            room.fanout.subscribe(
                subscriber, to: new, LayerWishes(), choosing: &membership.chooser, bandwidth(of: session), now: now
            ) { room.routes[$0.index].entry.priority }
        }
        for slot in slots {
            requestInterest(room, slot)
            tellDemand(room, slot)
        }
        markDirty(room)
    }
}
