import MediaProtocol
package import RelayBase

extension RoomFanout {
    /// Adds a subscriber that wants nothing yet; `nil` when the room is full.
    package mutating func addSubscriber(_ participant: ParticipantID, token: UInt64) -> Handle? {
        subscribers.insert(
            Subscriber(participant: participant, token: token, audioFrom: self[.audio].next, videoFrom: self[.video].next, dataFrom: self[.data].next)
        )
    }

    /// Takes a subscriber out; what was queued for it is accounted as unsubscribed. Returns its final account.
    @discardableResult
    package mutating func removeSubscriber(_ handle: Handle) -> FrameAccount? {
        guard subscribers.contains(handle) else { return nil }
        let index = Int(handle.index)
        for slot in subscribers[index].interests.indices {
            unsubscribe(index, StreamSlot(slot))
        }
        for lane in Lane.allCases {
            subscribers[index].account.unsubscribed &+= subscribers[index][lane].preludeFrames
            budget.give(subscribers[index][lane].prelude.count)
            if subscribers[index][lane].cut != nil { subscribers[index].account.unsubscribed &+= 1 }
            dropCutRest(index, lane)
        }
        budget.give(subscribers[index].residue.count)
        if subscribers[index].residueEndsFrame { subscribers[index].account.unsubscribed &+= 1 }
        if subscribers[index].isBroken { brokenSubscribers -= 1 }
        let account = subscribers[index].account
        departed.add(account)
        subscribers.remove(handle)
        return account
    }

    /// Subscribes to a stream: the configuration and what is cached since the last key frame come first, then the live edge.
    ///
    /// - Parameter choice: the layers to be had of video; nothing is given of a paused stream until ``setLayerTarget(_:_:_:now:)`` says so.
    /// - Returns: whether the stream has cached what a decoder needs to start; if not, a key frame is wanted.
    @discardableResult
    package mutating func subscribe(
        _ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice = LayerChoice(spatial: 0), now: MonotonicInstant
    ) -> Bool {
        guard streams.isLive(slot.index), streams[slot.index].endedAt == nil else { return false }
        guard !isSubscribed(subscriber, slot) else { return true }
        let layers = streams[slot.index].lane == .video ? choice : LayerChoice(spatial: 0)
        if !layers.isNone { growLayers(slot, upTo: layers.spatial) }
        open(subscriber, slot)
        guard !subscribers[subscriber].isHeld else {
            subscribers[subscriber].interests[slot.index].isHeld = true
            subscribers[subscriber].interests[slot.index].heldTarget = layers
            refreshFilter(subscriber, slot)
            return true
        }
        setTarget(subscriber, slot, layers)
        return begin(subscriber, slot, layers, now: now)
    }

    /// Begins a subscriber's interest in a slot, with nothing given of it.
    mutating func open(_ subscriber: Int, _ slot: StreamSlot) {
        let lane = streams[slot.index].lane
        while subscribers[subscriber].interests.count <= slot.index { subscribers[subscriber].interests.append(StreamInterest()) }
        subscribers[subscriber].interests[slot.index] = StreamInterest(isWanted: true, since: self[lane].next)
        subscribers[subscriber][lane].wantedStreams += 1
        streams[slot.index].subscribers += 1
    }

    /// Ends a subscriber's interest in a slot and moves its frames into ``FrameAccount/entered``.
    mutating func closeInterest(_ subscriber: Int, _ slot: StreamSlot) {
        guard isSubscribed(subscriber, slot) else { return }
        let lane = streams[slot.index].lane
        subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: false, owesConfiguration: false, brokenFrom: .max, owesDiscontinuity: false)
        setTarget(subscriber, slot, .none)
        setLayer(subscriber, slot, .none)
        setPrimed(subscriber, slot, .none)
        if subscribers[subscriber].interests[slot.index].isFiltered { subscribers[subscriber][lane].filteredStreams -= 1 }
        if subscribers[subscriber].interests[slot.index].played.isCounted { subscribers[subscriber][lane].countedStreams -= 1 }
        subscribers[subscriber].interests[slot.index] = StreamInterest()
        subscribers[subscriber][lane].wantedStreams -= 1
        if subscribers[subscriber][lane].shortestDelay != .max { noteDelays(subscriber, lane) }
        streams[slot.index].subscribers -= 1
    }

    /// Lets go of a stream: its frames that are still queued for the subscriber are dropped and accounted.
    package mutating func unsubscribe(_ subscriber: Int, _ slot: StreamSlot) {
        if streams.isLive(slot.index), streams[slot.index].isDerived { dropLeft(subscriber) }
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else { return }
        let lane = streams[slot.index].lane
        // A message that was begun is finished: its peer could not make sense of what follows otherwise.
        if subscribers[subscriber].begunLane == lane { moveBegunMessageToResidue(subscriber) }
        moveCutToRest(subscriber, lane)
        dropPrelude(subscriber, lane, of: streams[slot.index].id)
        var sequence = subscribers[subscriber][lane].sequence
        while sequence < self[lane].next {
            let entry = self[lane][sequence]
            if entry.slot == slot, isDue(subscriber, entry, sequence) { subscribers[subscriber].account.unsubscribed &+= 1 }
            sequence &+= 1
        }
        closeInterest(subscriber, slot)
        if streams[slot.index].subscribers == 0 { cancelKeyFrames(slot) }
    }

    /// Takes a stream's messages out of what a late joiner is still owed.
    mutating func dropPrelude(
        _ subscriber: Int, _ lane: Lane, of stream: UInt32, as end: WritableKeyPath<FrameAccount, UInt64> = \.unsubscribed
    ) {
        guard !subscribers[subscriber][lane].prelude.isEmpty else { return }
        var kept = ByteQueue()
        var dropped: UInt64 = 0
        unsafe MessageFraming.forEachFrame(subscribers[subscriber][lane].prelude.readable) { frame in
            if let header = try? unsafe MediaHeader(parsing: frame), header.stream.rawValue == stream {
                dropped += 1
            } else {
                unsafe MessageFraming.append(frame, to: &kept)
            }
        }
        guard dropped > 0 else { return }
        budget.give(subscribers[subscriber][lane].prelude.count - kept.count)
        swap(&subscribers[subscriber][lane].prelude, &kept)
        subscribers[subscriber][lane].preludeFrames &-= dropped
        subscribers[subscriber].account[keyPath: end] &+= dropped
    }

    /// The slots of the streams that a subscriber wants, ended ones that it still gets the rest of included.
    package func subscribed(_ subscriber: Int) -> [StreamSlot] {
        subscribers[subscriber].interests.indices
            .filter { subscribers[subscriber].interests[$0].isWanted && !subscribers[subscriber].interests[$0].isLeft }.map(StreamSlot.init)
    }

    // MARK: Accounting

    /// The subscriber's account with what is still queued: `entered − delivered − dropped = pending` must hold at every moment.
    ///
    /// A walk over what is queued: for tests and audits.
    package func account(_ subscriber: Int) -> (account: FrameAccount, pending: UInt64) {
        let account = accountSoFar(subscriber)
        var pending: UInt64 = subscribers[subscriber].residueEndsFrame ? 1 : 0
        for lane in Lane.allCases {
            pending &+= subscribers[subscriber][lane].preludeFrames
            if let cut = subscribers[subscriber][lane].cut, !cut.isInLog { pending &+= 1 }
            var sequence = subscribers[subscriber][lane].sequence
            while sequence < self[lane].next {
                if isDue(subscriber, self[lane][sequence], sequence) { pending &+= 1 }
                sequence &+= 1
            }
        }
        return (account, pending)
    }

    /// A subscriber's account without a look at what is queued; what it has entered and not left is pending.
    private func accountSoFar(_ subscriber: Int) -> FrameAccount {
        var account = subscribers[subscriber].account
        for slot in subscribers[subscriber].interests.indices where subscribers[subscriber].interests[slot].isWanted {
            account.entered &+= entered(subscribers[subscriber].interests[slot], StreamSlot(slot))
        }
        return account
    }

    /// The sum over the subscribers that are here and those that left, and the frames that are pending by it.
    package func totalAccount() -> (account: FrameAccount, pending: UInt64) {
        var total = departed
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) { total.add(accountSoFar(index)) }
        return (total, total.entered &- total.delivered &- total.dropped)
    }

    /// Walks the queues of the next subscribers in turn and compares what lies there with their accounts.
    ///
    /// - Parameter steps: how many entries may be looked at; what was used is taken off. A subscriber with more queued than that is passed over.
    /// - Returns: frames in no counter, or in two.
    package mutating func audit(steps: inout Int) -> UInt64 {
        var unaccounted: UInt64 = 0
        for _ in 0..<subscribers.endIndex {
            auditedNext = auditedNext + 1 < subscribers.endIndex ? auditedNext + 1 : 0
            guard subscribers.isLive(auditedNext) else { continue }
            let queued = Lane.allCases.reduce(1) { $0 + Int(truncatingIfNeeded: self[$1].next &- subscribers[auditedNext][$1].sequence) }
            guard queued <= steps else { break }
            steps -= queued
            let (account, pending) = account(auditedNext)
            unaccounted &+= Int64(bitPattern: account.entered &- account.delivered &- account.dropped &- pending).magnitude
        }
        return unaccounted
    }
}
