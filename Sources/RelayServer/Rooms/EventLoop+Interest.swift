import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

/// Which streams of other loops this one gets, and which layers of them.
extension EventLoop {
    /// Asks the publisher's loop for a stream that somebody here wants, or for other layers of it than before.
    func requestInterest(_ room: LocalRoom, _ slot: StreamSlot) {
        if room.fanout.streams[slot.index].isDerived {
            followDelivery(room, slot)
            return
        }
        let route = room.routes[slot.index]
        guard route.entry.address.loop != index else { return }
        let layers = room.routes[slot.index].remote.wanted(with: room.fanout.wantedLayers(slot))
        let audio = room.routes[slot.index].remote.wantedAudio(with: room.fanout.wantedAudio(slot))
        guard !route.isRequested || layers != route.requestedLayers || audio != route.requestedAudio else { return }
        room.routes[slot.index].isRequested = true
        room.routes[slot.index].requestedLayers = layers
        room.routes[slot.index].requestedAudio = audio
        let interest = RemoteInterest(loop: index, room: room.handle, slot: slot)
        post(
            .interest(
                room.number, stream: route.entry.info.stream, interest, layers: layers, audio: audio, isWanted: true,
                imported: route.entry.imported == nil ? nil : route.entry),
            to: route.entry.address.loop)
        // What is cached of a layer that no longer comes goes stale unseen.
        for spatial in 0..<LayerChoice.layersMax where route.requestedLayers[spatial] != nil && layers[spatial] == nil {
            room.fanout.forgetPictures(slot, spatial: spatial)
        }
    }

    /// Lets go of the streams of other loops that nobody here wants any more, and of layers.
    func releaseInterest(_ room: LocalRoom) {
        for slot in room.fanout.openSlots where room.routes[slot.index].isRequested {
            guard room.fanout.streams[slot.index].subscribers == 0, room.routes[slot.index].remote.isEmpty else {
                requestInterest(room, slot)
                continue
            }
            room.routes[slot.index].isRequested = false
            withdrawInterest(room, room.routes[slot.index])
            // What is cached goes stale unseen.
            room.fanout.forgetCache(slot)
        }
        releaseDeliveries(room)
    }

    func withdrawInterest(_ room: LocalRoom, _ route: StreamRoute) {
        let interest = RemoteInterest(loop: index, room: room.handle, slot: StreamSlot(0))
        post(
            .interest(room.number, stream: route.entry.info.stream, interest, layers: LayerSet(), audio: nil, isWanted: false, imported: nil),
            to: route.entry.address.loop)
    }

    /// Another loop wants layers of a stream of a publisher here, or lets go of it.
    func setInterest(_ number: RoomNumber, _ stream: UInt32, _ interest: RemoteInterest, _ layers: LayerSet, _ audio: WantedFormat?, _ isWanted: Bool)
    {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        defer {
            tellDemand(room, slot)
            tellFormat(room, slot)
            followImport(room, slot)
        }
        guard let (place, isNew) = room.routes[slot.index].remote.note(interest, isWanted: isWanted) else { return }
        room.routes[slot.index].remote[place].audio = audio
        if let audio, audio != .full { room.fitsFormats = true }
        if isNew {
            tellMeasurement(room, slot, to: interest.loop)
            sendLadder(room, slot, to: interest.loop)
            if layers[0] == nil { sendCached(room, slot, room.fanout.cachedConfiguration(slot, 0), remote: place, group: GroupStamp(now, now: now)) }
        }
        for spatial in room.routes[slot.index].remote[place].adopt(layers) {
            let choice = LayerChoice(spatial: spatial, temporal: layers[spatial] ?? 0)
            // What a late joiner needs goes before everything else through the same ring.
            // Layer 0's configurations have gone there all along.
            let isConfigured = !isNew && spatial == 0 && !room.routes[slot.index].remote[place].owesConfiguration.contains(0)
            let group = GroupStamp(room.fanout.groupStart(slot, spatial, now: now), now: now)
            let frames = room.fanout.cachedFrames(slot, choice, configured: isConfigured, now: now)
            let hasKey = sendCached(room, slot, frames, remote: place, group: group)
            guard !hasKey, room.fanout.streams[slot.index].lane == .video else { continue }
            room.fanout.wantKeyFrame(slot, spatial: spatial)
            markDirty(room)
        }
    }

    /// Answers whether a key frame was among what was sent.
    @discardableResult
    private func sendCached(_ room: LocalRoom, _ slot: StreamSlot, _ frames: [[UInt8]], remote place: Int, group: GroupStamp) -> Bool {
        var hasKey = false
        for cached in frames {
            unsafe cached.withUnsafeBytes { frame in
                guard let header = try? unsafe MediaHeader(parsing: frame) else { return }
                hasKey = hasKey || header.flags.contains(.key)
                let traits = FrameTraits(header, lane: room.fanout.streams[slot.index].lane)
                unsafe copy(frame, traits.union(.replayed), room, slot, remote: place, group: group)
            }
        }
        return hasKey
    }

    func wantKeyFrame(_ number: RoomNumber, _ stream: UInt32, _ spatial: Int) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.wantKeyFrame(slot, spatial: spatial, isRepeated: true)
        markDirty(room)
    }

    // MARK: Ladders

    func sendLadder(_ room: LocalRoom, _ slot: StreamSlot, to loop: Int) {
        guard room.fanout.streams[slot.index].isLayered else { return }
        let stream = room.routes[slot.index].entry.info.stream
        post(.ladder(room.number, stream: stream, room.fanout.streams[slot.index].ladder), to: loop)
    }

    func setLadder(_ number: RoomNumber, _ stream: UInt32, _ ladder: [LayerOption]) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.setLadder(slot, ladder)
        for remote in room.routes[slot.index].remote { sendLadder(room, slot, to: remote.interest.loop) }
    }
}
