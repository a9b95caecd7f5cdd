import MediaProtocol
import RelayBase
import RelayRooms

/// A frame on its way from one loop to another.
struct RingRecord {
    let room: Handle
    let slot: StreamSlot
    let traits: FrameTraits
    let bytes: [UInt8]
}

/// A ring between two loops, bounded by bytes like `MediaRing`.
struct SimulatedRing {
    let bytesMax: Int
    private(set) var records: [RingRecord] = []
    private var byteCount = 0

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    mutating func append(_ record: RingRecord) -> Bool {
        let needed = record.bytes.count + 24
        guard needed <= bytesMax / 2, byteCount + needed <= bytesMax else { return false }
        byteCount += needed
        records.append(record)
        return true
    }

    mutating func takeAll() -> [RingRecord] {
        defer {
            records.removeAll(keepingCapacity: true)
            byteCount = 0
        }
        return records
    }
}

/// Frames between publishers, logs and rings: after `EventLoop+Media`.
extension RelayLoop {
    /// One frame of a publisher.
    func mediaMessage(_ session: RelaySession, _ bytes: [UInt8]) {
        guard let membership = session.membership, let header = try? unsafe bytes.withUnsafeBytes({ unsafe try MediaHeader(parsing: $0) }),
            let place = membership.published.firstIndex(where: { $0.id == header.stream.rawValue }), !membership.published[place].hasEnded
        else { return }
        if header.kind != .configuration { world.came(membership.room.number.value, header.stream.rawValue, header.sequence) }
        forward(membership.room, membership.published[place].slot, bytes, header)
    }

    private func forward(_ room: SimulatedRoom, _ slot: StreamSlot, _ bytes: [UInt8], _ header: MediaHeader) {
        let traits = FrameTraits(header, lane: room.fanout.streams[slot.index].lane)
        append(room, slot, bytes, header, traits)
        for place in 0..<room.routes[slot.index].remote.count { copy(bytes, traits, room, slot, remote: place) }
    }

    private func append(_ room: SimulatedRoom, _ slot: StreamSlot, _ bytes: [UInt8], _ header: MediaHeader, _ traits: FrameTraits) {
        if !traits.contains(.configuration) { room.routes[slot.index].arrivals.note(header.sequence, at: now) }
        world.note("append", index, Int(header.stream.rawValue), Int(header.sequence))
        let appended = unsafe bytes.withUnsafeBytes { unsafe room.fanout.append($0, slot: slot, traits: traits, now: now) }
        switch appended {
        case .queued:
            markDirty(room)
            if traits.contains(.key), !room.openGaps.isEmpty { closeGaps(room, slot, header) }
        case .nobody: break
        case .refused: world.framesRefused += 1
        }
    }

    private func copy(_ bytes: [UInt8], _ traits: FrameTraits, _ room: SimulatedRoom, _ slot: StreamSlot, remote place: Int) {
        let route = room.routes[slot.index].remote[place]
        if route.owesConfiguration, !traits.contains(.configuration) {
            room.routes[slot.index].remote[place].owesConfiguration = false
            for configuration in room.fanout.cachedConfiguration(slot, traits.spatial) { copy(configuration, .configuration, room, slot, remote: place) }
        }
        if route.awaitsKey, traits.isDisjoint(with: [.key, .configuration]) {
            world.framesLostBetweenLoops += 1
            return
        }
        let record = RingRecord(room: route.interest.room, slot: route.interest.slot, traits: traits, bytes: bytes)
        guard world.rings[index][route.interest.loop].append(record) else {
            world.framesLostBetweenLoops += 1
            world.note("ring full", index, route.interest.loop, Int(room.fanout.streams[slot.index].id))
            if traits.contains(.configuration) {
                room.routes[slot.index].remote[place].owesConfiguration = true
            } else if room.fanout.streams[slot.index].lane == .video, !traits.contains(.discardable) {
                room.routes[slot.index].remote[place].awaitsKey = true
                room.fanout.wantKeyFrame(slot)
                markDirty(room)
            }
            return
        }
        world.wake(route.interest.loop)
        if traits.contains(.key) { room.routes[slot.index].remote[place].awaitsKey = false }
    }

    func drainRings() {
        for loop in world.loops.indices where loop != index {
            for record in world.rings[loop][index].takeAll() {
                guard let room = rooms[record.room], room.fanout.isOpen(record.slot),
                    let header = try? unsafe record.bytes.withUnsafeBytes({ unsafe try MediaHeader(parsing: $0) }),
                    header.stream.rawValue == room.fanout.streams[record.slot.index].id
                else { continue }
                append(room, record.slot, record.bytes, header, record.traits)
            }
        }
    }

    // MARK: Interest

    func subscribe(_ membership: SessionMembership, _ slot: StreamSlot) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        if !room.fanout.subscribed(subscriber).contains(slot) {
            let stream = room.fanout.streams[slot.index].id
            membership.liveFrom[stream] = room.routes[slot.index].arrivals.newest.map { $0 &+ 1 } ?? 0
        }
        room.fanout.subscribe(subscriber, slot, now: now)
        requestInterest(room, slot)
    }

    private func requestInterest(_ room: SimulatedRoom, _ slot: StreamSlot) {
        let route = room.routes[slot.index]
        guard route.entry.address.loop != index, !route.isRequested else { return }
        room.routes[slot.index].isRequested = true
        let interest = RemoteInterest(loop: index, room: room.handle, slot: slot)
        post(.interest(room.number, stream: route.entry.stream, interest, isWanted: true), to: route.entry.address.loop)
    }

    func releaseInterest(_ room: SimulatedRoom) {
        for slot in room.fanout.openSlots where room.routes[slot.index].isRequested && room.fanout.streams[slot.index].subscribers == 0 {
            room.routes[slot.index].isRequested = false
            withdrawInterest(room, room.routes[slot.index])
            room.fanout.forgetCache(slot)
        }
    }

    func withdrawInterest(_ room: SimulatedRoom, _ route: StreamRoute) {
        let interest = RemoteInterest(loop: index, room: room.handle, slot: StreamSlot(0))
        post(.interest(room.number, stream: route.entry.stream, interest, isWanted: false), to: route.entry.address.loop)
    }

    func setInterest(_ number: RoomNumber, _ stream: UInt32, _ interest: RemoteInterest, _ isWanted: Bool) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.routes[slot.index].remote.removeAll { $0.interest.loop == interest.loop }
        guard isWanted else { return }
        room.routes[slot.index].remote.append(RemoteRoute(interest: interest))
        let place = room.routes[slot.index].remote.count - 1
        var hasKey = false
        for cached in room.fanout.cachedFrames(slot, LayerChoice(spatial: 0, temporal: LayerChoice.layersMax - 1), now: now) {
            guard let header = try? unsafe cached.withUnsafeBytes({ unsafe try MediaHeader(parsing: $0) }) else { continue }
            hasKey = hasKey || header.flags.contains(.key)
            copy(cached, FrameTraits(header, lane: room.fanout.streams[slot.index].lane), room, slot, remote: place)
        }
        if !hasKey, room.fanout.streams[slot.index].lane == .video {
            room.fanout.wantKeyFrame(slot)
            markDirty(room)
        }
    }

    // MARK: Key frames

    func wantKeyFrame(_ number: RoomNumber, _ stream: UInt32) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.wantKeyFrame(slot)
        markDirty(room)
    }

    func requestKeyFrames(_ room: SimulatedRoom) {
        while let request = room.fanout.nextKeyFrameRequest(now: now) {
            let entry = room.routes[request.slot.index].entry
            if entry.address.loop == index {
                guard let session = session(entry.address.token) else { continue }
                world.checkKeyFrameRequest(room.number, entry.stream)
                send(session, .keyFrameRequested, [entry.stream])
            } else {
                post(.keyFrameWanted(room.number, stream: entry.stream), to: entry.address.loop)
            }
        }
    }
}
