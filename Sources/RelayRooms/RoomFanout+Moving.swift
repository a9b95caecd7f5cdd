package import RelayBase

// Streams that lie in several slots with one stream identifier: what the relay itself makes of them for some subscribers. A subscriber moves from one of them to another
// between two frames, and its client sees one stream.
extension RoomFanout {
    /// Moves a subscriber to another slot that goes on with the same sequence numbers: what is queued of the one is still given, what comes from now on is the
    /// other's. No configuration goes before it and nothing says that it does not follow: the client's decoder goes on.
    ///
    /// Whoever is moved back while frames of its last stay there are still queued loses those: one move can be remembered of a slot, not two.
    package mutating func move(_ subscriber: Int, from old: StreamSlot, to new: StreamSlot, now: MonotonicInstant) {
        guard old != new, isSubscribed(subscriber, old), isOpen(new), streams[old.index].lane == .audio, streams[new.index].lane == .audio else {
            return
        }
        if isSubscribed(subscriber, new) { drop(subscriber, new) }
        while subscribers[subscriber].interests.count <= new.index { subscribers[subscriber].interests.append(StreamInterest()) }
        let before = subscribers[subscriber].interests[old.index]
        let next = self[.audio].next
        var interest = StreamInterest(isWanted: true, from: next, since: next)
        interest.wishes = before.wishes
        interest.delayMax = before.delayMax
        interest.isPaused = before.isPaused
        interest.isHeld = before.isHeld
        interest.heldSince = before.heldSince
        interest.heldTarget = before.heldTarget
        interest.startsAt = before.startsAt
        interest.played = before.played
        subscribers[subscriber].interests[new.index] = interest
        subscribers[subscriber][.audio].wantedStreams += 1
        streams[new.index].subscribers += 1
        if interest.played.isCounted { subscribers[subscriber][.audio].countedStreams += 1 }
        refreshFilter(subscriber, new)
        noteDelays(subscriber, .audio)
        if !before.isHeld, !before.layer.isNone {
            setTarget(subscriber, new, before.target)
            setLayer(subscriber, new, before.layer)
        }
        subscribers[subscriber][.audio].plainFrom = next
        leave(subscriber, old, to: new)
    }

    /// The old slot gives what is queued of it and then nothing; what was owed with its next frame is owed with the first of the new one.
    private mutating func leave(_ subscriber: Int, _ old: StreamSlot, to new: StreamSlot) {
        let before = subscribers[subscriber].interests[old.index]
        guard hasQueued(subscriber, old) else {
            subscribers[subscriber].setTrouble(
                new, lane: .audio, owesConfiguration: before.owesConfiguration, owesDiscontinuity: before.owesDiscontinuity)
            closeInterest(subscriber, old)
            return
        }
        let layer = before.layer
        setTarget(subscriber, old, .none)
        setLayer(subscriber, old, .none)
        subscribers[subscriber].interests[old.index].isLeft = true
        // What has entered stays due: as behind a change of layers.
        subscribers[subscriber].interests[old.index].layerBefore = layer
        subscribers[subscriber].interests[old.index].changedAt = self[.audio].next
        subscribers[subscriber].interests[old.index].changeBeginsWithKey = true
    }

    private func hasQueued(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        for sequence in subscribers[subscriber][.audio].sequence..<self[.audio].next
        where self[.audio][sequence].slot == slot && isDue(subscriber, self[.audio][sequence], sequence) {
            return true
        }
        // The prelude is of the stream, whichever slot it was of.
        return false
    }

    /// Drops what is queued of a slot and lets go of it; a message that was begun is finished.
    private mutating func drop(_ subscriber: Int, _ slot: StreamSlot) {
        finishBegun(subscriber, .audio, slot)
        for sequence in subscribers[subscriber][.audio].sequence..<self[.audio].next {
            let entry = self[.audio][sequence]
            if entry.slot == slot, isDue(subscriber, entry, sequence) { subscribers[subscriber].account.superseded &+= 1 }
        }
        closeInterest(subscriber, slot)
    }

    /// Lets go of what a subscriber has moved away from, whether or not something of it is queued: it may have no connection to give it to.
    mutating func dropLeft(_ subscriber: Int) {
        for index in subscribers[subscriber].interests.indices where subscribers[subscriber].interests[index].isLeft {
            drop(subscriber, StreamSlot(index))
        }
    }

    /// Lets go of slots of which everything was given to those that have moved away. A few times a second.
    mutating func closeLeft() {
        guard hasDerived else { return }
        for subscriber in 0..<subscribers.endIndex where subscribers.isLive(subscriber) {
            for index in subscribers[subscriber].interests.indices
            where subscribers[subscriber].interests[index].isLeft
                && subscribers[subscriber][.audio].sequence >= subscribers[subscriber].interests[index].changedAt
            {
                closeInterest(subscriber, StreamSlot(index))
            }
        }
    }

    private var hasDerived: Bool {
        (0..<streams.endIndex).contains { streams.isLive($0) && streams[$0].isDerived }
    }

    /// The slot of a stream that a subscriber gets, be it the published one or one that is made of it.
    package func slot(of id: UInt32, for subscriber: Int) -> StreamSlot? {
        for index in subscribers[subscriber].interests.indices
        where isSubscribed(subscriber, StreamSlot(index)) && streams[index].id == id && !subscribers[subscriber].interests[index].isLeft {
            return StreamSlot(index)
        }
        return nil
    }

    /// Whether a subscriber gets, from now on, what comes in a slot: it is not held there, and has not moved away.
    package func hears(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && !subscribers[subscriber].interests[slot.index].isHeld
            && !subscribers[subscriber].interests[slot.index].isLeft
    }
}
