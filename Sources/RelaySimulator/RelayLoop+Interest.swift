import MediaProtocol
import RelayBase
import RelayRooms

/// Which streams of other loops this one gets, and which layers of them: after `EventLoop+Interest`.
extension RelayLoop {
    func requestInterest(_ room: SimulatedRoom, _ slot: StreamSlot) {
        let route = room.routes[slot.index]
        guard route.entry.address.loop != index else { return }
        let layers = room.fanout.wantedLayers(slot)
        guard !route.isRequested || layers != route.requestedLayers else { return }
        room.routes[slot.index].isRequested = true
        room.routes[slot.index].requestedLayers = layers
        let interest = RemoteInterest(loop: index, room: room.handle, slot: slot)
        post(.interest(room.number, stream: route.entry.stream, interest, layers: layers, isWanted: true), to: route.entry.address.loop)
        for spatial in 0..<LayerChoice.layersMax where route.requestedLayers[spatial] != nil && layers[spatial] == nil {
            room.fanout.forgetPictures(slot, spatial: spatial)
        }
    }

    func releaseInterest(_ room: SimulatedRoom) {
        for slot in room.fanout.openSlots where room.routes[slot.index].isRequested {
            guard room.fanout.streams[slot.index].subscribers == 0 else {
                requestInterest(room, slot)
                continue
            }
            room.routes[slot.index].isRequested = false
            withdrawInterest(room, room.routes[slot.index])
            room.fanout.forgetCache(slot)
        }
    }

    func withdrawInterest(_ room: SimulatedRoom, _ route: StreamRoute) {
        let interest = RemoteInterest(loop: index, room: room.handle, slot: StreamSlot(0))
        post(.interest(room.number, stream: route.entry.stream, interest, layers: LayerSet(), isWanted: false), to: route.entry.address.loop)
    }

    func setInterest(_ number: RoomNumber, _ stream: UInt32, _ interest: RemoteInterest, _ layers: LayerSet, _ isWanted: Bool) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        defer { tellDemand(room, slot) }
        guard let (place, isNew) = room.routes[slot.index].remote.note(interest, isWanted: isWanted) else { return }
        if isNew {
            sendLadder(room, slot, to: interest.loop)
            if layers[0] == nil { sendCached(room, slot, room.fanout.cachedConfiguration(slot, 0), remote: place) }
        }
        for spatial in room.routes[slot.index].remote[place].adopt(layers) {
            let choice = LayerChoice(spatial: spatial, temporal: layers[spatial] ?? 0)
            let isConfigured = !isNew && spatial == 0 && !room.routes[slot.index].remote[place].owesConfiguration.contains(0)
            let hasKey = sendCached(room, slot, room.fanout.cachedFrames(slot, choice, configured: isConfigured, now: now), remote: place)
            guard !hasKey, room.fanout.streams[slot.index].lane == .video else { continue }
            room.fanout.wantKeyFrame(slot, spatial: spatial)
            markDirty(room)
        }
    }

    @discardableResult
    private func sendCached(_ room: SimulatedRoom, _ slot: StreamSlot, _ frames: [[UInt8]], remote place: Int) -> Bool {
        var hasKey = false
        for frame in frames {
            guard let header = try? unsafe frame.withUnsafeBytes({ unsafe try MediaHeader(parsing: $0) }) else { continue }
            hasKey = hasKey || header.flags.contains(.key)
            let traits = FrameTraits(header, lane: room.fanout.streams[slot.index].lane)
            copy(frame, traits.union(.replayed), room, slot, remote: place)
        }
        return hasKey
    }

    func wantKeyFrame(_ number: RoomNumber, _ stream: UInt32, _ spatial: Int) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.wantKeyFrame(slot, spatial: spatial, isRepeated: true)
        markDirty(room)
    }

    func sendLadder(_ room: SimulatedRoom, _ slot: StreamSlot, to loop: Int) {
        guard room.fanout.streams[slot.index].isLayered else { return }
        post(.ladder(room.number, stream: room.routes[slot.index].entry.stream, room.fanout.streams[slot.index].ladder), to: loop)
    }

    func setLadder(_ number: RoomNumber, _ stream: UInt32, _ ladder: [LayerOption]) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.setLadder(slot, ladder)
    }
}
