import RelayBase

/// What is to be done with a subscriber's next entry of a log.
enum EgressDecision {
    case serve
    /// Not the subscriber's: another's stream, its own, or from before its time.
    case pass
    case expire
    case supersede
}

extension RoomFanout {
    /// An enhancement frame that has waited for so long gives way to base frames behind it.
    static let enhancementWaitNanosecondsMax: UInt64 = 20_000_000
    /// How far behind an enhancement frame a base frame is looked for.
    private static let entriesLookedAtMax = 64
    /// However long a key frame takes: what follows it counts as having come this much later than it did, at most.
    static let keyFrameGraceNanosecondsMax: UInt64 = 2_000_000_000

    /// Whether the entry of that sequence is for the subscriber.
    func isDue(_ subscriber: Int, _ entry: LaneEntry, _ sequence: UInt64) -> Bool {
        let slot = entry.slot.index
        return slot < subscribers[subscriber].interests.count && subscribers[subscriber].interests[slot].holds(sequence, entry.traits) != .foreign
    }

    /// What an entry is to the subscriber, wherever it has begun.
    func holding(_ subscriber: Int, _ entry: LaneEntry, _ sequence: UInt64) -> StreamInterest.Holding {
        let slot = entry.slot.index
        return slot < subscribers[subscriber].interests.count ? subscribers[subscriber].interests[slot].chosen(sequence, entry.traits) : .foreign
    }

    func decide(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant, _ deadline: UInt64) -> EgressDecision {
        guard entry.slot.index < subscribers[subscriber].interests.count else { return .pass }
        switch subscribers[subscriber].interests[entry.slot.index].holds(subscribers[subscriber][lane].sequence, entry.traits) {
        case .foreign: return .pass
        case .outdated: return .supersede
        case .due: break
        }
        if hasExpired(subscriber, entry, now, deadline) { return .expire }
        let interest = subscribers[subscriber].interests[entry.slot.index]
        if lacksConfiguration(subscriber, lane, entry) { return .supersede }
        if interest.awaitsKey, entry.traits.isDisjoint(with: [.key, .configuration]) { return .supersede }
        if entry.traits.contains(.enhancement), entry.traits.temporalLayer >= interest.brokenFrom { return .supersede }
        return .serve
    }

    /// Whether the entry at the cursor needs a configuration that the subscriber has missed and that another has replaced since: it can be given no more.
    private func lacksConfiguration(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) -> Bool {
        guard owesConfiguration(subscriber, lane, entry) else { return false }
        let configured = streams[entry.slot.index].configured(entry.traits.spatial)
        return subscribers[subscriber][lane].sequence < streams[entry.slot.index].layers[configured].configuredFrom
    }

    /// Whether an entry that is for the subscriber has waited beyond its deadline: the class's, or the shorter one that the subscriber wished for.
    ///
    /// It counts from the arrival; behind a key frame that took long, from when that was on its way whole (``StreamInterest/countsFrom``).
    func hasExpired(_ subscriber: Int, _ entry: LaneEntry, _ now: MonotonicInstant, _ deadline: UInt64) -> Bool {
        let interest = subscribers[subscriber].interests[entry.slot.index]
        var start = entry.arrival
        if interest.countsFrom > start {
            start = min(interest.countsFrom, start.advanced(byNanoseconds: RoomFanout.keyFrameGraceNanosecondsMax))
        }
        return now.nanoseconds(since: start) > min(deadline, interest.delayMax)
    }

    /// Moves the cursor over an entry that is not served, accounts for it, and notes what that does to the stream's decodability.
    mutating func passOver(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant, _ deadline: UInt64) {
        switch decide(subscriber, lane, entry, now, deadline) {
        case .serve, .expire:
            subscribers[subscriber].account.expired &+= 1
            noteLoss(subscriber, lane, entry.slot, entry.traits, at: subscribers[subscriber][lane].sequence)
        case .supersede:
            subscribers[subscriber].account.superseded &+= 1
            if lane == .video { askAtStart(subscriber, lane, entry) }
            if lacksConfiguration(subscriber, lane, entry) {
                noteLoss(subscriber, lane, entry.slot, entry.traits, at: subscribers[subscriber][lane].sequence)
            }
        case .pass:
            break
        }
        subscribers[subscriber][lane].sequence &+= 1
    }

    // MARK: Enhancement gives way

    /// Whether the enhancement frame at the cursor is passed over so that base frames behind it go sooner: it has waited, a base frame of the subscriber's
    /// lies behind it, and the room does not take both.
    func givesWay(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ room: EgressRoom, _ now: MonotonicInstant) -> Bool {
        guard entry.traits.contains(.enhancement), now.nanoseconds(since: entry.arrival) > RoomFanout.enhancementWaitNanosecondsMax else {
            return false
        }
        var sequence = subscribers[subscriber][lane].sequence &+ 1
        // The log knows its newest base frame, whosever it is: mostly there is none behind.
        guard sequence < self[lane].baseEnd else { return false }
        let end = min(self[lane].baseEnd, sequence &+ UInt64(RoomFanout.entriesLookedAtMax))
        var byteCount = entry.byteCount
        while sequence < end {
            let behind = self[lane][sequence]
            if isDue(subscriber, behind, sequence) {
                byteCount += behind.byteCount
                if byteCount > room.left {
                    // Too much for this room; whether a base frame is among it is seen on the way.
                    if behind.traits.isBase { return true }
                } else if behind.traits.isBase {
                    return false
                }
            }
            sequence &+= 1
        }
        return false
    }

    /// Passes over the entry at the cursor, and with it what may refer to it: of its stream, the same and higher temporal layers up to the next base frame.
    mutating func giveWay(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        subscribers[subscriber].account.superseded &+= 1
        if !entry.traits.contains(.discardable) {
            noteLoss(subscriber, lane, entry.slot, entry.traits, at: subscribers[subscriber][lane].sequence)
        }
        subscribers[subscriber][lane].sequence &+= 1
    }

    // MARK: Decodability

    /// What is served mends what an earlier loss had broken.
    mutating func noteServed(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant) {
        if lane == .video, entry.traits.contains(.key) { subscribers[subscriber].interests[entry.slot.index].countsFrom = now }
        if subscribers[subscriber][lane].countedStreams > 0 { countGiven(subscriber, lane, entry, now) }
        guard subscribers[subscriber][lane].troubledStreams > 0 else { return }
        if entry.traits.contains(.configuration) {
            // That of the layer before does not pay what is owed of the next.
            if subscribers[subscriber][lane].sequence >= subscribers[subscriber].interests[entry.slot.index].owesFrom {
                subscribers[subscriber].setTrouble(entry.slot, lane: lane, owesConfiguration: false)
            }
        } else if entry.traits.contains(.key) {
            subscribers[subscriber].setTrouble(entry.slot, lane: lane, awaitsKey: false, brokenFrom: .max)
        } else if entry.traits.isBase {
            subscribers[subscriber].setTrouble(entry.slot, lane: lane, brokenFrom: .max)
        }
    }

    /// - Parameter sequence: where the lost frame lay in the log, or would have.
    mutating func noteLoss(_ subscriber: Int, _ lane: Lane, _ slot: StreamSlot, _ traits: FrameTraits, at sequence: UInt64) {
        if traits.contains(.configuration) {
            noteLostConfiguration(subscriber, lane, slot, at: sequence)
        } else if lane == .video, !traits.contains(.discardable) {
            if traits.contains(.enhancement) {
                let broken = min(subscribers[subscriber].interests[slot.index].brokenFrom, traits.temporalLayer)
                subscribers[subscriber].setTrouble(slot, lane: lane, brokenFrom: broken)
            } else {
                subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: true)
                // A key frame of another layer may follow in the log already.
                let interest = subscribers[subscriber].interests[slot.index]
                let isNeeded = sequence >= interest.changedAt || !interest.changeBeginsWithKey
                guard isNeeded, !subscribers[subscriber].isParked else { return }
                if isReclaiming { subscribers[subscriber].asksWhenPulled = true } else { needKeyFrame(slot, traits.spatial) }
            }
        }
    }

    private mutating func noteLostConfiguration(_ subscriber: Int, _ lane: Lane, _ slot: StreamSlot, at sequence: UInt64) {
        let interest = subscribers[subscriber].interests[slot.index]
        if interest.owesConfiguration, sequence < interest.owesFrom {
            // Two are owed, of the layer before and of the next: what is left of the layer before is given up.
            giveUpLayerBefore(subscriber, slot, from: sequence &+ 1)
        } else {
            subscribers[subscriber].interests[slot.index].owesFrom = 0
            subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: true)
        }
    }

    func owesConfiguration(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) -> Bool {
        let interest = subscribers[subscriber].interests[entry.slot.index]
        return interest.owesConfiguration && subscribers[subscriber][lane].sequence >= interest.owesFrom && !entry.traits.contains(.configuration)
    }

    /// Whether the entry is the first of its stream since that was released.
    func owesDiscontinuity(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) -> Bool {
        subscribers[subscriber][lane].troubledStreams > 0 && subscribers[subscriber].interests[entry.slot.index].owesDiscontinuity
            && !entry.traits.contains(.configuration)
    }

    /// Queues the configuration of an entry's layer once more, as a further frame: the one that was dropped is accounted already.
    mutating func payConfiguration(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry) {
        let slot = entry.slot
        let spatial = streams[slot.index].configured(entry.traits.spatial)
        // A frame is not sent without its configuration because others hold the memory: it is small, and goes at once.
        budget.takeAnyway(streams[slot.index].layers[spatial].configuration.count)
        subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: false)
        guard !streams[slot.index].layers[spatial].configuration.isEmpty else { return }
        unsafe subscribers[subscriber][lane].prelude.append(streams[slot.index].layers[spatial].configuration.readable)
        subscribers[subscriber][lane].preludeFrames &+= 1
        subscribers[subscriber].account.entered &+= 1
    }

    // MARK: Deadlines

    /// The key frame that was begun is on its way whole: what follows it counts from now.
    mutating func settleBegunKey(_ subscriber: Int, _ now: MonotonicInstant) {
        guard let slot = subscribers[subscriber].begunKey else { return }
        subscribers[subscriber].begunKey = nil
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else { return }
        subscribers[subscriber].interests[slot.index].countsFrom = now
    }

    /// A lane's prelude is out: what came while groups of pictures were on their way counts from now.
    mutating func settleGroups(_ subscriber: Int, _ lane: Lane, _ now: MonotonicInstant) {
        subscribers[subscriber][lane].preludeHoldsGroup = false
        for slot in subscribers[subscriber].interests.indices
        where subscribers[subscriber].interests[slot].isWanted && subscribers[subscriber].interests[slot].countsFrom == .distantFuture
            && streams[slot].lane == lane && subscribers[subscriber].begunKey?.index != slot
        {
            subscribers[subscriber].interests[slot].countsFrom = now
        }
    }

    /// Sets after how long a queued frame of a stream is of no use to a subscriber; it only shortens the class's deadline.
    ///
    /// - Parameter milliseconds: `nil`: the class's deadline.
    package mutating func setDelayMax(_ subscriber: Int, _ slot: StreamSlot, milliseconds: UInt64?) {
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else { return }
        let (nanoseconds, overflow) = (milliseconds ?? .max).multipliedReportingOverflow(by: 1_000_000)
        subscribers[subscriber].interests[slot.index].delayMax = overflow ? .max : nanoseconds
        noteDelays(subscriber, streams[slot.index].lane)
    }

    /// Keeps the shortest wish of a lane's interests at hand: what is younger than that needs no look at its own.
    mutating func noteDelays(_ subscriber: Int, _ lane: Lane) {
        var shortest = UInt64.max
        for slot in subscribers[subscriber].interests.indices where subscribers[subscriber].interests[slot].isWanted && streams[slot].lane == lane {
            shortest = min(shortest, subscribers[subscriber].interests[slot].delayMax)
        }
        subscribers[subscriber][lane].shortestDelay = shortest
    }
}
