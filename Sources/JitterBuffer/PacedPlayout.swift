package import RelayBase

/// Frames in, as they come; the same frames out, unopened, spaced as their timestamps are. What comes too late is dropped.
///
/// A frame is due when the fastest of late would have come, plus the delay target. When the target or the reference moves, the schedule follows by at most a
/// twentieth of the time that passes, so that spacing stays even; a schedule that nothing of the last second could keep is given up at once.
///
/// In the statistics a frame of unknown duration counts as 20 ms. ``insert(_:frame:durationTicks:now:)`` and ``release(now:)`` allocate nothing.
package struct PacedPlayout: ~Copyable {
    private let scale: TickScale
    private var store: PacketStore
    private var timeline: MediaTimeline
    private var arrivals = ArrivalStatistics()
    private var target: DelayTarget
    private var history = PlayedPackets()
    private var counters = JitterStatistics()
    /// Of the schedule: when something of media time 0 is due. `nil` before the first frame.
    private var schedule: Int64?
    private var scheduledAt: Int64 = 0
    private var releasedTicks = Int64.min
    private var delayRest: Int64 = 0
    /// The oldest frame of the store has been released, and its bytes are lent.
    private var isLent = false

    /// The schedule moves by at most that part of the time that passes, where nothing is amiss.
    private static var slewDivisor: Int64 { 20 }
    /// And from this far above the target on, by that part: within ``PlayoutControl/shrinkMilliseconds`` a second's excess has gone.
    private static var fastSlewDivisor: Int64 { 3 }
    private static var fastSlewMicroseconds: Int64 { 60_000 }
    /// A frame that is late by no more than this goes out at once: a timer is not exact.
    private static var toleranceMicroseconds: Int64 { 2_000 }

    /// - Parameter configuration: of it count timescale, profile, bounds and pinned delay.
    package init(_ configuration: JitterConfiguration) {
        scale = TickScale(timescale: configuration.timescale, sampleRate: configuration.sampleRate)
        store = PacketStore(
            packetsMax: configuration.packetsMax, bytesMax: configuration.bytesMax,
            durationTicksMax: scale.ticks(microseconds: Int64(max(configuration.bufferedMillisecondsMax, 20)) * 1000))
        timeline = MediaTimeline(scale: scale)
        target = DelayTarget(configuration)
    }

    /// Takes profile, bounds of the delay and pinned delay.
    package mutating func configure(_ configuration: JitterConfiguration) {
        target.configure(configuration)
    }

    /// Takes a frame.
    ///
    /// - Parameters:
    ///   - frame: opaque, header included; given back by ``released``.
    ///   - durationTicks: what it plays; 0 when that is not known.
    package mutating func insert(_ packet: JitterPacket, frame: RawSpan, durationTicks: UInt32, now: MonotonicInstant) -> InsertOutcome {
        giveBack()
        counters.packetsInserted &+= 1
        let now = now.microseconds
        guard let place = timeline.place(packet, arrival: now, reference: arrivals.reference, endTicks: store.last?.endTicks ?? releasedTicks) else {
            counters.late &+= 1
            return .late
        }
        let duration = min(Int64(durationTicks), scale.timescale / 5)
        var stored = StoredPacket(sequence: packet.sequence, ticks: place.ticks, durationTicks: duration, arrival: now)
        stored.isDiscontinuity = place.isBeginning
        stored.isSilence = packet.isSilence
        if history.contains(sequence: packet.sequence, ticks: stored.ticks) {
            counters.duplicates &+= 1
            return .duplicate
        }
        observe(stored)
        guard stored.ticks >= releasedTicks, !isLate(stored, now: now) else {
            // Remembered, so that the same again is a duplicate.
            history.append(sequence: packet.sequence, ticks: stored.ticks)
            counters.late &+= 1
            return .late
        }
        switch store.insert(stored, payload: frame) {
        case .duplicate:
            counters.duplicates &+= 1
            return .duplicate
        case .tooLarge:
            counters.malformed &+= 1
            return .malformed
        case .stored(let flushed):
            counters.discarded &+= UInt64(flushed)
            return flushed > 0 ? .storedFlushingOldest : .stored
        }
    }

    private func isLate(_ packet: StoredPacket, now: Int64) -> Bool {
        guard let schedule else { return false }
        return now > schedule + scale.microseconds(packet.ticks) + Self.toleranceMicroseconds
    }

    private mutating func observe(_ packet: StoredPacket) {
        let delay = arrivals.observe(media: scale.microseconds(packet.ticks), arrival: packet.arrival)
        if arrivals.step > 0 { target.referenceRose(by: arrivals.step) }
        target.observe(
            delay: delay, recent: arrivals.recent, gap: arrivals.gap, duration: scale.microseconds(packet.durationTicks), arrival: packet.arrival)
        guard let reference = arrivals.reference else { return }
        let wanted = reference + target.microseconds(recent: arrivals.edge)
        // Nothing of the last second could keep the schedule: it is the schedule that is wrong.
        let isHopeless = arrivals.edge > target.microseconds && wanted > schedule ?? wanted
        if schedule == nil || isHopeless || packet.isDiscontinuity && store.count == 0 {
            schedule = wanted
            scheduledAt = packet.arrival
        }
        move(to: wanted, now: packet.arrival)
    }

    private mutating func move(to wanted: Int64, now: Int64) {
        guard let schedule else { return }
        let passed = max(now - scheduledAt, 0)
        let isFar = schedule - wanted > Self.fastSlewMicroseconds
        let most = passed / (isFar ? Self.fastSlewDivisor : Self.slewDivisor)
        self.schedule = schedule + min(max(wanted - schedule, -most), most)
        scheduledAt = now
    }

    /// When the oldest frame is due; `nil` when there is none.
    package var nextRelease: MonotonicInstant? {
        let place = isLent ? 1 : 0
        guard store.count > place, let schedule else { return nil }
        return MonotonicInstant(microseconds: schedule + scale.microseconds(store[place].ticks))
    }

    /// Takes out the oldest frame if it is due; ``released`` is its bytes until the next mutating call. To be asked until it says no.
    package mutating func release(now: MonotonicInstant) -> Bool {
        giveBack()
        let now = now.microseconds
        guard let schedule, let first = store.first else { return false }
        let due = schedule + scale.microseconds(first.ticks)
        guard due <= now else { return false }
        isLent = true
        releasedTicks = first.ticks
        history.append(sequence: first.sequence, ticks: first.ticks)
        let count = first.durationTicks > 0 ? scale.samples(ticks: first.durationTicks) : Int(scale.sampleRate) / 50
        counters.samplesPlayed &+= UInt64(max(count, 0))
        let delay = Int64(max(count, 0)) * max(now - first.arrival, 0) + delayRest
        counters.delaySampleMilliseconds &+= UInt64(delay / 1000)
        delayRest = delay % 1000
        return true
    }

    /// The frame that was released last; empty when there is none, or something was done since.
    package var released: RawSpan {
        @_lifetime(borrow self)
        get {
            guard isLent else { return RawSpan() }
            return store.payload(0)
        }
    }

    private mutating func giveBack() {
        guard isLent else { return }
        isLent = false
        store.removeFirst()
    }

    /// Drops everything; the next frame begins anew. What was learnt of the path stays.
    package mutating func reset() {
        giveBack()
        counters.discarded &+= UInt64(store.count)
        store.removeAll()
        timeline.reset()
        arrivals.reset()
        schedule = nil
        releasedTicks = .min
    }

    /// Frames that wait for their time.
    package var waitingCount: Int { store.count - (isLent ? 1 : 0) }

    package var statistics: JitterStatistics {
        var statistics = counters
        statistics.targetMilliseconds = UInt32(clamping: target.microseconds / 1000)
        statistics.levelMilliseconds = UInt32(clamping: scale.microseconds(store.durationTicks) / 1000)
        statistics.driftPartsPerMillion = arrivals.driftPartsPerMillion
        return statistics
    }
}
