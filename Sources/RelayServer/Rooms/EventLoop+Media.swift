import MediaProtocol
import Reactor
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

/// What goes before a frame in a ring between loops.
struct RingRecord {
    static let headerBytes = 16

    var room: Handle
    var slot: StreamSlot
    var traits: FrameTraits

    init(room: Handle, slot: StreamSlot, traits: FrameTraits) {
        self.room = room
        self.slot = slot
        self.traits = traits
    }

    init(reading bytes: UnsafeRawBufferPointer) {
        room = unsafe Handle(packed: bytes.load(fromByteOffset: 0, as: UInt64.self))
        slot = unsafe StreamSlot(Int(bytes.load(fromByteOffset: 8, as: UInt32.self)))
        traits = unsafe FrameTraits(rawValue: UInt16(truncatingIfNeeded: bytes.load(fromByteOffset: 12, as: UInt32.self)))
    }

    func write(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBytes(of: room.packed, toByteOffset: 0, as: UInt64.self)
        unsafe bytes.storeBytes(of: UInt32(truncatingIfNeeded: slot.index), toByteOffset: 8, as: UInt32.self)
        unsafe bytes.storeBytes(of: UInt32(traits.rawValue), toByteOffset: 12, as: UInt32.self)
    }
}

extension FrameTraits {
    init(_ header: MediaHeader) {
        self = FrameTraits(layer: header.layer.rawValue)
        if header.flags.contains(.key) { insert(.key) } else if header.kind == .video, header.layer.temporal > 0 { insert(.enhancement) }
        if header.flags.contains(.discardable) { insert(.discardable) }
        if header.kind == .configuration { insert(.configuration) }
    }
}

extension EventLoop {
    // MARK: From a publisher

    /// One binary message of a session: a media frame.
    func mediaMessage(_ channel: Channel, _ bytes: UnsafeRawBufferPointer) {
        let frame: MediaFrame
        do {
            frame = try unsafe MediaFrame.validate(bytes, limits: limits)
        } catch {
            let code = WebSocketCloseCode(rawValue: error.closeCode)
            beginClose(channel, code, reason: "media frame refused: \(error.name)", counted: "\(error.name)")
            return
        }
        guard frame.header.kind != .bundle, frame.header.kind != .part else {
            let isBundle = frame.header.kind == .bundle
            beginClose(
                channel, .unsupportedData, reason: "\(isBundle ? "bundles" : "parts") go from the relay to its clients only",
                counted: isBundle ? "media_bundle" : "media_part")
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
        if !stream.isConfigured {
            guard isConfiguration else {
                beginClose(channel, .policyViolation, reason: "media before its configuration", counted: "media_before_configuration")
                return
            }
            membership.published[place].isConfigured = true
        }
        if membership.isRestricted, unsafe !passesRestrictions(channel, membership, place, bytes, FrameTraits(frame.header)) { return }
        counters.framesIn &+= 1
        counters.bytesIn &+= UInt64(bytes.count)
        unsafe forward(membership.room, stream.slot, bytes, FrameTraits(frame.header))
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
        for place in 0..<room.routes[slot.index].remote.count { unsafe copy(bytes, traits, room, slot, remote: place) }
    }

    /// Puts a frame into the ring to another loop. A full ring loses it, and of video everything up to the next key frame, which is asked for.
    private func copy(_ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits, _ room: LocalRoom, _ slot: StreamSlot, remote place: Int) {
        let route = room.routes[slot.index].remote[place]
        if route.owesConfiguration, !traits.contains(.configuration) {
            room.routes[slot.index].remote[place].owesConfiguration = false
            for configuration in room.fanout.cachedConfiguration(slot) {
                unsafe configuration.withUnsafeBytes { unsafe copy($0, .configuration, room, slot, remote: place) }
            }
        }
        if route.awaitsKey, traits.isDisjoint(with: [.key, .configuration]) {
            counters.framesLostBetweenLoops &+= 1
            return
        }
        guard unsafe write(bytes, traits, to: route.interest) else {
            counters.framesLostBetweenLoops &+= 1
            if traits.contains(.configuration) {
                room.routes[slot.index].remote[place].owesConfiguration = true
            } else if room.fanout.streams[slot.index].lane == .video, !traits.contains(.discardable) {
                room.routes[slot.index].remote[place].awaitsKey = true
                room.fanout.wantKeyFrame(slot)
                markDirty(room)
            }
            return
        }
        if traits.contains(.key) { room.routes[slot.index].remote[place].awaitsKey = false }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits, to interest: RemoteInterest) -> Bool {
        let ring = shared.rings[index][interest.loop]
        guard let record = unsafe ring.tryReserve(RingRecord.headerBytes + bytes.count) else { return false }
        unsafe RingRecord(room: interest.room, slot: interest.slot, traits: traits).write(into: record)
        unsafe UnsafeMutableRawBufferPointer(rebasing: record[RingRecord.headerBytes...]).copyMemory(from: bytes)
        ring.commit()
        ringsWritten[interest.loop] = true
        counters.framesToOtherLoops &+= 1
        return true
    }

    // MARK: Between loops

    func wakeRings() {
        for loop in ringsWritten.indices where ringsWritten[loop] {
            ringsWritten[loop] = false
            if shared.rings[index][loop].producerNeedsWake() { shared.wakes[loop].signal() }
        }
    }

    func drainRings() {
        for loop in 0..<shared.loops where loop != index {
            let ring = shared.rings[loop][index]
            repeat {
                while let record = unsafe ring.peek() {
                    unsafe receive(record)
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
        guard unsafe room.fanout.append(frame, slot: header.slot, traits: header.traits, now: now) == .queued else { return }
        markDirty(room)
        if !room.openGaps.isEmpty, header.traits.contains(.key) { unsafe closeGaps(room, header.slot, frame) }
    }

    /// Asks the publisher's loop for a stream that somebody here wants.
    func requestInterest(_ room: LocalRoom, _ slot: StreamSlot) {
        let route = room.routes[slot.index]
        guard route.entry.address.loop != index, !route.isRequested else { return }
        room.routes[slot.index].isRequested = true
        let interest = RemoteInterest(loop: index, room: room.handle, slot: slot)
        post(.interest(room.number, stream: route.entry.info.stream, interest, isWanted: true), to: route.entry.address.loop)
    }

    /// Lets go of the streams of other loops that nobody here wants any more.
    func releaseInterest(_ room: LocalRoom) {
        for slot in room.fanout.openSlots where room.routes[slot.index].isRequested && room.fanout.streams[slot.index].subscribers == 0 {
            room.routes[slot.index].isRequested = false
            withdrawInterest(room, room.routes[slot.index])
            // What is cached goes stale unseen.
            room.fanout.forgetCache(slot)
        }
    }

    func withdrawInterest(_ room: LocalRoom, _ route: StreamRoute) {
        let interest = RemoteInterest(loop: index, room: room.handle, slot: StreamSlot(0))
        post(.interest(room.number, stream: route.entry.info.stream, interest, isWanted: false), to: route.entry.address.loop)
    }

    /// Another loop wants a stream of a publisher here, or lets go of it.
    func setInterest(_ number: RoomNumber, _ stream: UInt32, _ interest: RemoteInterest, _ isWanted: Bool) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.routes[slot.index].remote.removeAll { $0.interest.loop == interest.loop }
        guard isWanted else { return }
        room.routes[slot.index].remote.append(RemoteRoute(interest: interest))
        let place = room.routes[slot.index].remote.count - 1
        // What a late joiner needs goes before everything else through the same ring.
        var hasKey = false
        for cached in room.fanout.cachedFrames(slot) {
            unsafe cached.withUnsafeBytes { frame in
                guard let header = try? unsafe MediaHeader(parsing: frame) else { return }
                hasKey = hasKey || header.flags.contains(.key)
                unsafe copy(frame, FrameTraits(header), room, slot, remote: place)
            }
        }
        if !hasKey, room.fanout.streams[slot.index].lane == .video {
            room.fanout.wantKeyFrame(slot)
            markDirty(room)
        }
    }

    func wantKeyFrame(_ number: RoomNumber, _ stream: UInt32) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.fanout.wantKeyFrame(slot)
        markDirty(room)
    }

    /// Asks publishers for the key frames that are wanted and may be asked for now.
    func requestKeyFrames(_ room: LocalRoom) {
        while let slot = room.fanout.nextKeyFrameRequest(now: now) {
            let entry = room.routes[slot.index].entry
            if entry.address.loop == index {
                // Of a muted publisher nobody would get the key frame.
                guard let channel = channels[Handle(packed: entry.address.token)], channel.membership?.muted.contains(.video) != true else {
                    continue
                }
                counters.keyFrameRequests &+= 1
                send(channel, .keyFrameRequested(stream: entry.info.stream))
            } else {
                post(.keyFrameWanted(room.number, stream: entry.info.stream), to: entry.address.loop)
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
