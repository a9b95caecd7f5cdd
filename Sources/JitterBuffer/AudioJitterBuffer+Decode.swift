import RelayBase

extension AudioJitterBuffer where Decoder: ~Copyable {
    /// What is reserved for a packet, with what may come before it to join it to what was played.
    private var room: Int { packetCountMax + expansion.mergedMax }

    /// Decodes packets that follow on one another until so much waits, or the next one is missing.
    ///
    /// - Returns: whether any sound came of it.
    mutating func fill(_ needed: Int, now: Int64) -> Bool {
        var isAny = false
        while queue.count < needed, let packet = store.first {
            let gap = packet.ticks - endTicks
            if gap < 0, packet.durationTicks > 0, packet.endTicks <= endTicks {
                store.removeFirst()
                counters.late &+= 1
                continue
            }
            guard gap <= roundingTicks else { break }
            if packet.isDiscontinuity, !mustJoin { enter(packet) }
            if decodeFirst(packet, now: now) { isAny = true }
        }
        return isAny
    }

    /// Decodes the oldest packet onto the queue, and takes it out of the store.
    private mutating func decodeFirst(_ packet: StoredPacket, now: Int64) -> Bool {
        if mustJoin { QueueKernels.begin(&expansion, after: queue) }
        let waited = now + scale.microseconds(samples: queue.count) - packet.arrival
        let made =
            packet.durationTicks > 0 ? QueueKernels.decode(store, by: &decoder, into: &queue, room: room, countMax: packetCountMax) : 0
        store.removeFirst()
        history.append(sequence: packet.sequence, ticks: packet.ticks)
        if packet.durationTicks > 0, made <= 0 {
            // Damaged: it is as if it had been lost, and its place is concealed.
            counters.malformed &+= 1
            return false
        }
        sequence = packet.sequence
        isSilence = packet.isSilence
        mustJoin = false
        bridged = 0
        isStarved = false
        packetTicks = scale.ticks(samples: made)
        endTicks = packet.ticks + packetTicks
        guard made > 0 else { return false }
        concealment.end()
        QueueKernels.commit(made, joinedTo: &expansion, in: &queue, room: room)
        if isFirst, !configuration.isMeasurement { QueueKernels.fadeIn(&queue, count: min(pullCount / 4, made)) }
        isFirst = false
        let delay = Int64(made) * max(waited, 0) + delayRest
        counters.delaySampleMilliseconds &+= UInt64(delay / 1000)
        delayRest = delay % 1000
        return true
    }

    /// Stands in for what is not there, until there are 10 ms.
    mutating func bridge(wanted: Int64, now: Int64, outcome: inout PlayoutOutcome) {
        while queue.count < pullCount {
            guard let packet = store.first else {
                if finishDraining() { return }
                isStarved = true
                outcome.decision = isSilence ? .comfortNoise : .conceal
                if isSilence { makeNoise() } else { conceal() }
                if bridged > Self.starvedSecondsMax * configuration.sampleRate { stopStarved() }
                continue
            }
            if isDraining, packet.isDiscontinuity, finishDraining() { return }
            let gap = packet.ticks - endTicks
            if gap > roundingTicks {
                if isLeftOut(packet) {
                    guard isDraining || delay(of: packet.ticks, now: now) >= wanted - PlayoutControl.slackMicroseconds else {
                        outcome.decision = .comfortNoise
                        makeNoise()
                        continue
                    }
                } else if recover(packet, gap: gap) {
                    outcome.isAudible = true
                    continue
                } else if !isReached(packet, gap: gap, wanted: wanted, now: now) {
                    outcome.decision = .conceal
                    conceal()
                    continue
                }
                enter(packet)
            } else if isBuildingUp(wanted: wanted, now: now) {
                outcome.decision = .conceal
                conceal()
                continue
            }
            if fill(pullCount, now: now) { outcome.isAudible = true }
        }
    }

    /// Between what was decoded last and a packet nothing is missing: the sender sent nothing.
    private func isLeftOut(_ packet: StoredPacket) -> Bool {
        isSilence || packet.isDiscontinuity || packet.sequence == sequence &+ 1
    }

    /// Enough was concealed for what is missing before a packet, or it is high time for the packet.
    private func isReached(_ packet: StoredPacket, gap: Int64, wanted: Int64, now: Int64) -> Bool {
        if isDraining || scale.ticks(samples: bridged) >= gap { return true }
        guard bridged >= pullCount else { return false }
        let due = delay(of: packet.ticks, now: now)
        // After a stall whose packets are gone for good, waiting for the whole target would only be more silence: half is a beginning, the rest is stretched.
        return due >= (isStarved ? wanted / 2 : wanted)
    }

    /// A queue grows on the way, and what plays was caught up with: without a little more to go on with it would be again and again, and there would be too little
    /// sound at a time to stretch.
    func isBuildingUp(wanted: Int64, now: Int64) -> Bool {
        guard isStarved, bridged > 0, bridged < Self.buildingPullsMax * pullCount, !isDraining, let packet = store.first else { return false }
        return target.isGrowing(recent: arrivals.recent) && delay(of: packet.ticks, now: now) < wanted
    }

    private static var buildingPullsMax: Int { 4 }

    /// Makes the lost packet of what the one after it carries.
    private mutating func recover(_ packet: StoredPacket, gap: Int64) -> Bool {
        let redundant = min(decoder.redundantSampleCount(of: store.payload(0)), packetCountMax)
        guard redundant > 0, scale.ticks(samples: redundant) + roundingTicks >= gap else { return false }
        if mustJoin { QueueKernels.begin(&expansion, after: queue) }
        let made = QueueKernels.decodeRedundancy(store, by: &decoder, count: redundant, into: &queue, room: room, countMax: packetCountMax)
        guard made > 0 else { return false }
        QueueKernels.commit(made, joinedTo: &expansion, in: &queue, room: room)
        counters.recovered &+= 1
        concealment.end()
        mustJoin = false
        bridged = 0
        isStarved = false
        sequence = packet.sequence &- 1
        endTicks = packet.ticks
        return true
    }

    /// Fills up 10 ms with concealment: the decoder's, then or where it has none, what was played last dying away, over the noise of the background, and in the end
    /// silence. A decoder left to itself goes on hissing with what it takes for background.
    private mutating func conceal() {
        let isBrief = bridged < configuration.sampleRate * Self.decodersConcealmentMilliseconds / 1_000
        var made = expansion.isConcealing || !isBrief ? 0 : QueueKernels.conceal(pullCount, by: &decoder, into: &queue, room: packetCountMax)
        if made <= 0 {
            made = pullCount - queue.count
            let isNoisy = !configuration.isMeasurement && bridged < configuration.sampleRate * Self.noiseMillisecondsMax / 1_000
            QueueKernels.conceal(made, by: &expansion, over: &noise, isNoisy: isNoisy, into: &queue, room: packetCountMax)
        }
        let isSilent = QueueKernels.isQuiet(made, behind: &queue, power: 1e-7)
        queue.commit(made)
        bridged += made
        concealment.concealed(made, isSilent: isSilent, in: &counters)
    }

    /// Puts the background's noise on the queue, or silence.
    private mutating func makeNoise() {
        let count = pullCount - queue.count
        bridged += count
        guard !configuration.isMeasurement else { return QueueKernels.silence(count, into: &queue) }
        let made = QueueKernels.conceal(pullCount, by: &decoder, into: &queue, room: packetCountMax)
        if made <= 0 { QueueKernels.generate(count, by: &noise, into: &queue, room: packetCountMax) }
        queue.commit(made > 0 ? made : count)
    }

    /// Everything has played out.
    private mutating func finishDraining() -> Bool {
        guard isDraining else { return false }
        finish()
        return true
    }

    private mutating func stopStarved() {
        finish()
    }

    /// Nothing more of this timeline: what is left of 10 ms is silence.
    private mutating func finish() {
        QueueKernels.silence(max(pullCount - queue.count, 0), into: &queue)
        decoder.reset()
        stop()
    }
}
