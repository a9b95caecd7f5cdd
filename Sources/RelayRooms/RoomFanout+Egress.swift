package import RelayBase

extension RoomFanout {
    /// What is to be done with a subscriber's next entry of a log.
    private enum Decision {
        case serve
        /// Not the subscriber's: another's stream, its own, or from before its time.
        case pass
        case expire
        case supersede
    }

    /// Messages up to this size are begun only when they fit whole; a larger one may fill what room there is.
    private static let wholeMessageBytesMax = 16 << 10

    /// Writes what the subscriber is due into `room`, whole messages as far as they fit, and moves its cursors.
    ///
    /// Order: the rest of a begun message, then audio, video, data; what has expired is dropped here, before it is encrypted.
    /// - Returns: bytes written; 0 when nothing is due.
    package mutating func pull(_ subscriber: Int, into room: UnsafeMutableRawBufferPointer, now: MonotonicInstant) -> Int {
        var filled = 0
        unsafe pullResidue(subscriber, room, &filled)
        guard subscribers[subscriber].residue.isEmpty else { return filled }
        if let lane = subscribers[subscriber].begunLane {
            unsafe continueMessage(subscriber, lane, room, &filled)
            guard subscribers[subscriber].begunLane == nil else { return filled }
        }
        for lane in Lane.allCases {
            guard unsafe pullPrelude(subscriber, lane, room, &filled), unsafe pullLog(subscriber, lane, room, &filled, now) else { return filled }
        }
        return filled
    }

    private mutating func pullResidue(_ subscriber: Int, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        let count = min(subscribers[subscriber].residue.count, room.count - filled)
        guard count > 0 else { return }
        unsafe copy(UnsafeRawBufferPointer(rebasing: subscribers[subscriber].residue.readable[..<count]), room, &filled)
        subscribers[subscriber].residue.consume(count)
        if subscribers[subscriber].residue.isEmpty {
            subscribers[subscriber].residue.releaseIfEmpty()
            if subscribers[subscriber].residueEndsFrame { subscribers[subscriber].account.delivered &+= 1 }
            subscribers[subscriber].residueEndsFrame = false
        }
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(from: bytes)
        filled += bytes.count
    }

    /// Goes on with the begun message at the lane's cursor.
    private mutating func continueMessage(_ subscriber: Int, _ lane: Lane, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        let entry = self[lane][subscribers[subscriber][lane].sequence]
        let begun = subscribers[subscriber].begunBytes
        let count = min(entry.byteCount - begun, room.count - filled)
        unsafe copy(self[lane].bytes(at: entry.offset + begun, count: count), room, &filled)
        if begun + count == entry.byteCount {
            subscribers[subscriber].begunLane = nil
            subscribers[subscriber].begunBytes = 0
            subscribers[subscriber][lane].sequence &+= 1
            subscribers[subscriber].account.delivered &+= 1
        } else {
            subscribers[subscriber].begunLane = lane
            subscribers[subscriber].begunBytes = begun + count
        }
    }

    /// Sends what a late joiner is owed. Answers false when `room` is full.
    private mutating func pullPrelude(_ subscriber: Int, _ lane: Lane, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) -> Bool {
        while !subscribers[subscriber][lane].prelude.isEmpty {
            let byteCount = unsafe MessageFraming.messageByteCount(subscribers[subscriber][lane].prelude.readable)
            let count = min(byteCount, room.count - filled)
            guard count == byteCount || filled == 0 || byteCount > RoomFanout.wholeMessageBytesMax, count > 0 else { return false }
            unsafe copy(UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[..<count]), room, &filled)
            subscribers[subscriber][lane].preludeFrames &-= 1
            if count == byteCount {
                subscribers[subscriber].account.delivered &+= 1
            } else {
                unsafe subscribers[subscriber].residue.append(
                    UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[count..<byteCount]))
                subscribers[subscriber].residueEndsFrame = true
            }
            subscribers[subscriber][lane].prelude.consume(byteCount)
            budget.give(byteCount)
            if count < byteCount { return false }
        }
        subscribers[subscriber][lane].prelude.releaseIfEmpty()
        return true
    }

    /// Sends from the log. Answers false when `room` is full.
    private mutating func pullLog(
        _ subscriber: Int, _ lane: Lane, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int, _ now: MonotonicInstant
    ) -> Bool {
        let deadline = deadlineNanoseconds(lane)
        while subscribers[subscriber][lane].sequence < self[lane].next {
            if unsafe pullRun(subscriber, lane, room, &filled, now, deadline) { return true }
            let entry = self[lane][subscribers[subscriber][lane].sequence]
            switch decide(subscriber, lane, entry, now, deadline) {
            case .serve:
                if subscribers[subscriber].interests[entry.slot.index].owesConfiguration, !entry.traits.contains(.configuration) {
                    payConfiguration(subscriber, lane, entry.slot)
                    guard unsafe pullPrelude(subscriber, lane, room, &filled) else { return false }
                }
                let fits = entry.byteCount <= room.count - filled
                let mayBegin = filled == 0 || entry.byteCount > RoomFanout.wholeMessageBytesMax
                guard fits || (mayBegin && filled < room.count) else { return false }
                noteServed(subscriber, lane, entry)
                unsafe continueMessage(subscriber, lane, room, &filled)
                if subscribers[subscriber].begunLane != nil { return false }
            case .pass, .expire, .supersede:
                passOver(subscriber, lane, entry, now, deadline)
            }
        }
        return true
    }

    /// The live edge: everything from the cursor to the end of the log lies side by side, is the subscriber's, is fresh and fits, so it is copied as one.
    private mutating func pullRun(
        _ subscriber: Int, _ lane: Lane, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int, _ now: MonotonicInstant, _ deadline: UInt64
    ) -> Bool {
        let sequence = subscribers[subscriber][lane].sequence
        guard subscribers[subscriber][lane].wantedStreams == laneStreams[lane], subscribers[subscriber][lane].troubledStreams == 0,
            sequence >= subscribers[subscriber][lane].plainFrom
        else { return false }
        let oldest = self[lane][sequence]
        let newest = self[lane][self[lane].next &- 1]
        guard newest.offset >= oldest.offset, now.nanoseconds(since: oldest.arrival) <= deadline else { return false }
        let byteCount = newest.offset + newest.byteCount - oldest.offset
        guard byteCount <= room.count - filled else { return false }
        unsafe copy(self[lane].bytes(at: oldest.offset, count: byteCount), room, &filled)
        subscribers[subscriber].account.delivered &+= self[lane].next &- sequence
        subscribers[subscriber][lane].sequence = self[lane].next
        return true
    }

    private func decide(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant, _ deadline: UInt64) -> Decision {
        let slot = entry.slot.index
        guard slot < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot].isWanted,
            subscribers[subscriber][lane].sequence >= subscribers[subscriber].interests[slot].from
        else { return .pass }
        if now.nanoseconds(since: entry.arrival) > deadline { return .expire }
        if subscribers[subscriber].interests[slot].awaitsKey, !entry.traits.contains(.key), !entry.traits.contains(.configuration) {
            return .supersede
        }
        return .serve
    }

    /// Moves the cursor over an entry that is not served, accounts for it, and notes what that does to the stream's decodability.
    private mutating func passOver(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant, _ deadline: UInt64) {
        switch decide(subscriber, lane, entry, now, deadline) {
        case .serve, .expire:
            subscribers[subscriber].account.expired &+= 1
            noteLoss(subscriber, lane, entry)
        case .supersede:
            subscribers[subscriber].account.superseded &+= 1
        case .pass:
            break
        }
        subscribers[subscriber][lane].sequence &+= 1
    }

    /// What is served mends what an earlier loss had broken.
    private mutating func noteServed(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        guard subscribers[subscriber][lane].troubledStreams > 0 else { return }
        if entry.traits.contains(.key) { subscribers[subscriber].setTrouble(entry.slot, lane: lane, awaitsKey: false) }
        if entry.traits.contains(.configuration) { subscribers[subscriber].setTrouble(entry.slot, lane: lane, owesConfiguration: false) }
    }

    private mutating func noteLoss(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        if entry.traits.contains(.configuration) {
            subscribers[subscriber].setTrouble(entry.slot, lane: lane, owesConfiguration: true)
        } else if lane == .video, !entry.traits.contains(.discardable) {
            subscribers[subscriber].setTrouble(entry.slot, lane: lane, awaitsKey: true)
            if !subscribers[subscriber].isParked { setKeyFrameWanted(entry.slot, true) }
        }
    }

    /// Queues the stream's configuration once more, as a further frame: the one that was dropped is accounted already.
    private mutating func payConfiguration(_ subscriber: Int, _ lane: Lane, _ slot: StreamSlot) {
        guard budget.take(streams[slot.index].configuration.count) else { return }
        subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: false)
        guard !streams[slot.index].configuration.isEmpty else { return }
        unsafe subscribers[subscriber][lane].prelude.append(streams[slot.index].configuration.readable)
        subscribers[subscriber][lane].preludeFrames &+= 1
        subscribers[subscriber].account.entered &+= 1
    }

    // MARK: Room in the log

    /// Drops what has expired for subscribers that lag, and lets the log forget what nobody needs.
    package mutating func reclaim(_ lane: Lane, now: MonotonicInstant) {
        let deadline = deadlineNanoseconds(lane)
        var oldestNeeded = self[lane].next
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            if subscribers[index][lane].sequence < self[lane].next { dropExpired(index, lane, now, deadline) }
            oldestNeeded = min(oldestNeeded, subscribers[index][lane].sequence)
        }
        self[lane].release(before: max(oldestNeeded, self[lane].first))
    }

    private mutating func dropExpired(_ subscriber: Int, _ lane: Lane, _ now: MonotonicInstant, _ deadline: UInt64) {
        while subscribers[subscriber][lane].sequence < self[lane].next {
            let entry = self[lane][subscribers[subscriber][lane].sequence]
            guard now.nanoseconds(since: entry.arrival) > deadline else { return }
            if subscribers[subscriber].begunLane == lane {
                moveBegunMessageToResidue(subscriber)
            } else {
                passOver(subscriber, lane, entry, now, deadline)
            }
        }
    }

    /// Makes room for a message: by reclaiming, else by growing, and at the bound by dropping the oldest entries for whoever still lags.
    mutating func makeRoom(in lane: Lane, for byteCount: Int, now: MonotonicInstant) -> Bool {
        if self[lane].hasRoom(for: byteCount) { return true }
        reclaim(lane, now: now)
        // A log that stays half full after reclaiming would be reclaimed again at once: growing makes the walk rare.
        if self[lane].hasRoom(for: byteCount), self[lane].liveBytes <= self[lane].byteCapacity / 2 { return true }
        if self[lane].grow(for: byteCount) { return true }
        while !self[lane].hasRoom(for: byteCount), self[lane].count > 0 {
            forceForward(lane, before: self[lane].first &+ UInt64(max(1, self[lane].count / 4)), now: now)
        }
        return self[lane].hasRoom(for: byteCount) || self[lane].grow(for: byteCount)
    }

    private mutating func forceForward(_ lane: Lane, before sequence: UInt64, now: MonotonicInstant) {
        let deadline = deadlineNanoseconds(lane)
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            while subscribers[index][lane].sequence < sequence {
                if subscribers[index].begunLane == lane {
                    moveBegunMessageToResidue(index)
                } else {
                    passOver(index, lane, self[lane][subscribers[index][lane].sequence], now, deadline)
                }
            }
        }
        self[lane].release(before: sequence)
    }

    /// Periodic housekeeping, a few times a second: bounds what a stalled subscriber holds, frees slots, gives memory of silent lanes back.
    package mutating func tidy(now: MonotonicInstant) {
        for lane in Lane.allCases {
            reclaim(lane, now: now)
            self[lane].releaseMemoryIfSilent()
        }
        freeEndedStreams()
    }
}
