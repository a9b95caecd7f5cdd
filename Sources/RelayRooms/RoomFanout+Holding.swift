import MediaProtocol
package import RelayBase

// Subscribers, and single streams of theirs, that take nothing for now: an interrupted or paused audio session (protocol document, "Audio sessions").
//
// To hold is to drop what is queued and to give up the stream's layers, so that a held subscriber costs nothing: its frames do not enter, no other loop sends them,
// and its publishers hear that they are not wanted. To release is to begin at the live edge: with the configuration, of video with a key frame, and with the
// discontinuity flag on the first frame, in the subscriber's own copy of it.
extension RoomFanout {
    /// Nothing is given to the subscriber until ``release(_:now:)``: what is queued is dropped, and streams that it comes to want begin then.
    ///
    /// Whoever must send nothing more at all gives the rest of what was begun away first: ``finishMessage(_:into:)``.
    package mutating func hold(_ subscriber: Int, now: MonotonicInstant) {
        guard !subscribers[subscriber].isHeld else { return }
        dropLeft(subscriber)
        subscribers[subscriber].isHeld = true
        for slot in subscribers[subscriber].interests.indices where isSubscribed(subscriber, StreamSlot(slot)) {
            // What drains is dropped as well.
            if subscribers[subscriber].interests[slot].isHeld { dropAll(subscriber, StreamSlot(slot)) }
            setPrimed(subscriber, StreamSlot(slot), .none)
            applyHold(subscriber, StreamSlot(slot), now)
        }
    }

    package mutating func release(_ subscriber: Int, now: MonotonicInstant) {
        guard subscribers[subscriber].isHeld else { return }
        subscribers[subscriber].isHeld = false
        for slot in subscribers[subscriber].interests.indices { applyHold(subscriber, StreamSlot(slot), now) }
    }

    /// The same for one stream; it stays held as long as its subscriber is.
    ///
    /// - Parameter drains: what is queued is still given.
    package mutating func hold(_ subscriber: Int, _ slot: StreamSlot, drains: Bool = false, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot) else { return }
        subscribers[subscriber].interests[slot.index].isPaused = true
        setPrimed(subscriber, slot, .none)
        guard drains, !subscribers[subscriber].interests[slot.index].isHeld else {
            if !drains, subscribers[subscriber].interests[slot.index].isHeld { dropAll(subscriber, slot) }
            applyHold(subscriber, slot, now)
            return
        }
        if streams[slot.index].lane == .video { settle(subscriber, slot) }
        let next = self[streams[slot.index].lane].next
        let layer = subscribers[subscriber].interests[slot.index].layer
        leave(subscriber, slot, now)
        // What has entered stays due: as behind a change of layers.
        subscribers[subscriber].interests[slot.index].layerBefore = layer
        subscribers[subscriber].interests[slot.index].changedAt = next
        subscribers[subscriber].interests[slot.index].changeBeginsWithKey = true
    }

    /// - Parameter time: the media time to go on from, where that is still to come.
    package mutating func release(_ subscriber: Int, _ slot: StreamSlot, at time: UInt32? = nil, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot) else { return }
        subscribers[subscriber].interests[slot.index].isPaused = false
        subscribers[subscriber].interests[slot.index].startsAt = time
        applyHold(subscriber, slot, now)
    }

    /// Drops what is queued of a stream, as accounted for a session's sake, and goes on at the live edge as after ``release(_:_:at:now:)``.
    package mutating func startAfresh(_ subscriber: Int, _ slot: StreamSlot, at time: UInt32? = nil, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot), !subscribers[subscriber].interests[slot.index].isHeld else { return }
        let played = subscribers[subscriber].interests[slot.index].played
        stop(subscriber, slot, now)
        // At the live edge it goes on at once; a media time may be still to come.
        if time == nil { subscribers[subscriber].interests[slot.index].played.goOn(from: played) }
        subscribers[subscriber].interests[slot.index].startsAt = time
        goOn(subscriber, slot, now)
    }

    /// What comes next of a stream begins with its configuration and says that it does not follow the last, as for a decoder that was emptied.
    package mutating func refresh(_ subscriber: Int, _ slot: StreamSlot) {
        guard isSubscribed(subscriber, slot), !subscribers[subscriber].interests[slot.index].layer.isNone else { return }
        let lane = streams[slot.index].lane
        let configured = streams[slot.index].configured(subscribers[subscriber].interests[slot.index].layer.spatial)
        if !streams[slot.index].layers[configured].configuration.isEmpty {
            subscribers[subscriber].interests[slot.index].owesFrom = 0
            subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: true)
        }
        subscribers[subscriber].setTrouble(slot, lane: lane, owesDiscontinuity: true)
    }

    /// Where a subscriber stands in a stream, in places of its lane's log: the first that is still due to it (``head``), and the end (``tail``); and how many are due.
    package func queued(_ subscriber: Int, _ slot: StreamSlot) -> (head: UInt64, tail: UInt64, frames: Int) {
        let lane = streams[slot.index].lane
        let (cursor, tail) = (subscribers[subscriber][lane].sequence, self[lane].next)
        var (head, frames) = (tail, 0)
        for sequence in cursor..<tail where self[lane][sequence].slot == slot && isDue(subscriber, self[lane][sequence], sequence) {
            head = min(head, sequence)
            frames += 1
        }
        unsafe MessageFraming.forEachFrame(subscribers[subscriber][lane].prelude.readable) { frame in
            guard let header = try? unsafe MediaHeader(parsing: frame), header.stream.rawValue == streams[slot.index].id else { return }
            head = min(head, subscribers[subscriber].interests[slot.index].since &- 1)
            frames += 1
        }
        return (head, tail, frames)
    }

    /// What of a held stream could be given at once: of video, the group that it would begin with.
    package func ready(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) -> (frames: Int, milliseconds: UInt64) {
        guard isSubscribed(subscriber, slot), streams[slot.index].lane == .video else { return (0, 0) }
        let interest = subscribers[subscriber].interests[slot.index]
        let choice = interest.isHeld ? interest.heldTarget : interest.layer
        guard !choice.isNone, hasLiveGroup(slot, choice.spatial, since: interest.heldSince, now) else { return (0, 0) }
        let group = streams[slot.index].layers[choice.spatial].group.startedAt
        return (Int(clamping: streams[slot.index].layers[choice.spatial].group.frames), now.milliseconds(since: group))
    }

    /// Keeps ready what a held stream begins with: its layers count as wanted though nothing is given of them, so that video comes from other loops, and sound to the relay's
    /// own buffer of it; without a group to begin with a key frame is asked for. Live sound has nothing to begin with. Until the stream goes on, or is held once more.
    package mutating func prime(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot), streams[slot.index].lane == .video || streams[slot.index].isDerived,
            streams[slot.index].endedAt == nil, subscribers[subscriber].interests[slot.index].isHeld, !subscribers[subscriber].isHeld
        else { return }
        let interest = subscribers[subscriber].interests[slot.index]
        setPrimed(subscriber, slot, interest.heldTarget)
        guard streams[slot.index].lane == .video, !interest.heldTarget.isNone,
            !hasLiveGroup(slot, interest.heldTarget.spatial, since: interest.heldSince, now)
        else { return }
        needKeyFrame(slot, interest.heldTarget.spatial)
    }

    package func isPrimed(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && !subscribers[subscriber].interests[slot.index].primed.isNone
    }

    /// Whether a stream is kept ready for somebody here, and what is cached of the layer is no beginning for it.
    func isGroupAwaited(_ slot: StreamSlot, _ spatial: Int, _ now: MonotonicInstant) -> Bool {
        guard streams[slot.index].lane == .video, streams[slot.index].layers[spatial].primed.highest != nil else { return false }
        for index in 0..<subscribers.endIndex where isSubscribed(index, slot) {
            let interest = subscribers[index].interests[slot.index]
            guard !interest.primed.isNone, interest.primed.spatial == spatial else { continue }
            if !hasLiveGroup(slot, spatial, since: interest.heldSince, now) { return true }
        }
        return false
    }

    mutating func setPrimed(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice) {
        let before = subscribers[subscriber].interests[slot.index].primed
        if !before.isNone { streams[slot.index].layers[before.spatial].primed.remove(before.temporal) }
        if !choice.isNone {
            growLayers(slot, upTo: choice.spatial)
            streams[slot.index].layers[choice.spatial].primed.add(choice.temporal)
        }
        subscribers[subscriber].interests[slot.index].primed = choice
    }

    package func isHeld(_ subscriber: Int) -> Bool { subscribers[subscriber].isHeld }

    package func isHeld(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].isHeld
    }

    /// Whether the stream itself is held, whatever is of its subscriber.
    package func isPaused(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].isPaused
    }

    /// Whether a stream's first frame since it was released is still to go.
    package func isStarting(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].owesDiscontinuity
    }

    /// Brings a stream in line with what its subscriber and itself say.
    ///
    /// - Parameter end: what becomes of what is queued.
    mutating func applyHold(
        _ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant, as end: WritableKeyPath<FrameAccount, UInt64> = \.interrupted
    ) {
        guard isSubscribed(subscriber, slot) else { return }
        let interest = subscribers[subscriber].interests[slot.index]
        let isHeld = subscribers[subscriber].isHeld || interest.isPaused || interest.isLeftOut
        guard isHeld != interest.isHeld else { return }
        if isHeld { stop(subscriber, slot, now, as: end) } else { goOn(subscriber, slot, now) }
    }

    private mutating func stop(
        _ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant, as end: WritableKeyPath<FrameAccount, UInt64> = \.interrupted
    ) {
        dropAll(subscriber, slot, as: end)
        leave(subscriber, slot, now)
    }

    /// Drops what is queued of a stream; a message that was begun is finished.
    private mutating func dropAll(
        _ subscriber: Int, _ slot: StreamSlot, as end: WritableKeyPath<FrameAccount, UInt64> = \.interrupted
    ) {
        let lane = streams[slot.index].lane
        finishBegun(subscriber, lane, slot)
        dropPrelude(subscriber, lane, of: streams[slot.index].id, as: end)
        for sequence in subscribers[subscriber][lane].sequence..<self[lane].next {
            let entry = self[lane][sequence]
            if entry.slot == slot, isDue(subscriber, entry, sequence) { subscribers[subscriber].account[keyPath: end] &+= 1 }
        }
        subscribers[subscriber].interests[slot.index].from = self[lane].next
        subscribers[subscriber].interests[slot.index].since = self[lane].next
        subscribers[subscriber].interests[slot.index].changedAt = 0
        subscribers[subscriber].interests[slot.index].layerBefore = .none
        subscribers[subscriber].interests[slot.index].countsFrom = .zero
        subscribers[subscriber].interests[slot.index].played.breakOff()
        if subscribers[subscriber].begunKey == slot { subscribers[subscriber].begunKey = nil }
        subscribers[subscriber].setTrouble(
            slot, lane: lane, awaitsKey: false, owesConfiguration: false, brokenFrom: .max, owesDiscontinuity: false)
    }

    /// Nothing enters from here on.
    private mutating func leave(_ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant) {
        subscribers[subscriber].interests[slot.index].heldTarget = subscribers[subscriber].interests[slot.index].target
        subscribers[subscriber].interests[slot.index].heldSince = now
        subscribers[subscriber].interests[slot.index].played.stop()
        subscribers[subscriber].interests[slot.index].isHeld = true
        setTarget(subscriber, slot, .none)
        setLayer(subscriber, slot, .none)
    }

    private mutating func goOn(_ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant) {
        setPrimed(subscriber, slot, .none)
        // What drained until now, and is not out yet, lies before the new beginning.
        dropAll(subscriber, slot)
        subscribers[subscriber].interests[slot.index].isHeld = false
        guard streams[slot.index].endedAt == nil else { return }
        let choice = subscribers[subscriber].interests[slot.index].heldTarget
        setTarget(subscriber, slot, choice)
        subscribers[subscriber].setTrouble(slot, lane: streams[slot.index].lane, owesDiscontinuity: true)
        guard streams[slot.index].lane == .video else {
            begin(subscriber, slot, choice, now: now)
            return
        }
        guard !choice.isNone else { return }
        growLayers(slot, upTo: choice.spatial)
        if hasLiveGroup(slot, choice.spatial, since: subscribers[subscriber].interests[slot.index].heldSince, now) {
            begin(subscriber, slot, choice, now: now)
        } else {
            // With the next key frame, and its configuration before it: what is cached is of the past.
            subscribers[subscriber].interests[slot.index].hasBegun = true
            needKeyFrame(slot, choice.spatial)
        }
    }

    /// Whether a layer's cached group is no older than a frame in the lane may be, and began since that moment, so that nothing of it comes again.
    private func hasLiveGroup(_ slot: StreamSlot, _ spatial: Int, since: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        let group = streams[slot.index].layers[spatial].group.startedAt
        return isFresh(slot, spatial, now: now) && group > since && now.nanoseconds(since: group) <= deadlineNanoseconds(.video)
    }

    // MARK: The first frame

    /// Moves the entry at the cursor, the first since its stream was released, into what the subscriber has of its own, with the discontinuity flag set: bytes in the
    /// log are everybody's. One that is not to be played yet is dropped; so is a large one without memory for it, and the next begins.
    mutating func giveFirst(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant) {
        guard isTime(subscriber, lane, entry) else {
            subscribers[subscriber].account.interrupted &+= 1
            subscribers[subscriber][lane].sequence &+= 1
            // Its media time is still to come: a key frame is asked for then, and only then (``askAtStart(_:_:_:)``).
            if lane == .video { subscribers[subscriber].setTrouble(entry.slot, lane: lane, awaitsKey: true) }
            return
        }
        guard takeMemory(entry.byteCount) else {
            subscribers[subscriber].account.interrupted &+= 1
            noteLoss(subscriber, lane, entry.slot, entry.traits, at: subscribers[subscriber][lane].sequence)
            subscribers[subscriber][lane].sequence &+= 1
            return
        }
        noteServed(subscriber, lane, entry, now)
        let start = subscribers[subscriber][lane].prelude.count
        unsafe subscribers[subscriber][lane].prelude.append(self[lane].bytes(at: entry.offset, count: entry.byteCount))
        subscribers[subscriber][lane].preludeFrames &+= 1
        subscribers[subscriber][lane].sequence &+= 1
        if lane == .video {
            subscribers[subscriber][lane].preludeHoldsGroup = true
            subscribers[subscriber].interests[entry.slot.index].countsFrom = .distantFuture
        }
        markDiscontinuity(subscriber, entry.slot, preludeAt: start)
    }

    /// The entry at the cursor is of no use without a key frame: when it is the first of the media time that the stream was to go on from, one is asked for.
    mutating func askAtStart(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        guard subscribers[subscriber].interests[entry.slot.index].startsAt != nil, subscribers[subscriber].interests[entry.slot.index].awaitsKey,
            isTime(subscriber, lane, entry)
        else { return }
        if isReclaiming { subscribers[subscriber].asksWhenPulled = true } else { needKeyFrame(entry.slot, entry.traits.spatial) }
    }

    /// Whether the stream has come to the media time that it was to go on from.
    private mutating func isTime(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) -> Bool {
        guard let start = subscribers[subscriber].interests[entry.slot.index].startsAt else { return true }
        let frame = unsafe MessageFraming.payload(ofMessage: self[lane].bytes(at: entry.offset, count: entry.byteCount))
        guard let header = try? unsafe MediaHeader(parsing: frame) else { return true }
        guard header.timestamp == start || SerialNumber(header.timestamp).isNewer(than: SerialNumber(start)) else { return false }
        subscribers[subscriber].interests[entry.slot.index].startsAt = nil
        return true
    }

    private func takeMemory(_ byteCount: Int) -> Bool {
        if byteCount > RoomFanout.wholeMessageBytesMax { return budget.take(byteCount) }
        budget.takeAnyway(byteCount)
        return true
    }

    /// Sets the flag on the message that begins at that place of what a late joiner is given.
    mutating func markDiscontinuity(_ subscriber: Int, _ slot: StreamSlot, preludeAt start: Int) {
        let lane = streams[slot.index].lane
        subscribers[subscriber].setTrouble(slot, lane: lane, owesDiscontinuity: false)
        let message = unsafe UnsafeMutableRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readableInPlace[start...])
        let header = unsafe MessageFraming.headerByteCount(ofMessage: UnsafeRawBufferPointer(message))
        unsafe MediaHeader.insert(.discontinuity, intoEncoded: UnsafeMutableRawBufferPointer(rebasing: message[header...]))
    }
}
