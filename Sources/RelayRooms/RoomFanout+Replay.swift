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
    /// - Parameters:
    ///   - mark: the last frame that came; `nil`: none.
    ///   - layer: the spatial layer that it is of; `nil`: not known.
    /// - Returns: what the client will never get; nothing where its last frame is of another layer than it gets now, since numbers count each layer's apart.
    package mutating func rewind(
        _ subscriber: Int, _ slot: StreamSlot, after mark: ReceivedMark?, layer: Int? = nil, now: MonotonicInstant
    ) -> StreamGapMeasure {
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else {
            return StreamGapMeasure()
        }
        if streams[slot.index].isDerived { dropLeft(subscriber) }
        guard subscribers[subscriber].interests[slot.index].isWanted else { return StreamGapMeasure() }
        let lane = streams[slot.index].lane
        let interest = subscribers[subscriber].interests[slot.index]
        let hadConfiguration = !interest.owesConfiguration
        // A paused stream goes on with a key frame, whatever the client has.
        guard !interest.layer.isNone else { return StreamGapMeasure() }
        if !streams[slot.index].layers[streams[slot.index].configured(interest.layer.spatial)].configuration.isEmpty {
            subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: true)
        }
        subscribers[subscriber].interests[slot.index].countsFrom = .zero
        if let gap = goOnInPrelude(subscriber, slot, lane, mark) { return gap }
        // Sequence numbers count each layer's frames: the client's last frame may be of another layer than it gets now.
        let isOfOtherLayer = streams[slot.index].layers.count > 1 && (layer.map { $0 != interest.layer.spatial } ?? (interest.changedAt > 0))
        let timestamp = isOfOtherLayer ? mark?.timestamp : nil
        let mark = isOfOtherLayer ? nil : mark
        let place = findPlace(subscriber, slot, lane, mark, after: timestamp, hadConfiguration: hadConfiguration, now)
        noteRelease(subscriber, slot, lane, isBehind: place.sequence == nil || mark.map { place.mark.sequence != $0.sequence &+ 1 } ?? true)
        guard let start = place.sequence else { return wait(subscriber, slot, lane, mark, place, hadConfiguration: hadConfiguration) }
        // The cached configuration is not that of what comes first, and the client has that.
        if start < configuredFrom(slot, self[lane][start].traits) { subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: false) }
        let isAhead = !goBack(subscriber, slot, lane, to: start)
        if lane == .video {
            // What lies before a start that is still ahead is passed over: then what comes first is what the gap says.
            subscribers[subscriber].setTrouble(
                slot, lane: lane, awaitsKey: isAhead && !place.isUnbroken, brokenFrom: isAhead && place.isUnbroken ? 1 : .max)
        }
        guard let mark else { return StreamGapMeasure() }
        let frames = place.mark.sequence &- mark.sequence &- 1
        return StreamGapMeasure(frames: frames, ticks: frames == 0 ? 0 : ticks(subscriber, slot, from: mark, to: place.mark, measured: place.ticks))
    }

    /// Of a stream that was held, the first frame that its client gets behind the hold says so, and that may be what was lost.
    private mutating func noteRelease(_ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, isBehind: Bool) {
        guard isBehind, subscribers[subscriber].interests[slot.index].heldSince > .zero else { return }
        subscribers[subscriber].setTrouble(slot, lane: lane, owesDiscontinuity: true)
    }

    /// Nothing that is there is of use: the stream goes on with what comes.
    private mutating func wait(
        _ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, _ mark: ReceivedMark?, _ place: ReplayPlace, hadConfiguration: Bool
    ) -> StreamGapMeasure {
        let position = position(subscriber, slot)
        let isMissing = position.isKnown && (mark.map { SerialNumber(position.sequence).isNewer(than: SerialNumber($0.sequence)) } ?? true)
        let needsKey = lane == .video && (mark == nil || (isMissing && !place.isUnbroken))
        if lane == .video {
            subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: needsKey)
            if isMissing, !needsKey { subscribers[subscriber].setTrouble(slot, lane: lane, brokenFrom: 1) }
        }
        if hadConfiguration, hasConfiguration(subscriber, slot, mark) {
            // One that comes before the next pull is not of the frames before it.
            subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: false)
        }
        if needsKey { needKeyFrame(slot, subscribers[subscriber].interests[slot.index].layer.spatial) }
        guard let mark, isMissing else { return StreamGapMeasure(isOpen: needsKey) }
        let next = ReceivedMark(sequence: position.sequence &+ 1, timestamp: position.timestamp &+ position.frameTicks)
        return StreamGapMeasure(
            frames: position.sequence &- mark.sequence,
            ticks: ticks(subscriber, slot, from: mark, to: next, measured: place.ticks.map { $0 &+ position.frameTicks }), isOpen: lane == .video)
    }

    /// Whether a client that has that frame has the configuration that is cached.
    private func hasConfiguration(_ subscriber: Int, _ slot: StreamSlot, _ mark: ReceivedMark?) -> Bool {
        let spatial = subscribers[subscriber].interests[slot.index].layer.spatial
        guard let mark, streams[slot.index].configured(spatial) == spatial else { return false }
        guard let before = streams[slot.index].layers[spatial].configuredAfter else { return true }
        return SerialNumber(mark.sequence).isNewer(than: SerialNumber(before))
    }

    /// Where a stream can go on.
    private struct ReplayPlace {
        /// Of the log; `nil`: nothing that is there is of use.
        var sequence: UInt64?
        /// The frame that lies there.
        var mark = ReceivedMark(sequence: 0, timestamp: 0)
        /// Of video: every frame between the one that the client has and this one is known and refers to nothing that matters to a base frame.
        var isUnbroken = true
        /// From the first missing frame to that one, where the log still has both; across a discontinuity a frame counts as long as its like.
        var ticks: UInt32?
    }

    private func findPlace(
        _ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, _ mark: ReceivedMark?, after timestamp: UInt32?, hadConfiguration: Bool,
        _ now: MonotonicInstant
    ) -> ReplayPlace {
        let deadline = deadlineNanoseconds(lane)
        var place = ReplayPlace()
        place.isUnbroken = mark != nil
        var previous = mark
        // Whether what comes at the place looked at is of the configuration that the client has.
        var isConfigured = false
        var sequence = max(self[lane].first, subscribers[subscriber].interests[slot.index].since)
        while sequence < self[lane].next {
            let entry = self[lane][sequence]
            defer { sequence &+= 1 }
            guard entry.slot == slot, holding(subscriber, entry, sequence) != .foreign, let header = header(lane, entry) else { continue }
            if let mark, header.sequence == mark.sequence, !entry.traits.contains(.configuration) { isConfigured = hadConfiguration }
            guard !entry.traits.contains(.configuration) else {
                if let mark, SerialNumber(header.sequence).isNewer(than: SerialNumber(mark.sequence)) { isConfigured = false }
                continue
            }
            if let timestamp, !SerialNumber(header.timestamp).isNewer(than: SerialNumber(timestamp)) { continue }
            if let mark, let before = previous {
                guard SerialNumber(header.sequence).isNewer(than: SerialNumber(mark.sequence)) else { continue }
                if header.sequence != before.sequence &+ 1 { place.isUnbroken = false }
                if header.sequence == mark.sequence &+ 1 {
                    place.ticks = 0
                } else {
                    let step = header.flags.contains(.discontinuity) ? position(subscriber, slot).frameTicks : header.timestamp &- before.timestamp
                    place.ticks = place.ticks.map { $0 &+ step }
                }
            }
            place.mark = ReceivedMark(sequence: header.sequence, timestamp: header.timestamp)
            if mark != nil { previous = place.mark }
            let isUsable =
                (isConfigured || sequence >= configuredFrom(slot, entry.traits))
                && (lane != .video || entry.traits.contains(.key) || (place.isUnbroken && entry.traits.isBase))
            if isUsable, holding(subscriber, entry, sequence) == .due, !hasExpired(subscriber, entry, now, deadline) {
                if entry.traits.contains(.key) { place.isUnbroken = false }
                place.sequence = sequence
                return place
            }
            if entry.traits.isBase, !entry.traits.contains(.discardable) { place.isUnbroken = false }
        }
        // Frames may have come that the log does not keep any more.
        if let previous, position(subscriber, slot).isKnown,
            SerialNumber(position(subscriber, slot).sequence).isNewer(than: SerialNumber(previous.sequence))
        {
            place.isUnbroken = false
        }
        return place
    }

    /// The place in the log from which on frames of a layer need the configuration that is cached.
    private func configuredFrom(_ slot: StreamSlot, _ traits: FrameTraits) -> UInt64 {
        streams[slot.index].layers[streams[slot.index].configured(traits.spatial)].configuredFrom
    }

    /// Moves the cursor back to an entry of a stream, for that stream alone. Answers false when that entry is still ahead.
    private mutating func goBack(_ subscriber: Int, _ slot: StreamSlot, _ lane: Lane, to start: UInt64) -> Bool {
        let cursor = subscribers[subscriber][lane].sequence
        let end = max(cursor, subscribers[subscriber].interests[slot.index].from)
        guard start < end else { return false }
        var sequence = start
        while sequence < end {
            let entry = self[lane][sequence]
            if entry.slot == slot, holding(subscriber, entry, sequence) != .foreign { subscribers[subscriber].account.entered &+= 1 }
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
        return true
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
        return StreamGapMeasure(frames: first.sequence &- mark.sequence &- 1, ticks: ticks(subscriber, slot, from: mark, to: next, measured: nil))
    }

    /// Where the layer stands that a subscriber gets.
    private func position(_ subscriber: Int, _ slot: StreamSlot) -> StreamPosition {
        streams[slot.index].layers[subscribers[subscriber].interests[slot.index].layer.spatial].position
    }

    private func header(_ lane: Lane, _ entry: LaneEntry) -> MediaHeader? {
        try? unsafe MediaHeader(parsing: MessageFraming.payload(ofMessage: self[lane].bytes(at: entry.offset, count: entry.byteCount)))
    }

    /// The media time between two frames without the length of the first: as it was measured frame by frame, else from their timestamps.
    func ticks(_ subscriber: Int, _ slot: StreamSlot, from mark: ReceivedMark, to next: ReceivedMark, measured: UInt32?) -> UInt32 {
        if let measured { return measured }
        let frames = next.sequence &- mark.sequence &- 1
        guard frames > 0 else { return 0 }
        let frameTicks = position(subscriber, slot).frameTicks
        let step = next.timestamp &- mark.timestamp
        if step >= frameTicks, step <= UInt32(Int32.max) { return step - frameTicks }
        // Timestamps started afresh in between: frames are taken to be as long as their like.
        let (product, overflow) = frames.multipliedReportingOverflow(by: frameTicks)
        return overflow ? .max : product
    }
}
