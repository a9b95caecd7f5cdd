import AudioEngine
import RelayBase
import RelayRooms

/// What single listeners of a mix hear louder or softer, at once or from a frame on.
extension AudioWorker {
    func setGain(_ room: RoomNumber, _ participant: ParticipantID, _ gain: MixGain) {
        guard let mix = mix(of: room), mix.outputs[participant.value] != nil else { return }
        if case .stream(let stream) = gain.target, self.stream(room, stream)?.mix !== mix { return }
        if gain.at != nil {
            hold(gain, participant, mix)
        } else {
            set(gain, participant, mix)
        }
    }

    private func set(_ gain: MixGain, _ participant: ParticipantID, _ mix: RoomMix) {
        guard let output = mix.outputs[participant.value] else { return }
        let isUnity = gain.volume == 1 && gain.pan == 0
        if output.gains.isEmpty, !isUnity, mix.personalCount >= limits.mixPersonalMax {
            counters.gainsRefused &+= 1
            return
        }
        mix.outputs[participant.value]?.gains.removeAll { $0.target == gain.target }
        if !isUnity { mix.outputs[participant.value]?.gains.append(gain) }
        if output.isMade { apply(gain, to: participant.value, mix, rampMilliseconds: gain.rampMilliseconds) }
    }

    func apply(_ gain: MixGain, to id: UInt32, _ mix: RoomMix, rampMilliseconds: Double) {
        switch gain.target {
        case .stream(let stream):
            mix.mixer.setGain(
                output: id, input: stream, ParameterGain(volume: gain.volume, rampMilliseconds: rampMilliseconds, pan: gain.pan))
        case .mix, .duck:
            let gains = mix.outputs[id]?.gains ?? []
            let whole = gains.reduce(Float(1)) { $1.target == .mix || $1.target == .duck ? $0 * $1.volume : $0 }
            mix.mixer.setGain(output: id, whole, rampMilliseconds: rampMilliseconds)
        }
    }

    // MARK: From a frame on

    private func hold(_ gain: MixGain, _ participant: ParticipantID, _ mix: RoomMix) {
        if let awaited = mix.outputs[participant.value]?.awaited, awaited.count >= RoomMix.awaitedGainsMax {
            mix.outputs[participant.value]?.awaited.removeFirst()
            set(awaited[0], participant, mix)
        }
        mix.outputs[participant.value]?.awaited.append(gain)
        mix.awaitsGains = true
    }

    /// Does what takes effect with a frame of the coming tick, or of one that was left out.
    func setAwaitedGains(_ mix: RoomMix) {
        mix.awaitsGains = false
        for (id, output) in mix.outputs where !output.awaited.isEmpty {
            var due: [MixGain] = []
            mix.outputs[id]?.awaited.removeAll { gain in
                guard isDue(gain, mix) else { return false }
                due.append(gain)
                return true
            }
            for gain in due { set(gain, ParticipantID(id), mix) }
            if due.count < output.awaited.count { mix.awaitsGains = true }
        }
    }

    private func isDue(_ gain: MixGain, _ mix: RoomMix) -> Bool {
        guard let at = gain.at else { return true }
        let due: UInt32
        switch gain.target {
        case .mix, .duck: due = at &- mix.timestamp &- RoomMix.tickSamples
        case .stream(let id):
            // Before anything of it was heard, its first frame is awaited.
            guard let stream = stream(mix.room, id), let next = mix.mixer.nextTimestamp(of: id) else { return false }
            due = stream.timescale.ticks(awaiting: at) &- next
        }
        return Int32(bitPattern: due) < Int32(RoomMix.tickSamples)
    }

    func forgetGains(of stream: WorkerStream, in mix: RoomMix) {
        for id in mix.outputs.keys {
            mix.outputs[id]?.gains.removeAll { $0.target == .stream(stream.id) }
            mix.outputs[id]?.awaited.removeAll { $0.target == .stream(stream.id) }
        }
    }
}
