import Reactor
import RelayBase
import Testing

/// A wheel behind a reference, since the test macros cannot hold what is not copyable.
private final class Wheel {
    private var wheel: TimerWheel

    init(now: MonotonicInstant, capacity: Int = 16, capacityMax: Int = 10_000) {
        wheel = TimerWheel(now: now, capacity: capacity, capacityMax: capacityMax)
    }

    var count: Int { wheel.count }
    var nextDeadline: MonotonicInstant? { wheel.nextDeadline }
    func schedule(at deadline: MonotonicInstant, _ event: TimerEvent) -> TimerID? { wheel.schedule(at: deadline, event) }
    @discardableResult func cancel(_ id: TimerID) -> Bool { wheel.cancel(id) }
    func reschedule(_ id: TimerID, at deadline: MonotonicInstant) -> Bool { wheel.reschedule(id, at: deadline) }
    func isScheduled(_ id: TimerID) -> Bool { wheel.isScheduled(id) }
    func advance(to now: MonotonicInstant) { wheel.advance(to: now) }
    func nextExpired() -> TimerEvent? { wheel.nextExpired() }
}

/// Pulls the whole round.
private func expired(_ wheel: Wheel) -> [TimerEvent] {
    var events: [TimerEvent] = []
    while let event = wheel.nextExpired() { events.append(event) }
    return events
}

private func event(_ payload: UInt64, _ kind: UInt8 = 0) -> TimerEvent { TimerEvent(payload: payload, kind: kind) }

@Suite struct TimerWheelTests {
    @Test(
        "a timer fires at its tick and never before, at whatever level it sits",
        arguments: [1, 2, 63, 64, 65, 127, 4_095, 4_096, 4_097, 262_144, 86_400_000, 1 << 40, (1 << 44) - 1] as [UInt64],
        [0, 63, 64, 12_345] as [UInt64])
    func exactTick(delay: UInt64, start: UInt64) throws {
        let wheel = Wheel(now: .milliseconds(start))
        let id = try #require(wheel.schedule(at: .milliseconds(start + delay), event(9, 3)))
        wheel.advance(to: .milliseconds(start + delay - 1))
        #expect(expired(wheel).isEmpty && wheel.isScheduled(id))
        wheel.advance(to: .milliseconds(start + delay))
        #expect(expired(wheel) == [event(9, 3)])
        #expect(!wheel.isScheduled(id) && wheel.count == 0 && wheel.nextDeadline == nil)
    }

    @Test("a deadline within a tick rounds up to its end")
    func roundsUp() {
        let wheel = Wheel(now: .zero)
        _ = wheel.schedule(at: MonotonicInstant(nanoseconds: 4_000_001), event(1))
        wheel.advance(to: MonotonicInstant(nanoseconds: 4_999_999))
        #expect(expired(wheel).isEmpty)
        wheel.advance(to: .milliseconds(5))
        #expect(expired(wheel) == [event(1)])
    }

    @Test("timers of a tick fire in the order they were scheduled, also after moving down levels")
    func orderWithinTick() {
        let wheel = Wheel(now: .zero)
        _ = wheel.schedule(at: .milliseconds(5_000), event(1))
        wheel.advance(to: .milliseconds(4_200))
        _ = wheel.schedule(at: .milliseconds(5_000), event(2))
        wheel.advance(to: .milliseconds(4_990))
        _ = wheel.schedule(at: .milliseconds(5_000), event(3))
        _ = wheel.schedule(at: .milliseconds(4_999), event(0))
        wheel.advance(to: .milliseconds(90_000))
        #expect(expired(wheel) == [event(0), event(1), event(2), event(3)])
    }

    @Test("a timer that is due already fires at the next advance, so that scheduling for now cannot hold the round")
    func overdue() {
        let wheel = Wheel(now: .milliseconds(100))
        _ = wheel.schedule(at: .milliseconds(100), event(1))
        #expect(wheel.nextDeadline == .milliseconds(100))
        wheel.advance(to: .milliseconds(100))
        var fired = 0
        while wheel.nextExpired() != nil, fired < 10 {
            fired += 1
            _ = wheel.schedule(at: .zero, event(2))
        }
        #expect(fired == 1)
        #expect(wheel.nextDeadline == .milliseconds(100), "the loop does not sleep")
        wheel.advance(to: .milliseconds(100))
        #expect(expired(wheel) == [event(2)])
    }

    @Test("a cancelled timer does not fire, even when it is due and waits to be pulled")
    func cancelDue() throws {
        let wheel = Wheel(now: .zero)
        let first = try #require(wheel.schedule(at: .milliseconds(5), event(1)))
        let second = try #require(wheel.schedule(at: .milliseconds(5), event(2)))
        let third = try #require(wheel.schedule(at: .milliseconds(7), event(3)))
        wheel.advance(to: .milliseconds(6))
        #expect(wheel.nextExpired() == event(1))
        #expect(wheel.cancel(second))
        #expect(wheel.nextExpired() == nil)
        #expect(!wheel.cancel(first) && !wheel.cancel(second), "spent and cancelled timers are gone")
        #expect(wheel.cancel(third) && wheel.count == 0 && wheel.nextDeadline == nil)
    }

    @Test("the name of a spent timer does not reach the timer that took its place")
    func staleNames() throws {
        let wheel = Wheel(now: .zero)
        let old = try #require(wheel.schedule(at: .milliseconds(1), event(1)))
        wheel.cancel(old)
        let new = try #require(wheel.schedule(at: .milliseconds(1), event(2)))
        #expect(old != new)
        #expect(!wheel.cancel(old) && !wheel.reschedule(old, at: .milliseconds(9)) && wheel.isScheduled(new))
    }

    @Test("a rescheduled timer keeps its name and fires once, at the new time")
    func reschedules() throws {
        let wheel = Wheel(now: .zero)
        let id = try #require(wheel.schedule(at: .milliseconds(10), event(1)))
        #expect(wheel.reschedule(id, at: .milliseconds(10_000)))
        wheel.advance(to: .milliseconds(9_999))
        #expect(expired(wheel).isEmpty)
        #expect(wheel.reschedule(id, at: .milliseconds(9_000)))
        wheel.advance(to: .milliseconds(9_999))
        #expect(expired(wheel) == [event(1)])
        #expect(!wheel.reschedule(id, at: .milliseconds(20_000)))
    }

    @Test("a clock that goes back changes nothing")
    func backwards() {
        let wheel = Wheel(now: .milliseconds(1_000))
        _ = wheel.schedule(at: .milliseconds(1_500), event(1))
        wheel.advance(to: .milliseconds(10))
        #expect(expired(wheel).isEmpty)
        wheel.advance(to: .milliseconds(1_500))
        #expect(expired(wheel) == [event(1)])
    }

    @Test("the farthest deadline is taken, and never comes")
    func distantFuture() throws {
        let wheel = Wheel(now: .milliseconds(77))
        let id = try #require(wheel.schedule(at: .distantFuture, event(1)))
        wheel.advance(to: MonotonicInstant(nanoseconds: .max - 1_000_000))
        #expect(expired(wheel).isEmpty && wheel.isScheduled(id))
    }

    @Test("one timer too many is refused, and a freed place is used again")
    func capacity() throws {
        let wheel = Wheel(now: .zero, capacity: 2, capacityMax: 2)
        let first = try #require(wheel.schedule(at: .milliseconds(1), event(1)))
        #expect(wheel.schedule(at: .milliseconds(2), event(2)) != nil)
        #expect(wheel.schedule(at: .milliseconds(3), event(3)) == nil)
        wheel.cancel(first)
        #expect(wheel.schedule(at: .milliseconds(3), event(3)) != nil)
        #expect(wheel.count == 2)
    }

    @Test(
        "an idle loop that sleeps until nextDeadline wakes a handful of times for a far timer, and in time",
        arguments: [15_000, 3_600_000, 86_400_000] as [UInt64])
    func wakeUps(delay: UInt64) {
        let wheel = Wheel(now: .milliseconds(123))
        _ = wheel.schedule(at: .milliseconds(123 + delay), event(1))
        var wakes = 0
        var firedAt: MonotonicInstant?
        while firedAt == nil, wakes < 20, let deadline = wheel.nextDeadline {
            wakes += 1
            wheel.advance(to: deadline)
            if wheel.nextExpired() != nil { firedAt = deadline }
        }
        #expect(firedAt == .milliseconds(123 + delay))
        #expect(wakes <= 6)
    }

    @Test("any sequence of operations gives what a sorted list gives", arguments: 0..<24 as Range<UInt64>)
    func model(seed: UInt64) {
        var run = ModelRun(seed: seed)
        for _ in 0..<3_000 { run.step() }
        run.finish()
    }
}

/// The wheel beside a plain list of what is scheduled.
private struct ModelRun {
    struct Expected {
        let id: TimerID
        let event: TimerEvent
        var tick: UInt64
        var order: UInt64
    }

    var generator: SeededGenerator
    let wheel: Wheel
    var now: UInt64
    var order: UInt64 = 0
    var pending: [Expected] = []
    var gone: [TimerID] = []

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        now = UInt64.random(in: 0...10_000_000, using: &generator)
        wheel = Wheel(now: .milliseconds(now))
    }

    mutating func randomDelay() -> UInt64 {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: 0
        case 1...4: .random(in: 1...100, using: &generator)
        case 5...7: .random(in: 1...20_000, using: &generator)
        case 8: .random(in: 1...100_000_000, using: &generator)
        default: .random(in: 1...(1 << 43), using: &generator)
        }
    }

    mutating func step() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...3: schedule()
        case 4: cancel()
        case 5: reschedule()
        case 6: cancelGone()
        case 7: advance(by: .random(in: 0...5, using: &generator))
        case 8: advance(by: .random(in: 0...5_000, using: &generator))
        default: if Int.random(in: 0..<20, using: &generator) == 0 { advance(by: .random(in: 0...20_000_000, using: &generator)) }
        }
        #expect(wheel.count == pending.count)
    }

    mutating func schedule() {
        let tick = now + randomDelay()
        let event = TimerEvent(payload: order, kind: UInt8.random(in: 0 ... .max, using: &generator))
        guard let id = wheel.schedule(at: .milliseconds(tick), event) else {
            Issue.record("there is room")
            return
        }
        pending.append(Expected(id: id, event: event, tick: tick, order: order))
        order += 1
    }

    mutating func cancel() {
        guard !pending.isEmpty else { return }
        let victim = pending.remove(at: .random(in: 0..<pending.count, using: &generator))
        #expect(wheel.cancel(victim.id))
        gone.append(victim.id)
    }

    mutating func cancelGone() {
        guard let id = gone.randomElement(using: &generator) else { return }
        #expect(!wheel.cancel(id))
    }

    mutating func reschedule() {
        guard !pending.isEmpty else { return }
        let index = Int.random(in: 0..<pending.count, using: &generator)
        pending[index].tick = now + randomDelay()
        pending[index].order = order
        order += 1
        #expect(wheel.reschedule(pending[index].id, at: .milliseconds(pending[index].tick)))
    }

    mutating func advance(by ticks: UInt64) {
        if let first = pending.map(\.tick).min() {
            let told = wheel.nextDeadline
            #expect(told != nil && told.map { $0 <= .milliseconds(max(first, now)) } == true, "the loop never sleeps past a timer")
        } else {
            #expect(wheel.nextDeadline == nil)
        }
        now += ticks
        wheel.advance(to: .milliseconds(now))
        let due = pending.filter { $0.tick <= now }.sorted { ($0.tick, $0.order) < ($1.tick, $1.order) }
        pending.removeAll { $0.tick <= now }
        gone += due.map(\.id)
        #expect(expired(wheel) == due.map(\.event))
    }

    mutating func finish() {
        advance(by: 1 << 44)
        #expect(pending.isEmpty && wheel.count == 0 && wheel.nextDeadline == nil)
    }
}
