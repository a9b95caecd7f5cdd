package import RelayBase

extension AudioJitterBuffer where Decoder: ~Copyable {
    /// Gives the next 10 ms: of packets, or what stands in for them, or silence.
    ///
    /// - Parameter samples: interleaved; room for a hundredth of the sample rate for each channel, which is filled.
    package mutating func pull(into samples: inout MutableSpan<Float>, now: MonotonicInstant) -> PlayoutOutcome {
        precondition(samples.count >= pullCount * configuration.channels, "room for 10 ms")
        let now = now.microseconds
        let wanted = target.microseconds(recent: arrivals.recent) + pulls.lateness(now: now)
        var outcome = PlayoutOutcome(decision: .wait, isAudible: false, timestamp: timestamp, mediaTimestamp: 0)
        timestamp &+= UInt32(pullCount)
        counters.samplesPlayed &+= UInt64(pullCount)
        guard !isWaiting || begin(wanted: wanted, now: now) else {
            for place in 0..<pullCount * configuration.channels { samples[place] = 0 }
            return outcome
        }
        outcome.mediaTimestamp = timeline.timestamp(of: endTicks - scale.ticks(samples: queue.count))
        outcome.decision = adjust(wanted: wanted, now: now)
        outcome.isAudible = queue.count > 0
        let decoded = isBuildingUp(wanted: wanted, now: now) ? false : fill(pullCount, now: now)
        outcome.isAudible = outcome.isAudible && bridged == 0 || decoded
        if queue.count < pullCount { bridge(wanted: wanted, now: now, outcome: &outcome) }
        queue.play(pullCount, into: &samples, at: 0)
        listen(to: samples.span, decision: outcome.decision)
        return outcome
    }

    /// Whether the first packet is due; what is too old for the live edge goes.
    private mutating func begin(wanted: Int64, now: Int64) -> Bool {
        guard let first = store.first else { return false }
        packetTicks = first.durationTicks
        let due = wanted + lead - PlayoutControl.slackMicroseconds
        while store.count > 1, !isDraining, delay(of: store[1].ticks, now: now) >= due {
            store.removeFirst()
            counters.discarded &+= 1
        }
        let oldest = store[0]
        guard isDraining || delay(of: oldest.ticks, now: now) >= due else { return false }
        isWaiting = false
        enter(oldest)
        mustJoin = false
        isFirst = true
        return true
    }

    /// The next packet that is decoded is this one, whatever came before it.
    mutating func enter(_ packet: StoredPacket) {
        if packet.isDiscontinuity { decoder.reset() }
        endTicks = packet.ticks
        mustJoin = true
    }

    /// Skips and stretches, so that the delay comes nearer to the target.
    private mutating func adjust(wanted: Int64, now: Int64) -> PlayoutDecision {
        guard !isDraining else { return .normal }
        skip(wanted: wanted, now: now)
        guard !configuration.isMeasurement, bridged == 0, !isSilence else { return .normal }
        let excess = delay(of: endTicks, now: now) - lead - wanted
        switch control.advise(excess: excess, target: wanted, lead: lead, isQuiet: isQuiet, now: now) {
        case .keep: return .normal
        case .accelerate(let most): return accelerate(most, isFast: false, now: now)
        case .fastAccelerate(let most): return accelerate(most, isFast: true, now: now)
        case .expand(let most): return expand(most, now: now)
        }
    }

    /// By how much the next packet is needed before it plays: it must be there when the pull begins in the midst of which it begins.
    private var lead: Int64 {
        let short = max(pullCount - scale.samples(ticks: packetTicks), 0)
        return scale.microseconds(samples: max(queue.count % pullCount, short))
    }

    /// Drops the oldest packets while more waits than may be, silent ones while more waits than should.
    private mutating func skip(wanted: Int64, now: Int64) {
        guard let first = store.first else { return }
        let excess = delay(of: first.ticks, now: now) - wanted
        var beyond = control.beyond(excess: excess, excessMax: target.policy.excessMax, now: now)
        while store.count > 1, excess > PlayoutControl.toleranceMicroseconds, beyond > 0 || store[0].isSilence {
            let next = store[1]
            // Not below the target, and not out of one timeline into another.
            guard !next.isDiscontinuity, delay(of: next.ticks, now: now) >= wanted else { break }
            let gone = store[0]
            store.removeFirst()
            counters.discarded &+= 1
            beyond -= scale.microseconds(next.ticks - max(gone.ticks, endTicks))
            sequence = gone.sequence
            isSilence = false
            enter(next)
        }
    }

    private mutating func accelerate(_ most: Int64, isFast: Bool, now: Int64) -> PlayoutDecision {
        let needed = isFast ? 2 * stretch.neededCount : stretch.neededCount
        _ = fill(needed, now: now)
        guard queue.count >= stretch.neededCount, bridged == 0 else { return .normal }
        let removed = QueueKernels.accelerate(&queue, by: &stretch, isFast: isFast, most: scale.samples(microseconds: most))
        guard removed > 0 else { return .normal }
        counters.removedByAccelerate &+= UInt64(removed)
        control.stretched(now: now)
        return isFast ? .fastAccelerate : .accelerate
    }

    private mutating func expand(_ most: Int64, now: Int64) -> PlayoutDecision {
        _ = fill(stretch.neededCount, now: now)
        guard queue.count >= stretch.neededCount, bridged == 0 else { return .normal }
        let inserted = QueueKernels.expand(&queue, by: &stretch, most: scale.samples(microseconds: most))
        guard inserted > 0 else { return .normal }
        counters.insertedByExpand &+= UInt64(inserted)
        control.stretched(now: now)
        return .preemptiveExpand
    }

    /// Learns from what is played: how loud it is, and what the background sounds like.
    private mutating func listen(to samples: Span<Float>, decision: PlayoutDecision) {
        let all = pullCount * configuration.channels
        isQuiet = StretchKernels.energy(samples, 0, count: all) < Self.quietPower * Float(all)
        switch decision {
        case .normal, .accelerate, .fastAccelerate, .preemptiveExpand:
            if !configuration.isMeasurement { noise.learn(samples, count: pullCount) }
        case .conceal, .comfortNoise, .wait: break
        }
    }

    /// −50 dBFS.
    private static var quietPower: Float { 1e-5 }
}
