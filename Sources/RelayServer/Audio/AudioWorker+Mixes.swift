import AudioEngine
import JitterBuffer
import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

/// What a worker is asked of the mixes of its rooms.
extension AudioWorker {
    func mix(of room: RoomNumber) -> RoomMix? {
        mixes.first { $0.room == room }
    }

    // MARK: Listeners

    func mixOutput(_ order: MixOrder) {
        let mix: RoomMix
        if let known = self.mix(of: order.room) {
            mix = known
        } else {
            mix = RoomMix(order.room, limits: limits)
            mixes.append(mix)
        }
        let id = order.participant.value
        let isNew = mix.outputs[id] == nil
        mix.outputs[id, default: RoomMix.Output(order: order)].order = order
        seat(mix, order)
        make(mix, id)
        if isNew { tellUnmixed(mix, order) }
        settleMix(mix)
    }

    /// A listener's place among those of its loop.
    private func seat(_ mix: RoomMix, _ order: MixOrder) {
        let share: Int
        if let known = mix.shares.firstIndex(where: { $0.loop == order.loop }) {
            share = known
        } else {
            mix.shares.append(RoomMix.Share(loop: order.loop, room: order.handle))
            share = mix.shares.count - 1
        }
        mix.shares[share].room = order.handle
        let channels = min(order.channels, order.bounds?.channels ?? order.channels)
        guard let place = mix.shares[share].listeners.firstIndex(where: { $0.participant == order.participant }) else {
            var listener = MixListener(order.participant, channels: order.channels)
            listener.channels = channels
            listener.entry = order.entry
            mix.shares[share].listeners.append(listener)
            return
        }
        mix.shares[share].listeners[place].channels = channels
    }

    /// Has the mixer make something for a listener that takes it, or nothing.
    private func make(_ mix: RoomMix, _ id: UInt32) {
        guard let output = mix.outputs[id] else { return }
        guard output.order.isActive, let bounds = output.order.bounds else {
            if output.isMade { mix.mixer.removeOutput(id) }
            mix.outputs[id]?.isMade = false
            return
        }
        let format = mix.format(of: output.order, bounds)
        do throws(AudioFault) {
            if output.isMade {
                try mix.mixer.setFormat(output: id, format)
            } else {
                try mix.mixer.addOutput(id, format)
                for gain in output.gains { apply(gain, to: id, mix, rampMilliseconds: 0) }
            }
            mix.outputs[id]?.isMade = true
        } catch {
            shared.log.error("mix_output_failed", [("room", "\(mix.room.value)"), ("participant", "\(id)"), ("fault", "\(error)")])
        }
    }

    func unmixOutput(_ room: RoomNumber, _ participant: ParticipantID) {
        guard let mix = mix(of: room), mix.outputs.removeValue(forKey: participant.value) != nil else { return }
        mix.mixer.removeOutput(participant.value)
        for share in mix.shares.indices { mix.shares[share].listeners.removeAll { $0.participant == participant } }
        mix.shares.removeAll { $0.listeners.isEmpty }
        settleMix(mix)
    }

    func forgetMix(_ room: RoomNumber, _ loop: Int) {
        guard let mix = mix(of: room) else { return }
        for (id, output) in mix.outputs where output.order.loop == loop {
            mix.outputs[id] = nil
            mix.mixer.removeOutput(id)
        }
        mix.shares.removeAll { $0.loop == loop }
        settleMix(mix)
    }

    /// Brings a mix in line with its listeners: it ticks while somebody takes it, and goes with the last of them.
    private func settleMix(_ mix: RoomMix) {
        guard !mix.outputs.isEmpty else {
            mixes.removeAll { $0 === mix }
            for stream in streams(of: mix.room) where stream.isMixed {
                countDeparted(mix, stream)
                stream.leaveMix()
                settle(stream)
            }
            return
        }
        let isTaken = mix.outputs.contains { $0.value.isMade }
        if isTaken, mix.nextTick == nil {
            // Half of the rooms tick between the others.
            mix.nextTick = now.advanced(byNanoseconds: RoomMix.tickNanoseconds + (mix.room.value & 1) * RoomMix.tickNanoseconds / 2)
        } else if !isTaken, mix.nextTick != nil {
            mix.nextTick = nil
            // Nobody is to hear, later, what came now.
            for stream in streams(of: mix.room) where stream.isMixed && stream.unmixed == nil { mix.mixer.resetInput(stream.id) }
        }
        let profile = mix.wantedProfile
        if profile != mix.profile {
            mix.profile = profile
            for stream in streams(of: mix.room) where stream.isMixed && stream.unmixed == nil {
                mix.mixer.configureInput(stream.id, profile: profile, isMeasurement: stream.isMeasurement)
            }
        }
        for stream in streams(of: mix.room) where stream.isMixed { settle(stream) }
    }

    private func streams(of room: RoomNumber) -> [WorkerStream] {
        live.filter { $0.room == room }
    }

    // MARK: Streams

    func mixInput(_ room: RoomNumber, _ entry: StreamEntry) {
        guard let mix = mix(of: room), let stream = addStream(room, entry), !stream.isMixed, stream.endsBy == nil else { return }
        stream.isMixed = true
        stream.mix = mix
        stream.unmixed = nil
        admit(stream, to: mix)
        settle(stream)
    }

    private func admit(_ stream: WorkerStream, to mix: RoomMix) {
        guard !stream.isEncrypted else { return leaveOut(stream, .encrypted) }
        guard let description = AudioStreamDescription(stream.entry.info) else { return leaveOut(stream, .codec) }
        do throws(AudioFault) {
            try mix.mixer.addInput(
                stream.id, participant: stream.entry.publisher.value, description, profile: mix.profile,
                isMeasurement: stream.isMeasurement)
            stream.unmixed = nil
            for (id, output) in mix.outputs where output.isMade {
                for gain in output.gains where gain.target == .stream(stream.id) { apply(gain, to: id, mix, rampMilliseconds: 0) }
            }
        } catch {
            leaveOut(stream, error == .limit ? .limit : .codec)
        }
    }

    /// A stream is not heard in its room's mix, and listeners are told.
    private func leaveOut(_ stream: WorkerStream, _ reason: RelayMessage.UnmixedReason) {
        guard let mix = stream.mix, stream.unmixed != reason else { return }
        if stream.unmixed == nil { mix.mixer.removeInput(stream.id) }
        stream.unmixed = reason
        for share in mix.shares {
            post(.audioNews(.unmixed(stream.room, stream: stream.id, reason, participant: nil)), to: share.loop)
        }
        settle(stream)
    }

    private func tellUnmixed(_ mix: RoomMix, _ order: MixOrder) {
        for stream in live where stream.mix === mix {
            guard let reason = stream.unmixed else { continue }
            post(.audioNews(.unmixed(stream.room, stream: stream.id, reason, participant: order.participant)), to: order.loop)
        }
    }

    /// A frame of a stream that is to be heard in its room's mix.
    func mix(_ stream: WorkerStream, _ header: MediaHeader, _ frame: RawSpan, _ extensions: MediaExtensions) {
        guard let mix = stream.mix, stream.unmixed == nil, mix.nextTick != nil else { return }
        var header = header
        if stream.timescale.isOther { header.timestamp = stream.timescale.ticks(of: header.timestamp) }
        _ = mix.mixer.insert(
            header: header, payload: extensions.payload(of: frame), packetTable: extensions.table(of: frame), input: stream.id, now: now)
    }

    /// A frame of a stream is encrypted between the ends: from here on nobody here decodes it.
    func noteEncrypted(_ stream: WorkerStream) {
        guard !stream.isEncrypted else { return }
        stream.isEncrypted = true
        if stream.isMixed { leaveOut(stream, .encrypted) }
        for buffer in stream.buffers where buffer.isConcealing { giveUpConcealing(buffer, stream, .encrypted) }
    }

    func measure(_ room: RoomNumber, _ id: UInt32, _ isMeasurement: Bool) {
        guard let stream = stream(room, id), stream.isMeasurement != isMeasurement else { return }
        stream.isMeasurement = isMeasurement
        if let mix = stream.mix, stream.unmixed == nil {
            mix.mixer.configureInput(stream.id, profile: mix.profile, isMeasurement: isMeasurement)
        }
        for buffer in stream.buffers { buffer.measure(isMeasurement || buffer.variant.isMeasurement) }
    }

    func resetMixed(_ stream: WorkerStream) {
        if let mix = stream.mix, stream.unmixed == nil { mix.mixer.resetInput(stream.id) }
    }

    /// An ended stream is taken out; one that was left out for want of room comes in.
    func unmixInput(_ stream: WorkerStream) {
        guard let mix = stream.mix else { return }
        countDeparted(mix, stream)
        if stream.unmixed == nil { mix.mixer.removeInput(stream.id) }
        stream.leaveMix()
        forgetGains(of: stream, in: mix)
        guard let waiting = live.first(where: { $0.mix === mix && $0.unmixed == .limit && $0.endsBy == nil }) else { return }
        admit(waiting, to: mix)
        settle(waiting)
    }

    private func countDeparted(_ mix: RoomMix, _ stream: WorkerStream) {
        if let statistics = mix.mixer.statistics(of: stream.id) { counters.departed.add(statistics) }
    }

    func isHeardInMix(_ stream: WorkerStream) -> Bool {
        stream.isMixed && stream.unmixed == nil && stream.mix?.nextTick != nil
    }

    // MARK: Ticks

    func tickMixes() {
        for mix in mixes {
            guard let due = mix.nextTick, due <= now else { continue }
            // What is left out is left out for the listeners' clocks as well: they go on.
            let left = countTick(due: due)
            mix.shed(left)
            mix.nextTick = due.advanced(byNanoseconds: (left + 1) * RoomMix.tickNanoseconds)
            if mix.awaitsGains { setAwaitedGains(mix) }
            mix.mixer.tick(now: now)
            counters.encodes &+= mix.mixer.encodesTotal &- mix.encodesCounted
            mix.encodesCounted = mix.mixer.encodesTotal
            for share in mix.shares.indices { send(mix, share) }
        }
    }

    /// Who is moved is moved first; then each mix goes once to the loop.
    private func send(_ mix: RoomMix, _ share: Int) {
        let mixCount = mix.mixer.encodeCount
        for place in mix.shares[share].listeners.indices {
            mix.shares[share].listeners[place].mix = mix.mixer.encode(of: mix.shares[share].listeners[place].participant.value)
        }
        mix.shares[share].seat(mixCount: mixCount)
        let (loop, room) = (mix.shares[share].loop, mix.shares[share].room)
        for place in mix.shares[share].listeners.indices where mix.shares[share].listeners[place].hasMoved {
            let listener = mix.shares[share].listeners[place]
            let slot = MixRecord.slot(moveTo: listener.place, channels: mix.shares[share].placement.channels[listener.place])
            guard let record = unsafe reserve(MixRecord.moveBytes, loop, room, slot, FrameTraits(rawValue: 0)) else { continue }
            unsafe record.storeBytes(of: listener.participant.value, as: UInt32.self)
            unsafe record.storeBytes(of: listener.entry, toByteOffset: 4, as: UInt32.self)
            commit(loop)
            mix.shares[share].listeners[place].hasMoved = false
        }
        for place in mix.shares[share].placement.mixes.indices {
            guard let number = mix.shares[share].placement.mixes[place] else { continue }
            let slot = MixRecord.slot(frameOf: place, channels: mix.shares[share].placement.channels[place])
            let packet = mix.mixer.packet(number)
            let byteCount = MediaHeader.byteCount + mix.mixer.encoded(number).byteCount
            guard let record = unsafe reserve(byteCount, loop, room, slot, FrameTraits(rawValue: 0)) else { continue }
            let header = MediaHeader(
                kind: .audio, flags: packet.isSilence ? .silence : [], level: packet.level, stream: StreamID(MixMembership.stream),
                sequence: mix.sequence, timestamp: mix.timestamp)
            unsafe header.write(into: record)
            unsafe AudioWorker.copy(mix.mixer.encoded(number), behindHeaderOf: record)
            commit(loop)
        }
    }

    private static func copy(_ packet: RawSpan, behindHeaderOf frame: UnsafeMutableRawBufferPointer) {
        unsafe packet.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(rebasing: frame[MediaHeader.byteCount...]).copyMemory(from: $0) }
    }

    // MARK: Statistics

    func addMixes(to snapshot: inout AudioSnapshot) {
        snapshot.mixes = mixes.count
        for mix in mixes { snapshot.mixOutputs += mix.outputs.count }
        for stream in live {
            guard let mix = stream.mix, let statistics = mix.mixer.statistics(of: stream.id) else { continue }
            snapshot.add(statistics, AudioBufferName(stream.room, stream.id, paced: nil))
        }
    }
}

extension AudioStreamDescription {
    /// - Returns: `nil` for what is no audio, or no audio that can be.
    init?(_ info: RelayMessage.StreamInfo) {
        guard case .audio(let codec)? = MediaCodec(codecString: info.codec) else { return nil }
        let usual: Double
        switch codec {
        case .pcmu, .pcma: usual = 8_000
        case .opus, .pcmS16, .aac: usual = 48_000
        }
        guard let rate = UInt32(exactly: (info.description?.sampleRate ?? usual).rounded()),
            let channels = UInt8(exactly: info.description?.channels ?? 1)
        else { return nil }
        self.init(codec: codec, sampleRate: rate, channels: channels)
    }
}
