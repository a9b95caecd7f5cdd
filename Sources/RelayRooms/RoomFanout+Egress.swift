import MediaProtocol
package import RelayBase

extension RoomFanout {
    /// Messages up to this size are begun only when they fit whole; a larger one may fill what room there is.
    static let wholeMessageBytesMax = 16 << 10

    /// Writes what the subscriber is due into `room`, whole messages as far as they fit, and moves its cursors.
    ///
    /// Order: the rest of a begun message, then audio, video, data; what has expired is dropped here, before it is encrypted.
    /// - Parameter lane: nothing less urgent is begun; the rest of a begun message goes whatever it is of.
    /// - Returns: bytes written; 0 when nothing is due.
    package mutating func pull(
        _ subscriber: Int, into room: UnsafeMutableRawBufferPointer, now: MonotonicInstant, upTo lane: Lane = .data
    ) -> Int {
        guard !subscribers[subscriber].isBroken else { return 0 }
        if subscribers[subscriber].asksWhenPulled { askForKeyFrames(subscriber) }
        var room = unsafe EgressRoom(room, bundles: subscribers[subscriber].wishes.bundles)
        pullResidue(subscriber, &room, now)
        guard subscribers[subscriber].residue.isEmpty else { return room.filled }
        if let lane = subscribers[subscriber].begunLane {
            continueMessage(subscriber, lane, &room, now)
            guard subscribers[subscriber].begunLane == nil else { return room.filled }
        }
        for next in Lane.allCases where next.rawValue <= lane.rawValue {
            guard pullCut(subscriber, next, &room, now), pullPrelude(subscriber, next, &room, now), pullLog(subscriber, next, &room, now) else {
                return room.filled
            }
        }
        return room.filled
    }

    mutating func pullResidue(_ subscriber: Int, _ room: inout EgressRoom, _ now: MonotonicInstant) {
        let count = min(subscribers[subscriber].residue.count, room.left)
        guard count > 0 else { return }
        unsafe room.append(UnsafeRawBufferPointer(rebasing: subscribers[subscriber].residue.readable[..<count]))
        subscribers[subscriber].residue.consume(count)
        budget.give(count)
        guard subscribers[subscriber].residue.isEmpty else { return }
        subscribers[subscriber].residue.releaseIfEmpty()
        if subscribers[subscriber].residueEndsFrame { subscribers[subscriber].account.delivered &+= 1 }
        subscribers[subscriber].residueEndsFrame = false
        if subscribers[subscriber].begunLane == nil { settleBegunKey(subscriber, now) }
    }

    /// Goes on with the begun message at the lane's cursor.
    private mutating func continueMessage(_ subscriber: Int, _ lane: Lane, _ room: inout EgressRoom, _ now: MonotonicInstant) {
        let entry = self[lane][subscribers[subscriber][lane].sequence]
        let begun = subscribers[subscriber].begunBytes
        let count = min(entry.byteCount - begun, room.left)
        unsafe room.append(self[lane].bytes(at: entry.offset + begun, count: count))
        if begun + count == entry.byteCount {
            subscribers[subscriber].begunLane = nil
            subscribers[subscriber].begunBytes = 0
            subscribers[subscriber][lane].sequence &+= 1
            subscribers[subscriber].account.delivered &+= 1
            settleBegunKey(subscriber, now)
        } else {
            subscribers[subscriber].begunLane = lane
            subscribers[subscriber].begunBytes = begun + count
        }
    }

    /// Sends what a late joiner is owed. Answers false when `room` is full.
    private mutating func pullPrelude(_ subscriber: Int, _ lane: Lane, _ room: inout EgressRoom, _ now: MonotonicInstant) -> Bool {
        while !subscribers[subscriber][lane].prelude.isEmpty {
            let byteCount = unsafe MessageFraming.messageByteCount(subscribers[subscriber][lane].prelude.readable)
            if byteCount > room.left {
                guard mayBegin(byteCount, lane, subscriber, room) else { return false }
                if isCuttable(subscriber, lane) {
                    if subscribers[subscriber][lane].countedStreams > 0 { countGivenPrelude(subscriber, lane, now) }
                    cutPrelude(subscriber, lane)
                    guard pullCut(subscriber, lane, &room, now) else { return false }
                    continue
                }
            }
            if subscribers[subscriber][lane].countedStreams > 0 { countGivenPrelude(subscriber, lane, now) }
            guard givePreludeMessage(subscriber, lane, byteCount, &room) else { return false }
        }
        subscribers[subscriber][lane].prelude.releaseIfEmpty()
        if subscribers[subscriber][lane].preludeHoldsGroup { settleGroups(subscriber, lane, now) }
        return true
    }

    /// Moves the first message of a prelude out; what does not fit becomes residue. Answers false when it did not fit.
    private mutating func givePreludeMessage(_ subscriber: Int, _ lane: Lane, _ byteCount: Int, _ room: inout EgressRoom) -> Bool {
        let count = min(byteCount, room.left)
        if count == byteCount {
            unsafe room.appendMessage(
                UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[..<count]),
                mayJoin: subscribers[subscriber].wishes.bundles && !isPreludeConfiguration(subscriber, lane))
            subscribers[subscriber].account.delivered &+= 1
        } else {
            unsafe room.append(UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[..<count]))
            unsafe subscribers[subscriber].residue.append(
                UnsafeRawBufferPointer(rebasing: subscribers[subscriber][lane].prelude.readable[count..<byteCount]))
            subscribers[subscriber].residueEndsFrame = true
            subscribers[subscriber].residueLane = lane
        }
        subscribers[subscriber][lane].preludeFrames &-= 1
        subscribers[subscriber][lane].prelude.consume(byteCount)
        // What became residue stays taken.
        budget.give(count)
        return count == byteCount
    }

    private func isPreludeConfiguration(_ subscriber: Int, _ lane: Lane) -> Bool {
        let header = try? unsafe MediaHeader(parsing: MessageFraming.payload(ofMessage: subscribers[subscriber][lane].prelude.readable))
        return header?.kind == .configuration
    }

    /// Whether a message that does not fit whole may be begun with the room that is left.
    func mayBegin(_ byteCount: Int, _ lane: Lane, _ subscriber: Int, _ room: EgressRoom) -> Bool {
        guard room.left > 0 else { return false }
        if room.filled == 0 { return true }
        guard isCuttable(subscriber, lane) else { return byteCount > RoomFanout.wholeMessageBytesMax }
        // Its first part must fit: a frame that is cut and of which nothing has gone would be sent however old it gets.
        return byteCount > room.count && room.left >= RoomFanout.partRoomMin
    }

    /// Sends from the log. Answers false when `room` is full.
    private mutating func pullLog(_ subscriber: Int, _ lane: Lane, _ room: inout EgressRoom, _ now: MonotonicInstant) -> Bool {
        let deadline = deadlineNanoseconds(lane)
        while subscribers[subscriber][lane].sequence < self[lane].next {
            if pullRun(subscriber, lane, &room, now, deadline) { return true }
            let entry = self[lane][subscribers[subscriber][lane].sequence]
            switch decide(subscriber, lane, entry, now, deadline) {
            case .serve:
                if givesWay(subscriber, lane, entry, room, now) {
                    giveWay(subscriber, lane, entry)
                    continue
                }
                if owesConfiguration(subscriber, lane, entry) {
                    payConfiguration(subscriber, lane, entry)
                    guard pullPrelude(subscriber, lane, &room, now) else { return false }
                }
                if owesDiscontinuity(subscriber, lane, entry) {
                    guard entry.byteCount <= room.left || mayBegin(entry.byteCount, lane, subscriber, room) else { return false }
                    giveFirst(subscriber, lane, entry, now)
                    guard pullPrelude(subscriber, lane, &room, now) else { return false }
                    continue
                }
                guard serve(subscriber, lane, entry, &room, now) else { return false }
            case .pass, .expire, .supersede:
                passOver(subscriber, lane, entry, now, deadline)
            }
        }
        return true
    }

    /// Sends the entry at the cursor, or begins to. Answers false when `room` is full.
    private mutating func serve(
        _ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ room: inout EgressRoom, _ now: MonotonicInstant
    ) -> Bool {
        if entry.byteCount <= room.left {
            noteServed(subscriber, lane, entry, now)
            unsafe room.appendMessage(
                self[lane].bytes(at: entry.offset, count: entry.byteCount), mayJoin: !entry.traits.contains(.configuration))
            subscribers[subscriber][lane].sequence &+= 1
            subscribers[subscriber].account.delivered &+= 1
            return true
        }
        guard mayBegin(entry.byteCount, lane, subscriber, room) else { return false }
        noteServed(subscriber, lane, entry, now)
        // What follows a key frame does not grow old while that is on its way.
        if lane == .video, entry.traits.contains(.key) {
            subscribers[subscriber].interests[entry.slot.index].countsFrom = .distantFuture
            subscribers[subscriber].begunKey = entry.slot
        }
        if isCuttable(subscriber, lane) {
            cutEntry(subscriber, lane, entry)
            return pullCut(subscriber, lane, &room, now)
        }
        continueMessage(subscriber, lane, &room, now)
        return false
    }

    /// The live edge: everything from the cursor to the end of the log lies side by side, is the subscriber's, is fresh and fits, so it is copied as one.
    private mutating func pullRun(
        _ subscriber: Int, _ lane: Lane, _ room: inout EgressRoom, _ now: MonotonicInstant, _ deadline: UInt64
    ) -> Bool {
        guard !room.bundles, let run = run(subscriber, lane, now, deadline), run.byteCount <= room.left else { return false }
        unsafe room.append(bytes(of: run))
        took(subscriber, run)
        return true
    }
}
