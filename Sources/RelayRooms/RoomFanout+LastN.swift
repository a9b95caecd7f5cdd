package import RelayBase

// Subscribers that are given the video of those alone who spoke last (protocol document, `subscribe`, `lastN`).
//
// A stream that is left out is held for its subscriber, as a paused one is (``hold(_:_:drains:now:)``): it costs nothing, its publisher hears that it is not wanted, and it goes on
// with its configuration and a key frame.
extension RoomFanout {
    /// Streams of video in the order in which they are given: those of who spoke last, then those of who published first; each publisher's together.
    package func order(of slots: [StreamSlot], recent: [ParticipantID]) -> [StreamSlot] {
        var first: [ParticipantID: UInt32] = [:]
        for slot in slots where streams.isLive(slot.index) {
            let (publisher, id) = (streams[slot.index].publisher, streams[slot.index].id)
            first[publisher] = min(first[publisher] ?? id, id)
        }
        var places: [ParticipantID: Int] = [:]
        for (place, participant) in recent.enumerated() where places[participant] == nil { places[participant] = place }
        let keyed = slots.filter { streams.isLive($0.index) }.map { slot in
            let publisher = streams[slot.index].publisher
            return (slot: slot, place: places[publisher] ?? .max, first: first[publisher] ?? 0, id: streams[slot.index].id)
        }
        return keyed.sorted { ($0.place, $0.first, $0.id) < ($1.place, $1.first, $1.id) }.map(\.slot)
    }

    /// Of an order of streams, those of the first so many publishers.
    ///
    /// - Parameter isRanked: whether the subscriber has a stream by its rank; others count as nobody's.
    package func first(_ count: Int, of order: [StreamSlot], where isRanked: (StreamSlot) -> Bool) -> [StreamSlot] {
        var first: [StreamSlot] = []
        var publishers = 0
        var last: ParticipantID?
        for slot in order where isRanked(slot) {
            let publisher = streams[slot.index].publisher
            if publisher != last {
                guard publishers < count else { break }
                publishers += 1
                last = publisher
            }
            first.append(slot)
        }
        return first
    }

    /// Subscribes to a stream of which nothing is given for now.
    package mutating func subscribeLeftOut(_ subscriber: Int, _ slot: StreamSlot, _ wishes: LayerWishes, now: MonotonicInstant) {
        guard streams.isLive(slot.index), streams[slot.index].endedAt == nil, !isSubscribed(subscriber, slot) else { return }
        open(subscriber, slot)
        subscribers[subscriber].interests[slot.index].isRanked = true
        subscribers[subscriber].interests[slot.index].isLeftOut = true
        subscribers[subscriber].interests[slot.index].isHeld = true
        // Whoever chooses layers does so when it is given.
        subscribers[subscriber].interests[slot.index].heldTarget = LayerChoice(spatial: 0)
        refreshFilter(subscriber, slot)
        setLayerWishes(subscriber, slot, wishes)
    }

    /// Says whether a subscriber has a stream by its rank. One that it has not is given.
    ///
    /// - Returns: whether that changed what is given.
    @discardableResult
    package mutating func setRanked(_ subscriber: Int, _ slot: StreamSlot, _ isRanked: Bool, now: MonotonicInstant) -> Bool {
        guard isSubscribed(subscriber, slot) else { return false }
        subscribers[subscriber].interests[slot.index].isRanked = isRanked
        return isRanked ? false : setLeftOut(subscriber, slot, false, now)
    }

    package func isRanked(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].isRanked
    }

    /// Whether a stream is not given because of its rank.
    package func isLeftOut(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        isSubscribed(subscriber, slot) && subscribers[subscriber].interests[slot.index].isLeftOut
    }

    /// Gives a subscriber the ranked streams of the first so many publishers, and no others.
    ///
    /// - Returns: the streams that it is given now and was not, or the other way round.
    package mutating func giveRanked(_ subscriber: Int, first count: Int, of order: [StreamSlot], now: MonotonicInstant) -> [StreamSlot] {
        let given = first(count, of: order) { isRanked(subscriber, $0) }
        var changed: [StreamSlot] = []
        // What goes makes room before what comes takes it.
        for slot in order where isRanked(subscriber, slot) && !given.contains(slot) {
            if setLeftOut(subscriber, slot, true, now) { changed.append(slot) }
        }
        for slot in given where setLeftOut(subscriber, slot, false, now) { changed.append(slot) }
        return changed
    }

    private mutating func setLeftOut(_ subscriber: Int, _ slot: StreamSlot, _ isLeftOut: Bool, _ now: MonotonicInstant) -> Bool {
        guard subscribers[subscriber].interests[slot.index].isLeftOut != isLeftOut else { return false }
        subscribers[subscriber].interests[slot.index].isLeftOut = isLeftOut
        if isLeftOut { setPrimed(subscriber, slot, .none) }
        applyHold(subscriber, slot, now, as: \.unsubscribed)
        return true
    }
}
