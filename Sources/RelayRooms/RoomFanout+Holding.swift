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
        subscribers[subscriber].isHeld = true
        for slot in subscribers[subscriber].interests.indices { applyHold(subscriber, StreamSlot(slot), now) }
    }

    package mutating func release(_ subscriber: Int, now: MonotonicInstant) {
        guard subscribers[subscriber].isHeld else { return }
        subscribers[subscriber].isHeld = false
        for slot in subscribers[subscriber].interests.indices { applyHold(subscriber, StreamSlot(slot), now) }
    }

    /// The same for one stream; it stays held as long as its subscriber is.
    package mutating func hold(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot) else { return }
        subscribers[subscriber].interests[slot.index].isPaused = true
        applyHold(subscriber, slot, now)
    }

    package mutating func release(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot) else { return }
        subscribers[subscriber].interests[slot.index].isPaused = false
        applyHold(subscriber, slot, now)
    }

    /// Drops what is queued of a stream, as accounted for a session's sake, and goes on at the live edge as after ``release(_:_:now:)``.
    package mutating func startAfresh(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot), !subscribers[subscriber].interests[slot.index].isHeld else { return }
        stop(subscriber, slot, now)
        goOn(subscriber, slot, now)
    }

    package func isHeld(_ subscriber: Int) -> Bool { subscribers[subscriber].isHeld }

    package func isHeld(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].isHeld
    }

    /// Whether a stream's first frame since it was released is still to go.
    package func isStarting(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].owesDiscontinuity
    }

    /// Brings a stream in line with what its subscriber and itself say.
    mutating func applyHold(_ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot) else { return }
        let isHeld = subscribers[subscriber].isHeld || subscribers[subscriber].interests[slot.index].isPaused
        guard isHeld != subscribers[subscriber].interests[slot.index].isHeld else { return }
        if isHeld { stop(subscriber, slot, now) } else { goOn(subscriber, slot, now) }
    }

    private mutating func stop(_ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant) {
        let lane = streams[slot.index].lane
        finishBegun(subscriber, lane, slot)
        dropPrelude(subscriber, lane, of: streams[slot.index].id, as: \.interrupted)
        for sequence in subscribers[subscriber][lane].sequence..<self[lane].next {
            let entry = self[lane][sequence]
            if entry.slot == slot, isDue(subscriber, entry, sequence) { subscribers[subscriber].account.interrupted &+= 1 }
        }
        let interest = subscribers[subscriber].interests[slot.index]
        subscribers[subscriber].interests[slot.index].heldTarget = interest.target
        subscribers[subscriber].interests[slot.index].heldSince = now
        subscribers[subscriber].interests[slot.index].isHeld = true
        subscribers[subscriber].interests[slot.index].countsFrom = .zero
        if subscribers[subscriber].begunKey == slot { subscribers[subscriber].begunKey = nil }
        subscribers[subscriber].setTrouble(
            slot, lane: lane, awaitsKey: false, owesConfiguration: false, brokenFrom: .max, owesDiscontinuity: false)
        setTarget(subscriber, slot, .none)
        setLayer(subscriber, slot, .none)
        subscribers[subscriber].interests[slot.index].from = self[lane].next
        subscribers[subscriber].interests[slot.index].since = self[lane].next
        subscribers[subscriber].interests[slot.index].changedAt = 0
        subscribers[subscriber].interests[slot.index].layerBefore = .none
    }

    private mutating func goOn(_ subscriber: Int, _ slot: StreamSlot, _ now: MonotonicInstant) {
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
    /// log are everybody's. Without memory for a large frame that one is lost, and the next begins.
    mutating func giveFirst(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant) {
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
