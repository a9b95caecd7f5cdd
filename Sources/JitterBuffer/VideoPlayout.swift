import MediaProtocol
package import RelayBase

/// Pictures in, as they come; each out when its time is there: that of the sound that belongs to it, or, without sound, as long after the fastest as is needed.
///
/// A picture whose time is over (more than 40 ms behind the sound) is not shown; if others need it, it is given out to be decoded all the same, as fast as can be,
/// unless a key frame further on is due, too. What was dropped and is needed makes all that follows useless, up to the next key frame: see ``needsKeyFrame``. Gaps in
/// the sequence mean nothing here: relays leave out what nobody needs, and after a loss go on with a key frame. If nothing could be shown for 250 ms, late pictures
/// are: out of step is better than a still.
///
/// Bounded in frames, bytes and duration; allocates nothing after `init`. One owner at a time; `now` never goes back.
package struct VideoPlayout: ~Copyable {
    private let configuration: VideoPlayoutConfiguration
    private let scale: TickScale
    private var store: PacketStore
    private var timeline: VideoTimeline
    private var arrivals = ArrivalStatistics()
    private var target: DelayTarget
    private var freezes = VideoFreezeCounter()
    private var counters = VideoPlayoutStatistics()
    private var history = PlayedPackets()
    /// The first frame of the store was given out: it goes with the next call.
    private var isFirstReleased = false
    /// Of what was given out last.
    private var releasedTicks: Int64 = .min
    private var shownTicks: Int64 = .min
    private var newestTicks: Int64 = .min
    private var alignment: VideoAlignment
    /// How much later than its sound each picture came, at the most: for ``VideoPlayoutStatistics/audioDelayWantedMilliseconds``.
    private var lateness: Int64 = 0
    /// What comes cannot be decoded before the next key frame, which the publisher should be asked for.
    package private(set) var needsKeyFrame = true

    /// After so long without a picture a late one is shown.
    private static var stillMicrosecondsMax: Int64 { 250_000 }
    /// Tick lengths do not divide evenly.
    private static var roundingMicroseconds: Int64 { 500 }

    package init(_ configuration: VideoPlayoutConfiguration) {
        self.configuration = configuration
        scale = TickScale(timescale: configuration.timescale, sampleRate: configuration.timescale)
        store = PacketStore(
            packetsMax: configuration.framesMax, bytesMax: configuration.bytesMax, durationTicksMax: .max)
        timeline = VideoTimeline(scale: scale)
        alignment = VideoAlignment(scale: scale)
        var delay = JitterConfiguration()
        delay.profile = configuration.profile
        target = DelayTarget(delay)
    }

    /// Takes a whole media frame, header included.
    package mutating func insert(_ frame: RawSpan, now: MonotonicInstant) -> InsertOutcome {
        dropReleased()
        counters.framesInserted &+= 1
        let header: MediaHeader
        let extensions: MediaExtensions
        do throws(MediaFault) {
            header = try MediaHeader(parsing: frame)
            extensions = try MediaExtensions(frame: frame, flags: header.flags)
        } catch {
            counters.malformed &+= 1
            return .malformed
        }
        guard header.kind == .video else {
            counters.malformed &+= 1
            return .malformed
        }
        let arrival = now.microseconds
        let ticks = timeline.place(
            header.timestamp, isDiscontinuity: header.flags.contains(.discontinuity), arrival: arrival, reference: arrivals.reference)
        observe(ticks: ticks, arrival: arrival)
        alignment.observe(timestamp: header.timestamp, capturedAt: extensions.captureTime)
        // Layers of one picture count apart, and are decoded from the lowest up.
        let order = UInt32(header.layer.spatial) << 24 | header.sequence & 0xFF_FFFF
        if history.contains(sequence: order, ticks: ticks) {
            counters.duplicates &+= 1
            return .duplicate
        }
        guard ticks >= releasedTicks else {
            counters.late &+= 1
            if !header.flags.contains(.discardable) { loseReference() }
            return .late
        }
        return keep(StoredPacket(sequence: order, ticks: ticks, durationTicks: 0, arrival: arrival), header, frame)
    }

    private mutating func keep(_ stored: StoredPacket, _ header: MediaHeader, _ frame: RawSpan) -> InsertOutcome {
        switch store.insert(stored, payload: frame) {
        case .duplicate:
            counters.duplicates &+= 1
            return .duplicate
        case .tooLarge:
            counters.malformed &+= 1
            if !header.flags.contains(.discardable) { loseReference() }
            return .malformed
        case .stored(var flushed):
            newestTicks = max(newestTicks, stored.ticks)
            let span = scale.ticks(microseconds: Int64(configuration.bufferedMillisecondsMax) * 1_000)
            while let first = store.first, store.count > 1, newestTicks - first.ticks > span {
                removeFirst()
                flushed += 1
            }
            guard flushed > 0 else { return .stored }
            counters.discarded &+= UInt64(flushed)
            loseReference()
            return .storedFlushingOldest
        }
    }

    private mutating func observe(ticks: Int64, arrival: Int64) {
        let delay = arrivals.observe(media: scale.microseconds(ticks), arrival: arrival)
        if arrivals.step > 0 { target.referenceRose(by: arrivals.step) }
        target.observe(delay: delay, recent: arrivals.recent, gap: arrivals.gap, duration: 0, arrival: arrival)
    }

    // MARK: Giving out

    /// Gives out the next frame that is due, which ``released`` then is; to be called until it gives nothing.
    ///
    /// - Parameter audio: the sound that belongs to the pictures; `nil` when there is none.
    package mutating func release(now: MonotonicInstant, audio: AudioClock?) -> VideoRelease {
        dropReleased()
        let now = now.microseconds
        if let audio, store.count > 0 { alignment.observe(audio, timestamp: store.payload(0).frameTimestamp, own: own(0)) }
        skipToDueKey(now, audio)
        while let first = store.first {
            let flags = self.flags(0)
            if flags.contains(.discontinuity) { needsKeyFrame = true }
            if needsKeyFrame, !flags.contains(.key) {
                removeFirst()
                counters.undecodable &+= 1
                continue
            }
            let (due, isHeld) = due(0, audio)
            let late = now - due
            guard late >= -Self.roundingMicroseconds else { return .nothing }
            noteLateness(late, isHeld: isHeld)
            let bound = Int64(configuration.lateMillisecondsMax) * 1_000
            if late > bound, !mayShowLate(now, audio, isHeld: isHeld) {
                if flags.contains(.discardable) {
                    removeFirst()
                    counters.late &+= 1
                    continue
                }
                giveOut(first, flags)
                counters.decodedOnly &+= 1
                return .decodeOnly
            }
            giveOut(first, flags)
            return show(first, late: late, now: now, isLate: late > bound, isHeld: isHeld)
        }
        return .nothing
    }

    /// The frame that was given out; valid until the next mutating call.
    package var released: RawSpan {
        @_lifetime(borrow self)
        get {
            precondition(isFirstReleased, "a frame was given out")
            return store.payload(0)
        }
    }

    /// When the next frame is due; `nil` when none is there.
    package func nextRelease(audio: AudioClock?) -> MonotonicInstant? {
        let place = isFirstReleased ? 1 : 0
        guard place < store.count else { return nil }
        return MonotonicInstant(microseconds: due(place, audio).microseconds)
    }

    /// Drops all. What was learnt of the path stays; a key frame comes next.
    package mutating func reset() {
        dropReleased()
        counters.discarded &+= UInt64(store.count)
        store.removeAll()
        timeline.reset()
        arrivals.reset()
        freezes.interrupt()
        alignment.reset()
        needsKeyFrame = true
        releasedTicks = .min
        newestTicks = .min
        lateness = 0
    }

    package var statistics: VideoPlayoutStatistics {
        var statistics = counters
        statistics.framesBuffered = UInt32(clamping: store.count - (isFirstReleased ? 1 : 0))
        statistics.bytesBuffered = UInt32(clamping: store.byteCount)
        statistics.targetMilliseconds = UInt32(clamping: target.microseconds / 1_000)
        statistics.audioDelayWantedMilliseconds = Int32(clamping: (lateness + 999) / 1_000)
        return statistics
    }

    // MARK: Parts

    private mutating func dropReleased() {
        guard isFirstReleased else { return }
        isFirstReleased = false
        removeFirst()
    }

    private mutating func removeFirst() {
        if let first = store.first { history.append(sequence: first.sequence, ticks: first.ticks) }
        store.removeFirst()
    }

    private mutating func giveOut(_ frame: StoredPacket, _ flags: MediaFlags) {
        isFirstReleased = true
        releasedTicks = frame.ticks
        if flags.contains(.key) { needsKeyFrame = false }
    }

    private mutating func loseReference() {
        needsKeyFrame = true
    }

    private func flags(_ place: Int) -> MediaFlags {
        MediaFlags(rawValue: store.payload(place).frameFlags)
    }

    /// Of several key frames that are due the last begins: what is before it needs neither decoding nor showing. Done only when the first frame is late.
    private mutating func skipToDueKey(_ now: Int64, _ audio: AudioClock?) {
        guard store.count > 1, now - due(0, audio).microseconds > Int64(configuration.lateMillisecondsMax) * 1_000 else { return }
        var place = store.count - 1
        while place > 0, !(flags(place).contains(.key) && due(place, audio).microseconds <= now && store[place].ticks > store[0].ticks) { place -= 1 }
        // The lowest layer of that picture.
        while place > 0, store[place - 1].ticks == store[place].ticks { place -= 1 }
        for _ in 0..<place {
            removeFirst()
            counters.late &+= 1
        }
    }

    /// A late picture is shown when nothing newer is due, and either there is no sound to be out of step with or the last picture has stood for too long.
    private func mayShowLate(_ now: Int64, _ audio: AudioClock?, isHeld: Bool) -> Bool {
        var next = 1
        while next < store.count, store[next].ticks == store[0].ticks { next += 1 }
        if next < store.count, due(next, audio).microseconds <= now { return false }
        guard isHeld, let still = freezes.sinceLast(now) else { return true }
        return still >= Self.stillMicrosecondsMax
    }

    private mutating func show(_ frame: StoredPacket, late: Int64, now: Int64, isLate: Bool, isHeld: Bool) -> VideoRelease {
        let at = max(now, now - late + compositionMicroseconds)
        counters.shown &+= 1
        counters.isHeldToAudio = isHeld
        if isLate { counters.shownLate &+= 1 }
        if frame.ticks != shownTicks {
            shownTicks = frame.ticks
            if let still = freezes.show(at: now) {
                counters.freezes &+= 1
                counters.freezeMilliseconds &+= UInt64(still / 1_000)
            }
            counters.skewMilliseconds = isHeld ? Int32(clamping: late / 1_000) : 0
            if !isLate { counters.skewMillisecondsMax = max(counters.skewMillisecondsMax, Int32(clamping: counters.skewMilliseconds.magnitude)) }
        }
        return .show(at: MonotonicInstant(microseconds: at))
    }

    /// Of the frame that was given out: by how much it is shown later than it is decoded.
    private var compositionMicroseconds: Int64 {
        let frame = store.payload(0)
        guard let header = try? MediaHeader(parsing: frame), let extensions = try? MediaExtensions(frame: frame, flags: header.flags) else {
            return 0
        }
        return max(scale.microseconds(Int64(extensions.compositionOffset ?? 0)), 0)
    }

    /// The most of late, sinking slowly: what holding the sound back would have to make up for.
    private mutating func noteLateness(_ late: Int64, isHeld: Bool) {
        guard isHeld else {
            lateness = 0
            return
        }
        let bound = Int64(configuration.lateMillisecondsMax) * 1_000
        lateness = max(late > bound ? late : 0, lateness - lateness / 128)
        if lateness < 1_000 { lateness = 0 }
    }

    /// When the frame at a place of the store is due, and whether it is the sound that says so.
    private func due(_ place: Int, _ audio: AudioClock?) -> (microseconds: Int64, isHeld: Bool) {
        let own = own(place)
        guard let audio, let held = alignment.due(store.payload(place).frameTimestamp, audio, own: own) else { return (own, false) }
        return (held, true)
    }

    private func own(_ place: Int) -> Int64 {
        scale.microseconds(store[place].ticks) + (arrivals.reference ?? 0) + target.microseconds
    }
}

extension RawSpan {
    /// Of a media frame that was checked when it was stored.
    fileprivate var frameFlags: UInt8 { unsafe unsafeLoad(fromByteOffset: 1, as: UInt8.self) }
    fileprivate var frameTimestamp: UInt32 { UInt32(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: 12, as: UInt32.self)) }
}
