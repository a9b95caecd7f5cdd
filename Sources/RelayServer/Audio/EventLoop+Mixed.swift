import AudioSession
import Glibc
import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

/// Mixed delivery: a room's mix comes from its worker, in slots that all have the mix's stream identifier. Who speaks has one of its own, and a record in the ring
/// moves it there and back between two frames. See record 35.
extension EventLoop {
    /// A member gets the room's mix from now on, instead of all audio that it had.
    func enterMix(_ channel: Channel, _ membership: Membership, channels: Int) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        for slot in room.foreignSlots(to: membership.participant) where room.fanout.streams[slot.index].lane == .audio {
            letGo(membership, room.fanout.streams[slot.index].id, unless: nil)
        }
        if membership.mix != nil {
            membership.mix?.channels = channels
            followMix(channel, membership)
            releaseInterest(room)
            return
        }
        // What comes first, comes here: see MixPlacement.
        guard let slot = mixSlot(room, place: channels - 1, channels: channels) else { return }
        room.fanout.subscribe(subscriber, slot, now: now)
        let deliveries = deliveries(of: room)
        deliveries.mixEntries &+= 1
        membership.mix = MixMembership(channels: channels, entry: deliveries.mixEntries)
        followMix(channel, membership)
        if let duck = channel.audio?.duck, duck != 1 { duckMix(membership, duck, rampMilliseconds: 0) }
        if !deliveries.isMixed {
            deliveries.isMixed = true
            for slot in room.fanout.openSlots { addToMix(room, room.routes[slot.index].entry) }
        }
        releaseInterest(room)
        markDirty(room)
    }

    func leaveMix(_ membership: Membership) {
        guard membership.mix != nil else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        membership.mix = nil
        membership.playbacks.removeAll { $0.id == MixMembership.stream }
        if let slot = room.fanout.slot(of: MixMembership.stream, for: subscriber) { room.fanout.unsubscribe(subscriber, slot) }
        post(.audioWork(.unmixOutput(room.number, membership.participant)), to: deliveries(of: room).worker)
        releaseInterest(room)
    }

    /// A stream of the room is to be heard in its mix.
    func addToMix(_ room: LocalRoom, _ entry: StreamEntry) {
        guard let deliveries = room.deliveries, deliveries.isMixed, entry.lane == .audio else { return }
        post(.audioWork(.mixInput(room.number, forWorker(entry, room))), to: deliveries.worker)
    }

    /// Nobody here gets the mix any more: its slots go.
    func releaseMix(_ room: LocalRoom) {
        guard let deliveries = room.deliveries, deliveries.isMixed || !deliveries.mixSlots.isEmpty else { return }
        guard !room.members.contains(where: { channels[$0.channel]?.membership?.mix != nil }) else { return }
        for slot in deliveries.mixSlots { if let slot { room.fanout.endStream(slot) } }
        deliveries.mixSlots = []
        deliveries.isMixed = false
    }

    // MARK: What listeners want

    func followMix(_ room: LocalRoom) {
        guard room.deliveries?.isMixed == true else { return }
        for (_, handle) in room.members {
            if let channel = channels[handle], let membership = channel.membership, membership.mix != nil { followMix(channel, membership) }
        }
    }

    /// Tells the worker what a listener takes, where that has changed.
    func followMix(_ channel: Channel, _ membership: Membership) {
        guard let mix = membership.mix else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slot = room.fanout.slot(of: MixMembership.stream, for: subscriber)
        let format = channel.audio.map { $0.route.receiveFormat } ?? .full
        let mode = channel.audio?.snapshot?.mode
        let order = MixOrder(
            room: room.number, participant: membership.participant, entry: mix.entry, loop: index, handle: room.handle, bounds: format?.wanted,
            channels: mix.channels, isActive: slot.map { room.fanout.hears(subscriber, $0) } ?? false, isMeasurement: mode == .measurement,
            profile: .init(mode: mode))
        guard order != mix.told else { return }
        membership.mix?.told = order
        post(.audioWork(.mixOutput(order)), to: deliveries(of: room).worker)
    }

    // MARK: Gains

    /// What a client sets of its mix, or of a stream that is in it; the relay does it.
    ///
    /// - Returns: what holds now; `nil`: the stream is not in its mix.
    func setMixParameters(
        _ channel: Channel, _ membership: Membership, _ stream: UInt32, _ change: ParameterChange, at: UInt32?
    ) -> StreamParameters? {
        guard let mix = membership.mix, isInMix(membership, stream) else { return nil }
        var parameters = mix.parameters(of: stream)
        parameters.apply(change, sampleRate: Double(MixMembership.sampleRate))
        membership.mix?.set(parameters, of: stream)
        let ramp = change.volume == nil ? 0 : change.rampMilliseconds ?? 0
        let gain = MixGain(
            target: stream == MixMembership.stream ? .mix : .stream(stream), volume: parameters.volume, rampMilliseconds: ramp, pan: parameters.pan,
            at: at)
        post(.audioWork(.gain(membership.room.number, membership.participant, gain)), to: deliveries(of: membership.room).worker)
        return parameters
    }

    private func isInMix(_ membership: Membership, _ stream: UInt32) -> Bool {
        if stream == MixMembership.stream { return true }
        let room = membership.room
        guard let slot = room.fanout.slot(of: stream), room.fanout.streams[slot.index].lane == .audio else { return false }
        return room.routes[slot.index].entry.publisher != membership.participant
            && room.fanout.slot(of: stream, for: Int(membership.subscriber.index)) == nil
    }

    /// The audio session is ducked, or not any more.
    func duck(_ channel: Channel, _ audio: AudioStanding, decibels: Double, rampMilliseconds: Double) {
        audio.duck = Float(pow(10, decibels / 20))
        guard let membership = channel.membership, membership.mix != nil else { return }
        duckMix(membership, audio.duck, rampMilliseconds: rampMilliseconds)
    }

    private func duckMix(_ membership: Membership, _ volume: Float, rampMilliseconds: Double) {
        let gain = MixGain(target: .duck, volume: volume, rampMilliseconds: rampMilliseconds)
        post(.audioWork(.gain(membership.room.number, membership.participant, gain)), to: deliveries(of: membership.room).worker)
    }

    /// A stream has ended: what was set of it goes.
    func forgetMixed(_ room: LocalRoom, _ stream: UInt32) {
        guard room.deliveries?.isMixed == true else { return }
        for (_, handle) in room.members { channels[handle]?.membership?.mix?.parameters.removeAll { $0.stream == stream } }
    }

    // MARK: From the worker

    func unmixed(_ number: RoomNumber, _ stream: UInt32, _ reason: RelayMessage.UnmixedReason, _ participant: ParticipantID?) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        for (member, handle) in room.members where member != room.routes[slot.index].entry.publisher && (participant == nil || participant == member)
        {
            guard let channel = channels[handle], channel.membership?.mix != nil else { continue }
            send(channel, .streamUnmixed(.init(stream: stream, reason: reason)))
        }
    }

    func receiveMix(_ record: UnsafeRawBufferPointer) {
        let mix = unsafe MixRecord(reading: record)
        guard let room = rooms[mix.room], room.deliveries?.isMixed == true, let slot = mixSlot(room, place: mix.place, channels: mix.channels) else {
            return
        }
        let payload = unsafe UnsafeRawBufferPointer(rebasing: record[RingRecord.headerBytes...])
        guard mix.isMove else {
            counters.framesFromOtherLoops &+= 1
            if unsafe room.fanout.append(payload, slot: slot, traits: FrameTraits(rawValue: 0), now: now) == .queued { markDirty(room) }
            return
        }
        let participant = unsafe ParticipantID(payload.load(as: UInt32.self))
        let entry = unsafe payload.load(fromByteOffset: 4, as: UInt32.self)
        guard let handle = room.members.first(where: { $0.participant == participant })?.channel, let membership = channels[handle]?.membership,
            membership.mix?.entry == entry, let current = room.fanout.slot(of: MixMembership.stream, for: Int(membership.subscriber.index))
        else { return }
        let subscriber = Int(membership.subscriber.index)
        room.fanout.move(subscriber, from: current, to: slot, now: now)
        for place in membership.playbacks.indices where membership.playbacks[place].slot == current { membership.playbacks[place].slot = slot }
        // A decoder of another number of channels begins anew.
        if room.routes[current.index].entry.info.description?.channels != mix.channels { room.fanout.refresh(subscriber, slot) }
    }

    /// The slot of a place of the mix, made when it is first heard of.
    private func mixSlot(_ room: LocalRoom, place: Int, channels: Int) -> StreamSlot? {
        let deliveries = deliveries(of: room)
        if place < deliveries.mixSlots.count, let known = deliveries.mixSlots[place] { return known }
        guard let slot = addDerived(room, MixMembership.streamInfo(channels: channels), publisher: ParticipantID(0)) else { return nil }
        while deliveries.mixSlots.count <= place { deliveries.mixSlots.append(nil) }
        deliveries.mixSlots[place] = slot
        var configuration =
            [UInt8](repeating: 0, count: MediaHeader.byteCount)
            + OpusHead.encoded(channels: UInt8(clamping: channels), inputRate: UInt32(MixMembership.sampleRate))
        unsafe configuration.withUnsafeMutableBytes { bytes in
            unsafe MediaHeader(kind: .configuration, stream: StreamID(MixMembership.stream), sequence: 0, timestamp: 0).write(into: bytes)
        }
        _ = unsafe configuration.withUnsafeBytes { unsafe room.fanout.append($0, slot: slot, traits: .configuration, now: now) }
        return slot
    }
}
