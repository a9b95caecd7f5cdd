import MediaProtocol
import Reactor
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

/// What goes before a frame in a ring between loops, and between nodes.
struct RingRecord {
    static let headerBytes = 16
    /// Above the slot, where a record is for another node: its loop.
    private static let slotBits: UInt32 = 12

    var room: Handle
    var slot: StreamSlot
    var traits: FrameTraits
    /// Of a frame that was cached: when its group came to the relay.
    var group: GroupStamp

    init(room: Handle, slot: StreamSlot, traits: FrameTraits, group: GroupStamp) {
        self.room = room
        self.slot = slot
        self.traits = traits
        self.group = group
    }

    /// The same for a loop of another node, on its way to the gateway.
    func to(_ place: Int) -> RingRecord {
        var record = self
        record.slot = StreamSlot(place << Int(RingRecord.slotBits) | slot.index)
        return record
    }

    /// Takes the place that it is for out of a record.
    mutating func takePlace() -> Int {
        let place = slot.index >> Int(RingRecord.slotBits)
        slot = StreamSlot(slot.index & (1 << Int(RingRecord.slotBits) - 1))
        return place
    }

    init(reading bytes: UnsafeRawBufferPointer) {
        // From another node they lie where they lie.
        room = unsafe Handle(packed: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        slot = unsafe StreamSlot(Int(bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
        traits = unsafe FrameTraits(rawValue: bytes.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
        group = unsafe GroupStamp(bits: bytes.loadUnaligned(fromByteOffset: 14, as: UInt16.self))
    }

    func write(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBytes(of: room.packed, toByteOffset: 0, as: UInt64.self)
        unsafe bytes.storeBytes(of: UInt32(truncatingIfNeeded: slot.index), toByteOffset: 8, as: UInt32.self)
        unsafe bytes.storeBytes(of: traits.rawValue, toByteOffset: 12, as: UInt16.self)
        unsafe bytes.storeBytes(of: group.bits, toByteOffset: 14, as: UInt16.self)
    }
}

extension EventLoop {
    // MARK: From a publisher

    /// One binary message of a session: a media frame.
    func mediaMessage(_ channel: Channel, _ bytes: UnsafeRawBufferPointer) {
        // Whatever is in it: a bundle or a part from a client is not looked at further.
        if let kind = unsafe MediaKind.ofRelaysOnly(bytes) {
            let isBundle = kind == .bundle
            beginClose(
                channel, .unsupportedData, reason: "\(isBundle ? "bundles" : "parts") go from the relay to its clients only",
                counted: isBundle ? "media_bundle" : "media_part")
            return
        }
        let frame: MediaFrame
        do {
            frame = try unsafe MediaFrame.validate(bytes, limits: limits)
        } catch {
            let code = WebSocketCloseCode(rawValue: error.closeCode)
            beginClose(channel, code, reason: "media frame refused: \(error.name)", counted: "\(error.name)")
            return
        }
        // What a publisher had under way when it left its room is nobody's any more.
        guard channel.membership != nil || !channel.hasPublished else {
            counters.framesAfterEnd &+= 1
            return
        }
        guard let membership = channel.membership,
            let place = membership.published.firstIndex(where: { $0.id == frame.header.stream.rawValue })
        else {
            beginClose(channel, .policyViolation, reason: "media of a stream that is not one's own", counted: "media_unknown_stream")
            return
        }
        let stream = membership.published[place]
        guard !stream.hasEnded else {
            counters.framesAfterEnd &+= 1
            return
        }
        let isConfiguration = frame.header.kind == .configuration
        guard isConfiguration || frame.header.kind.lane == stream.lane else {
            beginClose(channel, .policyViolation, reason: "media of another kind than its stream", counted: "media_wrong_kind")
            return
        }
        let traits = FrameTraits(frame.header, lane: stream.lane)
        guard traits.spatial < LayerChoice.layersMax, traits.temporal < LayerChoice.layersMax else {
            beginClose(channel, .policyViolation, reason: "media of a layer above 7", counted: "media_layer")
            return
        }
        if !stream.isConfigured {
            guard isConfiguration else {
                beginClose(channel, .policyViolation, reason: "media before its configuration", counted: "media_before_configuration")
                return
            }
            membership.published[place].isConfigured = true
        }
        if isConfiguration { noteTicket(channel) }
        if membership.isRestricted, unsafe !passesRestrictions(channel, membership, place, bytes, traits) { return }
        counters.framesIn &+= 1
        counters.bytesIn &+= UInt64(bytes.count)
        if frame.header.kind == .audio { membership.room.speech.note(stream.slot, frame.header) }
        unsafe forward(membership.room, stream.slot, bytes, traits)
    }

    /// Local subscribers read the frame from the room's log; every other loop with subscribers gets one copy.
    func forward(_ room: LocalRoom, _ slot: StreamSlot, _ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits) {
        switch unsafe room.fanout.append(bytes, slot: slot, traits: traits, now: now) {
        case .queued:
            markDirty(room)
            if !room.openGaps.isEmpty, traits.contains(.key) { unsafe closeGaps(room, slot, bytes) }
        case .nobody: if room.routes[slot.index].remote.isEmpty { counters.framesWithoutSubscribers &+= 1 }
        case .refused: break
        }
        for place in 0..<room.routes[slot.index].remote.count where room.routes[slot.index].remote[place].takes(traits) {
            unsafe copy(bytes, traits, room, slot, remote: place)
        }
    }

    /// Puts a frame into the ring to another loop. A full ring loses it, and of video everything of its layer up to the next key frame, which is asked for.
    ///
    /// - Parameter group: of a frame that was cached, when its group came.
    func copy(
        _ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits, _ room: LocalRoom, _ slot: StreamSlot, remote place: Int,
        group: GroupStamp = GroupStamp(bits: 0)
    ) {
        let route = room.routes[slot.index].remote[place]
        let spatial = traits.spatial
        if route.owesConfiguration.contains(spatial), !traits.contains(.configuration) {
            room.routes[slot.index].remote[place].owesConfiguration.remove(spatial)
            for configuration in room.fanout.cachedConfiguration(slot, spatial) {
                unsafe configuration.withUnsafeBytes {
                    unsafe copy($0, FrameTraits.configuration.with(spatial: spatial), room, slot, remote: place)
                }
            }
        }
        if route.awaitsKey.contains(spatial), traits.isDisjoint(with: [.key, .configuration]) {
            counters.framesLostBetweenLoops &+= 1
            return
        }
        guard unsafe write(bytes, traits, group, to: route.interest) else {
            counters.framesLostBetweenLoops &+= 1
            if traits.contains(.configuration) {
                room.routes[slot.index].remote[place].owesConfiguration.insert(spatial)
            } else if room.fanout.streams[slot.index].lane == .video, !traits.contains(.discardable) {
                room.routes[slot.index].remote[place].awaitsKey.insert(spatial)
                room.fanout.wantKeyFrame(slot, spatial: spatial)
                markDirty(room)
            }
            return
        }
        if traits.contains(.key) { room.routes[slot.index].remote[place].keyFrameWent(spatial) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits, _ group: GroupStamp, to interest: RemoteInterest) -> Bool {
        let record = RingRecord(room: interest.room, slot: interest.slot, traits: traits, group: group)
        if LoopPlace.isForeign(interest.loop) {
            guard let gateway = shared.gateway,
                let room = unsafe ringsOut.reserve(record.to(interest.loop), byteCount: bytes.count, to: gateway)
            else { return false }
            unsafe room.copyMemory(from: bytes)
            ringsOut.commit(to: gateway)
            counters.framesToOtherNodes &+= 1
            return true
        }
        guard let room = unsafe ringsOut.reserve(record, byteCount: bytes.count, to: interest.loop) else { return false }
        unsafe room.copyMemory(from: bytes)
        ringsOut.commit(to: interest.loop)
        counters.framesToOtherLoops &+= 1
        return true
    }

    // MARK: Between loops

    func drainRings() {
        for sender in 0..<shared.rings.count where sender != index {
            let ring = shared.rings[sender][index]
            let isLoops = !isWorker(sender)
            repeat {
                while let record = unsafe ring.peek() {
                    if unsafe isLoops || !MixRecord.isOne(record) { unsafe receive(record) } else { unsafe receiveMix(record) }
                    ring.release()
                }
            } while !ring.consumerMayWait()
        }
    }

    private func receive(_ record: UnsafeRawBufferPointer) {
        let header = unsafe RingRecord(reading: record)
        // The room may be gone, and its slot another stream's: the frame says whose it is.
        guard let room = rooms[header.room], room.fanout.isOpen(header.slot) else { return }
        let frame = unsafe UnsafeRawBufferPointer(rebasing: record[RingRecord.headerBytes...])
        guard let media = try? unsafe MediaHeader(parsing: frame), media.stream.rawValue == room.fanout.streams[header.slot.index].id else { return }
        counters.framesFromOtherLoops &+= 1
        if !room.routes[header.slot.index].remote.isEmpty { unsafe passOn(frame, header, room) }
        let start = header.traits.contains(.replayed) ? header.group.start(now: now) : nil
        guard unsafe room.fanout.append(frame, slot: header.slot, traits: header.traits, since: start, now: now) == .queued else { return }
        markDirty(room)
        if !room.openGaps.isEmpty, header.traits.contains(.key) { unsafe closeGaps(room, header.slot, frame) }
    }

    /// Of a stream of another node, the other loops of this one get theirs from here.
    private func passOn(_ frame: UnsafeRawBufferPointer, _ header: RingRecord, _ room: LocalRoom) {
        for place in 0..<room.routes[header.slot.index].remote.count where room.routes[header.slot.index].remote[place].takes(header.traits) {
            unsafe copy(frame, header.traits, room, header.slot, remote: place, group: header.group)
        }
    }

    /// Asks publishers for the key frames that are wanted and may be asked for now.
    func requestKeyFrames(_ room: LocalRoom) {
        while let request = room.fanout.nextKeyFrameRequest(now: now) {
            let slot = request.slot
            let entry = room.routes[slot.index].entry
            if entry.address.loop == index {
                // Of a publisher that is muted, or whose audio session is stopped, nobody would get the key frame.
                guard let channel = channels[Handle(packed: entry.address.token)], channel.membership?.muted.contains(.video) != true,
                    channel.membership?.uplinkStop == nil
                else { continue }
                counters.keyFrameRequests &+= 1
                send(channel, .keyFrameRequested(stream: entry.info.stream, layer: room.fanout.hasSpatialLayers(slot) ? request.spatial : nil))
            } else {
                post(.keyFrameWanted(room.number, stream: entry.info.stream, spatial: request.spatial), to: entry.address.loop)
            }
        }
    }
}

extension MediaKind {
    /// The lane of the kinds that a stream is made of.
    var lane: Lane? {
        switch self {
        case .audio: .audio
        case .video: .video
        case .data: .data
        case .configuration, .bundle, .part: nil
        }
    }
}
