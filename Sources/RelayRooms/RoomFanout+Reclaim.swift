package import RelayBase

/// Room in the logs: who lags loses what has expired, and logs forget what nobody needs.
extension RoomFanout {
    /// Drops what has expired for subscribers that lag, and lets the log forget what nobody needs; the newest of that stays for whoever resumes.
    package mutating func reclaim(_ lane: Lane, now: MonotonicInstant) {
        let deadline = deadlineNanoseconds(lane)
        isReclaiming = true
        defer { isReclaiming = false }
        var oldestNeeded = self[lane].next
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            if subscribers[index][lane].sequence < self[lane].next { dropExpired(index, lane, now, deadline) }
            oldestNeeded = min(oldestNeeded, subscribers[index][lane].sequence)
        }
        let since = MonotonicInstant(nanoseconds: now.nanoseconds > deadline ? now.nanoseconds - deadline : 0)
        self[lane].release(
            before: max(oldestNeeded, self[lane].first), keepingSince: since, bytesMax: min(limits.replayBytesMax, self[lane].bytesMax / 4))
    }

    private mutating func dropExpired(_ subscriber: Int, _ lane: Lane, _ now: MonotonicInstant, _ deadline: UInt64) {
        while subscribers[subscriber][lane].sequence < self[lane].next {
            let entry = self[lane][subscribers[subscriber][lane].sequence]
            if isBegun(subscriber, lane) {
                // It is finished however old it is, and counts as old by the class alone. Without room for its rest it stays, as long as the log has some.
                guard now.nanoseconds(since: entry.arrival) > deadline, entry.byteCount <= budget.left else { return }
                moveBegunToSubscriber(subscriber, lane)
            } else {
                guard !isDue(subscriber, entry, subscribers[subscriber][lane].sequence) || hasExpired(subscriber, entry, now, deadline) else {
                    return
                }
                passOver(subscriber, lane, entry, now, deadline)
            }
        }
    }

    private func isBegun(_ subscriber: Int, _ lane: Lane) -> Bool {
        subscribers[subscriber].begunLane == lane || subscribers[subscriber][lane].cut?.isInLog == true
    }

    private mutating func moveBegunToSubscriber(_ subscriber: Int, _ lane: Lane) {
        if subscribers[subscriber].begunLane == lane {
            moveBegunMessageToResidue(subscriber)
        } else {
            moveCutToRest(subscriber, lane)
        }
    }

    /// Makes room for a message: by reclaiming, else by growing, and at the bound by dropping the oldest entries for whoever still lags.
    mutating func makeRoom(in lane: Lane, for byteCount: Int, now: MonotonicInstant) -> Bool {
        if self[lane].hasRoom(for: byteCount) { return true }
        reclaim(lane, now: now)
        // A log that stays half full after reclaiming would be reclaimed again at once: growing makes the walk rare.
        if self[lane].hasRoom(for: byteCount), self[lane].isHalfFree { return true }
        if self[lane].grow(for: byteCount) { return true }
        // What is kept for whoever resumes goes before anybody who is here loses something.
        self[lane].releaseRetained()
        while !self[lane].hasRoom(for: byteCount), self[lane].count > 0 {
            forceForward(lane, before: self[lane].first &+ UInt64(max(1, self[lane].count / 4)), now: now)
        }
        return self[lane].hasRoom(for: byteCount) || self[lane].grow(for: byteCount)
    }

    private mutating func forceForward(_ lane: Lane, before sequence: UInt64, now: MonotonicInstant) {
        let deadline = deadlineNanoseconds(lane)
        isReclaiming = true
        defer { isReclaiming = false }
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            while subscribers[index][lane].sequence < sequence {
                if isBegun(index, lane) {
                    moveBegunToSubscriber(index, lane)
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
        closeLeft()
        forgetOldGroups(now)
        freeEndedStreams()
    }
}
