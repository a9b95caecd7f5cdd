package import RelayBase

/// The live edge: who is due nothing but the newest messages of one lane, all of them, is served straight from the room's log, without a copy.
///
/// That is what nearly every subscriber is due at nearly every flush. Whoever is due anything else goes the way of ``RoomFanout/pull(_:into:now:upTo:)``,
/// which sends the same bytes.
extension RoomFanout {
    /// Whole messages of one lane's log that lie side by side.
    package struct LiveRun: Sendable {
        let lane: Lane
        let offset: Int
        package let byteCount: Int
        let frames: UInt64
        let end: UInt64
    }

    /// What a subscriber is due, if it is a live run; `nil`: nothing is, or not only that.
    package func liveRun(_ subscriber: Int, now: MonotonicInstant) -> LiveRun? {
        let lane: Lane
        // Spelled out, for an array of all lanes costs more than the question.
        switch (hasNew(subscriber, .audio), hasNew(subscriber, .video), hasNew(subscriber, .data)) {
        case (true, false, false): lane = .audio
        case (false, true, false): lane = .video
        case (false, false, true): lane = .data
        default: return nil
        }
        guard isPlain(subscriber) else { return nil }
        return run(subscriber, lane, now, deadlineNanoseconds(lane))
    }

    /// Whether a subscriber has nothing of its own to be sent, no message begun, and wishes for frames as they are.
    private func isPlain(_ subscriber: Int) -> Bool {
        guard subscribers[subscriber].begunLane == nil, subscribers[subscriber].residue.isEmpty, !subscribers[subscriber].isBroken,
            !subscribers[subscriber].asksWhenPulled, !subscribers[subscriber].wishes.bundles
        else { return false }
        return hasNothingOwn(subscriber, .audio) && hasNothingOwn(subscriber, .video) && hasNothingOwn(subscriber, .data)
    }

    private func hasNew(_ subscriber: Int, _ lane: Lane) -> Bool {
        subscribers[subscriber][lane].sequence < self[lane].next
    }

    private func hasNothingOwn(_ subscriber: Int, _ lane: Lane) -> Bool {
        !subscribers[subscriber][lane].holdsOwn && !subscribers[subscriber][lane].preludeHoldsGroup
    }

    /// From a lane's cursor to the end of its log, if all of it lies side by side, is the subscriber's and is fresh.
    func run(_ subscriber: Int, _ lane: Lane, _ now: MonotonicInstant, _ deadline: UInt64) -> LiveRun? {
        let sequence = subscribers[subscriber][lane].sequence
        guard subscribers[subscriber][lane].wantedStreams == laneStreams[lane], subscribers[subscriber][lane].troubledStreams == 0,
            subscribers[subscriber][lane].filteredStreams == 0, subscribers[subscriber][lane].countedStreams == 0,
            sequence >= subscribers[subscriber][lane].plainFrom
        else { return nil }
        let end = self[lane].next
        let oldest = self[lane][sequence]
        let newest = self[lane][end &- 1]
        guard newest.offset >= oldest.offset,
            now.nanoseconds(since: oldest.arrival) <= min(deadline, subscribers[subscriber][lane].shortestDelay)
        else { return nil }
        return LiveRun(
            lane: lane, offset: oldest.offset, byteCount: newest.offset + newest.byteCount - oldest.offset, frames: end &- sequence, end: end)
    }

    /// The run's bytes, until the room changes in any way.
    package func bytes(of run: LiveRun) -> UnsafeRawBufferPointer {
        unsafe self[run.lane].bytes(at: run.offset, count: run.byteCount)
    }

    /// The subscriber is given the run, whole.
    package mutating func took(_ subscriber: Int, _ run: LiveRun) {
        subscribers[subscriber].account.delivered &+= run.frames
        subscribers[subscriber][run.lane].sequence = run.end
    }

    /// The shortest deadline of anybody in the room, in nanoseconds: the classes' and what subscribers wished for.
    package func shortestDeadline() -> UInt64 {
        var shortest = Lane.allCases.reduce(UInt64.max) { min($0, deadlineNanoseconds($1)) }
        for subscriber in 0..<subscribers.endIndex where subscribers.isLive(subscriber) {
            for lane in Lane.allCases { shortest = min(shortest, subscribers[subscriber][lane].shortestDelay) }
        }
        return shortest
    }
}
