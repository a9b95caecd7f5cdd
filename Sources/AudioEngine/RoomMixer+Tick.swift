internal import MediaProtocol
package import RelayBase

extension RoomMixer {
    /// Makes the next 10 or 20 ms: decodes, chooses, adds up, encodes. To be called once in that time, whatever has come.
    package mutating func tick(now: MonotonicInstant) {
        ticks += 1
        sequence &+= 1
        if ticks > 1 { timestamp &+= UInt32(truncatingIfNeeded: configuration.tickMilliseconds * Self.ticksPerSecond / 1_000) }
        packets.removeAll()
        chooseSpeakers(now: now)
        assignEncoders()
        encode()
        clock &+= UInt64(configuration.sampleRate * configuration.tickMilliseconds / 1_000)
        finishInputs()
    }

    private mutating func chooseSpeakers(now: MonotonicInstant) {
        for place in 0..<inputs.endIndex where inputs.isLive(place) {
            inputs[place].pull(now: now)
            selection.observe(place, decibels: inputs[place].level.decibels, milliseconds: configuration.tickMilliseconds)
        }
        selection.choose(milliseconds: configuration.tickMilliseconds)
        contributions.removeAll(keepingCapacity: true)
        speakersNow.removeAll(keepingCapacity: true)
        for place in 0..<inputs.endIndex where inputs.isLive(place) {
            let isChosen = selection.isChosen(place)
            inputs[place].choose(isChosen)
            guard inputs[place].isHeard else { continue }
            contributions.append(inputs[place].contribution)
            if isChosen {
                speakersNow.append(
                    MixSpeaker(input: inputs[place].id, participant: inputs[place].participant, level: inputs[place].level.audioLevel))
            }
        }
    }

    /// Decides for each output which encoder it hears, and lets the one it comes to go on where the other was.
    private mutating func assignEncoders() {
        for place in 0..<classes.endIndex where classes.isLive(place) { classes[place].sharedCount = 0 }
        var joining = false
        for index in outputs.indices {
            let place = outputs[index].mixClass
            let needs = outputs[index].needsOwn(contributions, clock: clock)
            // One tick longer: the overlap of windows and what the limiter holds are still of the tick before.
            if needs || outputs[index].neededOwn, outputs[index].own == nil { takeOwn(index) }
            if !needs, !outputs[index].neededOwn, let own = outputs[index].own.take() {
                classes[place].giveBack(own)
                outputs[index].isNew = true
            }
            outputs[index].neededOwn = needs
            // Without an encoder (no memory) he hears nothing, and not himself.
            guard outputs[index].own == nil, !needs else { continue }
            classes[place].sharedCount += 1
            joining = joining || outputs[index].isNew
        }
        guard joining else { return }
        joinShared()
    }

    private mutating func takeOwn(_ index: Int) {
        let place = outputs[index].mixClass
        if classes[place].freeCount == 0 { try? classes[place].addOwn(configuration) }
        // Who comes to this format while he is heard has never had its shared mix, and it has his voice.
        let participant = outputs[index].format.participant
        let isFresh = outputs[index].isNew && (outputs[index].neededOwn || contributions.contains { $0.participant == participant && $0.gain != 0 })
        outputs[index].own = classes[place].takeOwn(isFresh: isFresh, scratch: &packets)
        warmUpsTotal &+= 1
    }

    /// Shared encoders that somebody comes to break their prediction, once a tick.
    private mutating func joinShared() {
        for place in 0..<classes.endIndex where classes.isLive(place) && classes[place].sharedCount > 0 {
            var isJoined = false
            for index in outputs.indices where outputs[index].mixClass == place && outputs[index].hearsShared && outputs[index].isNew {
                outputs[index].isNew = false
                isJoined = true
            }
            guard isJoined else { continue }
            classes[place].join(tick: ticks, scratch: &packets)
        }
    }

    private mutating func encode() {
        let isVoice = contributions.contains { $0.level.isVoice }
        for index in outputs.indices { outputs[index].place = nil }
        for place in 0..<classes.endIndex where classes.isLive(place) {
            classes[place].mixShared(contributions)
            guard classes[place].sharedCount > 0 else { continue }
            let made = classes[place].encodeShared(tick: ticks, into: &packets)
            let packet = append(made, isVoice: isVoice, isShared: true)
            for index in outputs.indices where outputs[index].mixClass == place && outputs[index].hearsShared { outputs[index].place = packet }
        }
        for index in outputs.indices {
            guard let own = outputs[index].own else { continue }
            let place = outputs[index].mixClass
            classes[place].mixOwn(own, of: outputs[index], contributions, clock: clock)
            let made = classes[place].encodeOwn(own, tick: ticks, into: &packets)
            outputs[index].place = append(made, isVoice: isVoice, isShared: false)
        }
    }

    private mutating func append(_ made: (byteCount: Int, decibels: Float, isSilence: Bool), isVoice: Bool, isShared: Bool) -> Int {
        if !made.isSilence { encodesTotal &+= 1 }
        let level = MeasuredLevel(decibels: made.decibels, isVoice: isVoice && made.decibels >= SpeakerSelection.audible)
        return packets.append(
            MixedPacket(level: level.audioLevel, isSilence: made.isSilence, isShared: isShared, byteCount: made.byteCount))
    }

    private mutating func finishInputs() {
        for place in 0..<inputs.endIndex where inputs.isLive(place) {
            inputs[place].finishTick()
            if inputs[place].isLeaving { inputs.remove(inputs.handle(at: place)) }
        }
    }
}
