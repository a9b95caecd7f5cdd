package import RelayBase

/// Names a scheduled timer. It outlives its timer harmlessly.
package struct TimerID: Hashable, Sendable {
    let handle: Handle
}

/// What a timer carries: whom it is for (a packed handle, as a rule) and what it is about.
package struct TimerEvent: Hashable, Sendable {
    package let payload: UInt64
    package let kind: UInt8

    package init(payload: UInt64, kind: UInt8) {
        self.payload = payload
        self.kind = kind
    }
}

/// A hierarchical timing wheel (Varghese and Lauck, 1987) with ticks of 1 ms: scheduling and cancelling are O(1) whatever the number of timers.
///
/// Eight levels of 64 slots reach over 2⁴⁸ ms, that is over every ``MonotonicInstant``. A timer sits at the level of the highest group of six bits in
/// which its tick differs from the current one, and moves down as that slot comes up. A word per level tells which slots are in use, so an advance
/// over hours of nothing takes as long as one over a millisecond.
///
/// Timers never fire early (deadlines round up to a tick), fire in the order of their ticks and, within a tick, in the order they were scheduled.
/// A timer that is due when it is scheduled fires at the next ``advance(to:)``, not in the round that is being pulled: a handler that schedules for
/// "now" cannot keep the loop from its sockets.
package struct TimerWheel: ~Copyable {
    private static let levels = 8
    private static let slotBits = 6
    private static let slots = 64
    /// Two more lists behind the wheel's slots: due at the next advance, and due in this round.
    private static let overdue = levels * slots
    private static let expired = levels * slots + 1
    private static let nowhere = UInt32.max

    private struct Node {
        var event: TimerEvent
        var tick: UInt64
        var generation: UInt32
        /// The neighbours in the list; for a free node `next` links the free list.
        var next: UInt32
        var previous: UInt32
        /// The list that the node is in, or −1 when it is free.
        var list: Int16
    }

    private struct List {
        var first = TimerWheel.nowhere
        var last = TimerWheel.nowhere
    }

    private var nodes: [Node] = []
    private var free = TimerWheel.nowhere
    private var lists: [List]
    private var occupied: [UInt64]
    private var elapsed: UInt64
    /// Timers that have neither fired nor been cancelled.
    package private(set) var count = 0
    package let capacityMax: Int

    /// - Parameters:
    ///   - capacity: timers that memory is set aside for; more are taken up to `capacityMax`, with an allocation now and then.
    ///   - capacityMax: the bound on timers; ``schedule(at:_:)`` answers `nil` beyond it.
    package init(now: MonotonicInstant, capacity: Int = 1_024, capacityMax: Int = 1 << 24) {
        precondition(capacity >= 0 && capacityMax > 0 && capacityMax < Int(UInt32.max), "as many timers as 32 bits name")
        nodes.reserveCapacity(min(capacity, capacityMax))
        lists = Array(repeating: List(), count: Self.levels * Self.slots + 2)
        occupied = Array(repeating: 0, count: Self.levels)
        elapsed = now.nanoseconds / 1_000_000
        self.capacityMax = capacityMax
    }

    /// Sets a timer; `nil` when there are `capacityMax` already.
    package mutating func schedule(at deadline: MonotonicInstant, _ event: TimerEvent) -> TimerID? {
        let index: UInt32
        if free != Self.nowhere {
            index = free
            free = nodes[Int(index)].next
        } else {
            guard nodes.count < capacityMax else { return nil }
            index = UInt32(nodes.count)
            nodes.append(Node(event: event, tick: 0, generation: 0, next: Self.nowhere, previous: Self.nowhere, list: -1))
        }
        nodes[Int(index)].event = event
        nodes[Int(index)].tick = Self.tick(notBefore: deadline)
        count += 1
        place(index)
        return TimerID(handle: Handle(index: index, generation: nodes[Int(index)].generation))
    }

    /// Takes a timer back, one that is due but not yet pulled included. False when it has fired or was cancelled before.
    @discardableResult
    package mutating func cancel(_ id: TimerID) -> Bool {
        guard isScheduled(id) else { return false }
        unlink(id.handle.index)
        release(id.handle.index)
        return true
    }

    /// Moves a timer to another deadline, in either direction; its name stays. False, and nothing happens, when it has fired or was cancelled.
    @discardableResult
    package mutating func reschedule(_ id: TimerID, at deadline: MonotonicInstant) -> Bool {
        guard isScheduled(id) else { return false }
        unlink(id.handle.index)
        nodes[Int(id.handle.index)].tick = Self.tick(notBefore: deadline)
        place(id.handle.index)
        return true
    }

    package func isScheduled(_ id: TimerID) -> Bool {
        let index = Int(id.handle.index)
        return index < nodes.count && nodes[index].generation == id.handle.generation && nodes[index].list >= 0
    }

    /// Brings the wheel to `now`, which makes every timer due by then ready for ``nextExpired()``. A `now` before the last one changes nothing.
    package mutating func advance(to now: MonotonicInstant) {
        let target = max(elapsed, now.nanoseconds / 1_000_000)
        expireAll(of: Self.overdue)
        while let (level, slot, start) = nextSlot(), start <= target {
            elapsed = start
            let list = level * Self.slots + slot
            if level == 0 {
                expireAll(of: list)
            } else {
                cascade(list)
            }
        }
        elapsed = target
    }

    /// The next due timer, which is thereby spent; `nil` when this round is done.
    package mutating func nextExpired() -> TimerEvent? {
        let index = lists[Self.expired].first
        guard index != Self.nowhere else { return nil }
        let event = nodes[Int(index)].event
        unlink(index)
        release(index)
        return event
    }

    /// When to advance next: never later than the earliest timer. It may be earlier for timers that are more than 64 ms away, once per level
    /// that they have still to come down, so a timer costs an idle loop a handful of early wake-ups at most. `nil` without timers.
    package var nextDeadline: MonotonicInstant? {
        if lists[Self.expired].first != Self.nowhere || lists[Self.overdue].first != Self.nowhere {
            return Self.instant(elapsed)
        }
        guard let (_, _, start) = nextSlot() else { return nil }
        return Self.instant(start)
    }
}

// MARK: Ticks, slots and lists

extension TimerWheel {
    private static func tick(notBefore deadline: MonotonicInstant) -> UInt64 {
        let (ticks, rest) = deadline.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return ticks + (rest > 0 ? 1 : 0)
    }

    private static func instant(_ tick: UInt64) -> MonotonicInstant {
        MonotonicInstant.zero.advanced(byMilliseconds: tick)
    }

    /// The first slot in use and the tick at which it begins. Every slot of a level comes before all of the levels above.
    private func nextSlot() -> (level: Int, slot: Int, start: UInt64)? {
        for level in 0..<Self.levels where occupied[level] != 0 {
            let slot = occupied[level].trailingZeroBitCount
            let shift = level * Self.slotBits
            let above = shift + Self.slotBits
            return (level, slot, (elapsed >> above) << above | UInt64(slot) << shift)
        }
        return nil
    }

    private mutating func place(_ index: UInt32) {
        let tick = nodes[Int(index)].tick
        guard tick > elapsed else {
            append(index, to: Self.overdue)
            return
        }
        let level = (63 - (tick ^ elapsed).leadingZeroBitCount) / Self.slotBits
        let slot = Int(truncatingIfNeeded: tick >> (level * Self.slotBits)) & (Self.slots - 1)
        append(index, to: level * Self.slots + slot)
    }

    /// Sends the timers of a slot that has come up to the levels below it, those of its very first tick to the round.
    private mutating func cascade(_ list: Int) {
        while lists[list].first != Self.nowhere {
            let index = lists[list].first
            unlink(index)
            if nodes[Int(index)].tick == elapsed {
                append(index, to: Self.expired)
            } else {
                place(index)
            }
        }
    }

    private mutating func expireAll(of list: Int) {
        while lists[list].first != Self.nowhere {
            let index = lists[list].first
            unlink(index)
            append(index, to: Self.expired)
        }
    }

    private mutating func append(_ index: UInt32, to list: Int) {
        let last = lists[list].last
        nodes[Int(index)].next = Self.nowhere
        nodes[Int(index)].previous = last
        nodes[Int(index)].list = Int16(truncatingIfNeeded: list)
        if last == Self.nowhere {
            lists[list].first = index
            if list < Self.overdue { occupied[list / Self.slots] |= 1 << (list % Self.slots) }
        } else {
            nodes[Int(last)].next = index
        }
        lists[list].last = index
    }

    private mutating func unlink(_ index: UInt32) {
        let (next, previous, list) = (nodes[Int(index)].next, nodes[Int(index)].previous, Int(nodes[Int(index)].list))
        if previous == Self.nowhere { lists[list].first = next } else { nodes[Int(previous)].next = next }
        if next == Self.nowhere { lists[list].last = previous } else { nodes[Int(next)].previous = previous }
        if list < Self.overdue, lists[list].first == Self.nowhere {
            occupied[list / Self.slots] &= ~(1 << (list % Self.slots))
        }
    }

    private mutating func release(_ index: UInt32) {
        nodes[Int(index)].generation &+= 1
        nodes[Int(index)].list = -1
        nodes[Int(index)].next = free
        free = index
        count -= 1
    }
}
