package import RelayBase

/// What a subscriber is due, looked at without sending it.
extension RoomFanout {
    /// Whether there may be bytes for the subscriber. A publisher's own frames count until the next pull passes over them.
    package func hasPending(_ subscriber: Int) -> Bool {
        subscribers[subscriber].isMidMessage
            || subscribers[subscriber][.audio].sequence < self[.audio].next || !subscribers[subscriber][.audio].prelude.isEmpty
            || subscribers[subscriber][.video].sequence < self[.video].next || subscribers[subscriber][.video].holdsOwn
            || subscribers[subscriber][.data].sequence < self[.data].next || subscribers[subscriber][.data].holdsOwn
    }

    /// The most urgent lane in which something is due to the subscriber; `nil` when nothing is.
    ///
    /// The rest of a begun message counts as its own lane, and as any more urgent one that waits behind it: that cannot go before it does.
    package mutating func mostUrgentPending(_ subscriber: Int) -> Lane? {
        for lane in Lane.allCases where isPending(subscriber, lane) { return lane }
        return nil
    }

    private mutating func isPending(_ subscriber: Int, _ lane: Lane) -> Bool {
        if subscribers[subscriber].begunLane == lane || subscribers[subscriber][lane].holdsOwn { return true }
        if !subscribers[subscriber].residue.isEmpty, subscribers[subscriber].residueLane == lane { return true }
        return passToDue(subscriber, lane)
    }

    /// When the oldest frame came that is due to the subscriber from a log; `nil` when none is. What it holds apart from the logs (the rest of a begun message,
    /// what a late joiner is given) counts as older than any.
    package mutating func oldestPendingArrival(_ subscriber: Int) -> MonotonicInstant? {
        var oldest: MonotonicInstant?
        if subscribers[subscriber].isMidMessage { return .zero }
        for lane in Lane.allCases {
            if subscribers[subscriber][lane].holdsOwn { return .zero }
            guard passToDue(subscriber, lane) else { continue }
            oldest = min(oldest ?? .distantFuture, self[lane][subscribers[subscriber][lane].sequence].arrival)
        }
        return oldest
    }

    /// Bytes of the logs that lie before the subscriber, others' frames included: at least what is due to it from them.
    package func pendingLogBytes(_ subscriber: Int) -> Int {
        Lane.allCases.reduce(0) { $0 + self[$1].byteCount(from: subscribers[subscriber][$1].sequence) }
    }

    /// The shortest of the subscriber's deadlines, in nanoseconds.
    package func shortestDeadline(_ subscriber: Int) -> UInt64 {
        Lane.allCases.reduce(.max) { min($0, deadlineNanoseconds($1), subscribers[subscriber][$1].shortestDelay) }
    }

    /// Moves the cursor over what is not the subscriber's, which is in no account. Answers whether something that is lies there then.
    private mutating func passToDue(_ subscriber: Int, _ lane: Lane) -> Bool {
        while subscribers[subscriber][lane].sequence < self[lane].next {
            let sequence = subscribers[subscriber][lane].sequence
            if isDue(subscriber, self[lane][sequence], sequence) { return true }
            subscribers[subscriber][lane].sequence &+= 1
        }
        return false
    }
}
