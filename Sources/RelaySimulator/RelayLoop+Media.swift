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
        if header.kind != .configuration { world.came(UInt32(truncatingIfNeeded: membership.room.number.value), header) }
        forward(membership.room, membership.published[place].slot, bytes, header)
    }

    private func forward(_ room: SimulatedRoom, _ slot: StreamSlot, _ bytes: [UInt8], _ header: MediaHeader) {
        let traits = FrameTraits(header, lane: room.fanout.streams[slot.index].lane)
        append(room, slot, bytes, header, traits)
        for place in 0..<room.routes[slot.index].remote.count where room.routes[slot.index].remote[place].takes(traits) {
            copy(bytes, traits, room, slot, remote: place)
        }
    }

    private func append(_ room: SimulatedRoom, _ slot: StreamSlot, _ bytes: [UInt8], _ header: MediaHeader, _ traits: FrameTraits) {
        if !traits.contains(.configuration) { room.routes[slot.index].noteArrival(header, at: now) }
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

    func copy(_ bytes: [UInt8], _ traits: FrameTraits, _ room: SimulatedRoom, _ slot: StreamSlot, remote place: Int) {
        let route = room.routes[slot.index].remote[place]
        let spatial = traits.spatial
        if route.owesConfiguration.contains(spatial), !traits.contains(.configuration) {
            room.routes[slot.index].remote[place].owesConfiguration.remove(spatial)
            for configuration in room.fanout.cachedConfiguration(slot, spatial) {
                copy(configuration, FrameTraits.configuration.with(spatial: spatial), room, slot, remote: place)
            }
        }
        if route.awaitsKey.contains(spatial), traits.isDisjoint(with: [.key, .configuration]) {
            world.framesLostBetweenLoops += 1
            return
        }
        let record = RingRecord(room: route.interest.room, slot: route.interest.slot, traits: traits, bytes: bytes)
        guard world.rings[index][route.interest.loop].append(record) else {
            world.framesLostBetweenLoops += 1
            world.note("ring full", index, route.interest.loop, Int(room.fanout.streams[slot.index].id))
            if traits.contains(.configuration) {
                room.routes[slot.index].remote[place].owesConfiguration.insert(spatial)
            } else if room.fanout.streams[slot.index].lane == .video, !traits.contains(.discardable) {
                room.routes[slot.index].remote[place].awaitsKey.insert(spatial)
                room.fanout.wantKeyFrame(slot, spatial: spatial)
                markDirty(room)
            }
            return
        }
        world.wake(route.interest.loop)
        if traits.contains(.key) { room.routes[slot.index].remote[place].keyFrameWent(spatial) }
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

    func requestKeyFrames(_ room: SimulatedRoom) {
        while let request = room.fanout.nextKeyFrameRequest(now: now) {
            let entry = room.routes[request.slot.index].entry
            if entry.address.loop == index {
                guard let session = session(entry.address.token) else { continue }
                world.checkKeyFrameRequest(room.number, entry.stream, request.spatial)
                send(session, .keyFrameRequested, [entry.stream, UInt32(request.spatial)])
            } else {
                post(.keyFrameWanted(room.number, stream: entry.stream, spatial: request.spatial), to: entry.address.loop)
            }
        }
    }
}
