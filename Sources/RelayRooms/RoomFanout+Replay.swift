import MediaProtocol
package import RelayBase

/// Replay: what a lost connection took with it is served again from what the logs still keep (``LaneLog/release(before:keepingSince:bytesMax:)``).
extension RoomFanout {
    /// The connection is gone, and what was begun on it with it. What is in a log is begun anew; of what had left it already, nothing is left.
    ///
    /// ``rewind(_:_:after:now:)`` for each stream that the subscriber has says then where it goes on.
    package mutating func dropBegun(_ subscriber: Int) {
        subscribers[subscriber].begunLane = nil
        subscribers[subscriber].begunBytes = 0
        subscribers[subscriber].begunKey = nil
        if !subscribers[subscriber].residue.isEmpty {
            budget.give(subscribers[subscriber].residue.count)
            subscribers[subscriber].residue.removeAll()
            subscribers[subscriber].residue.releaseIfEmpty()
            if subscribers[subscriber].residueEndsFrame { subscribers[subscriber].account.expired &+= 1 }
            subscribers[subscriber].residueEndsFrame = false
        }
        for lane in Lane.allCases {
            guard let cut = subscribers[subscriber][lane].cut else { continue }
            if !cut.isInLog { subscribers[subscriber].account.expired &+= 1 }
            dropCutRest(subscriber, lane)
        }
        if subscribers[subscriber].isBroken {
            subscribers[subscriber].isBroken = false
            brokenSubscribers -= 1
        }
    }

    /// Has a subscriber go on in a stream behind the last frame that its client has: what came since and is before its deadline is served again, as far
    /// as it can be decoded after what the client has; each frame that is served again enters the account again. The configuration is repeated.
    ///
    /// - Parameter mark: the last frame that came; `nil`: none.
    /// - Returns: what the client will never get.
    package mutating func rewind(_ subscriber: Int, _ slot: StreamSlot, after mark: ReceivedMark?, now: MonotonicInstant) -> StreamGapMeasure {
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else {
            return StreamGapMeasure()
        }
        let lane = streams[slot.index].lane
        if !streams[slot.index].configuration.isEmpty { subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: true) }
        subscribers[subscriber].interests[slot.index].countsFrom = .zero
        if let gap = goOnInPrelude(subscriber, slot, lane, mark) { return gap }
        let place = findPlace(subscriber, slot, lane, mark, now)
        guard let start = place.sequence else {
            let position = streams[slot.index].position
            let isMissing = position.isKnown && (mark == nil || SerialNumber(position.sequence).isNewer(than: SerialNumber(mark?.sequence ?? 0)))
            let waits = lane == .video && (isMissing || mark == nil)
            if lane == .video { subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: waits) }
            if waits { setKeyFrameWanted(slot, true) }
            guard let mark, isMissing else { return StreamGapMeasure(isOpen: waits) }
            let next = ReceivedMark(sequence: position.sequence &+ 1, timestamp: position.timestamp &+ position.frameTicks)
            return StreamGapMeasure(
                frames: position.sequence &- mark.sequence,
                ticks: ticks(slot, from: mark, to: next, measured: place.ticks.map { $0 &+ position.frameTicks }), isOpen: waits)
        }
        goBack(subscriber, slot, lane, to: start)
        if lane == .video {
            let isReached = start <= subscribers[subscriber].interests[slot.index].from || place.isContiguous
            subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: !isReached)
        }
        guard let mark, !place.isContiguous else { return StreamGapMeasure() }
        return StreamGapMeasure(
            frames: place.mark.sequence &- mark.sequence &- 1, ticks: ticks(slot, from: mark, to: place.mark, measured: place.ticks))
    }

    /// Where a stream can go on.
    private struct ReplayPlace {
        /// Of the log; `nil`: nothing that is there is of use.
        var sequence: UInt64?
        /// The frame that lies there.
        var mark = ReceivedMark(sequence: 0, timestamp: 0)
        var isContiguous = false
        /// From the first missing frame to that one, where the log still has both; across a discontinuity a frame counts as long as its like.
        var ticks: UInt32?
    }

    private func findPlace(
        _ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, _ mark: ReceivedMark?, _ now: MonotonicInstant
    ) -> ReplayPlace {
        let deadline = deadlineNanoseconds(lane)
        var place = ReplayPlace()
        var previous: UInt32 = 0
        var sequence = max(self[lane].first, subscribers[subscriber].interests[slot.index].since)
        while sequence < self[lane].next {
            let entry = self[lane][sequence]
            defer { sequence &+= 1 }
            guard entry.slot == slot, wants(subscriber, entry), !entry.traits.contains(.configuration), let header = header(lane, entry) else {
                continue
            }
            if let mark {
                guard SerialNumber(header.sequence).isNewer(than: SerialNumber(mark.sequence)) else { continue }
                if header.sequence == mark.sequence &+ 1 {
                    place.isContiguous = true
                    place.ticks = 0
                } else {
                    place.isContiguous = false
                    let step = header.flags.contains(.discontinuity) ? streams[slot.index].position.frameTicks : header.timestamp &- previous
                    place.ticks = place.ticks.map { $0 &+ step }
                }
                previous = header.timestamp
            }
            place.mark = ReceivedMark(sequence: header.sequence, timestamp: header.timestamp)
            guard !hasExpired(subscriber, entry, now, deadline) else { continue }
            guard lane != .video || place.isContiguous || entry.traits.contains(.key) else { continue }
            place.sequence = sequence
            return place
        }
        place.isContiguous = false
        return place
    }

    /// Moves the cursor back to an entry of a stream, for that stream alone.
    private mutating func goBack(_ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, to start: UInt64) {
        let cursor = subscribers[subscriber][lane].sequence
        let end = max(cursor, subscribers[subscriber].interests[slot.index].from)
        guard start < end else { return }
        var sequence = start
        while sequence < end {
            let entry = self[lane][sequence]
            if entry.slot == slot, wants(subscriber, entry) { subscribers[subscriber].account.entered &+= 1 }
            sequence &+= 1
        }
        if start < cursor {
            for index in subscribers[subscriber].interests.indices
            where index != slot.index && subscribers[subscriber].interests[index].isWanted && streams[index].lane == lane {
                subscribers[subscriber].interests[index].from = max(subscribers[subscriber].interests[index].from, cursor)
            }
            subscribers[subscriber][lane].sequence = start
        }
        subscribers[subscriber].interests[slot.index].from = start
        subscribers[subscriber][lane].plainFrom = max(subscribers[subscriber][lane].plainFrom, end)
    }

    /// What a late joiner is still owed comes before the log: it stays when it can be decoded after what the client has, else it goes.
    private mutating func goOnInPrelude(_ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, _ mark: ReceivedMark?) -> StreamGapMeasure? {
        var first: MediaHeader?
        unsafe MessageFraming.forEachFrame(subscribers[subscriber][lane].prelude.readable) { frame in
            guard first == nil, let header = try? unsafe MediaHeader(parsing: frame), header.kind != .configuration,
                header.stream.rawValue == streams[slot.index].id
            else { return }
            first = header
        }
        guard let first else { return nil }
        let isContiguous = mark.map { first.sequence == $0.sequence &+ 1 } ?? false
        guard isContiguous || first.flags.contains(.key) else {
            dropPrelude(subscriber, lane, of: streams[slot.index].id)
            return nil
        }
        guard let mark, !isContiguous, SerialNumber(first.sequence).isNewer(than: SerialNumber(mark.sequence)) else { return StreamGapMeasure() }
        let next = ReceivedMark(sequence: first.sequence, timestamp: first.timestamp)
        return StreamGapMeasure(frames: first.sequence &- mark.sequence &- 1, ticks: ticks(slot, from: mark, to: next, measured: nil))
    }

    private func header(_ lane: Lane, _ entry: LaneEntry) -> MediaHeader? {
        try? unsafe MediaHeader(parsing: MessageFraming.payload(ofMessage: self[lane].bytes(at: entry.offset, count: entry.byteCount)))
    }

    /// The media time between two frames without the length of the first: as it was measured frame by frame, else from their timestamps.
    func ticks(_ slot: StreamSlot, from mark: ReceivedMark, to next: ReceivedMark, measured: UInt32?) -> UInt32 {
        if let measured { return measured }
        let frames = next.sequence &- mark.sequence &- 1
        guard frames > 0 else { return 0 }
        let frameTicks = streams[slot.index].position.frameTicks
        let step = next.timestamp &- mark.timestamp
        if step >= frameTicks, step <= UInt32(Int32.max) { return step - frameTicks }
        // Timestamps started afresh in between: frames are taken to be as long as their like.
        let (product, overflow) = frames.multipliedReportingOverflow(by: frameTicks)
        return overflow ? .max : product
    }
}
