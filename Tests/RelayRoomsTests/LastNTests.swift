import RelayBase
import Testing

@testable import RelayRooms

@Suite("Egress: the video of those who spoke last")
struct LastNTests {
    private static let wishes = LayerWishes()

    private func camera(_ h: Harness, _ id: UInt32, of publisher: UInt32) -> StreamSlot {
        h.fanout.addStream(id: id, publisher: ParticipantID(publisher), lane: .video) ?? StreamSlot(-1)
    }

    private func order(_ h: Harness, _ slots: [StreamSlot], _ recent: [UInt32]) -> [StreamSlot] {
        h.fanout.order(of: slots, recent: recent.map { ParticipantID($0) })
    }

    private func first(_ h: Harness, _ count: Int, of order: [StreamSlot], where isRanked: (StreamSlot) -> Bool = { _ in true }) -> [StreamSlot] {
        h.fanout.first(count, of: order, where: isRanked)
    }

    private func give(_ h: Harness, _ subscriber: Handle, first count: Int, of order: [StreamSlot]) -> Set<StreamSlot> {
        Set(h.fanout.giveRanked(Int(subscriber.index), first: count, of: order, now: h.now))
    }

    private func isLeftOut(_ h: Harness, _ subscriber: Handle, _ slot: StreamSlot) -> Bool { h.fanout.isLeftOut(Int(subscriber.index), slot) }
    private func isHeld(_ h: Harness, _ subscriber: Handle, _ slot: StreamSlot) -> Bool { h.fanout.isHeld(Int(subscriber.index), slot) }
    private func setRanked(_ h: Harness, _ subscriber: Handle, _ slot: StreamSlot, _ isRanked: Bool) -> Bool {
        h.fanout.setRanked(Int(subscriber.index), slot, isRanked, now: h.now)
    }

    @Test(
        "protocol §3.8: who spoke last goes first, then who published first; a publisher's streams stay together",
        arguments: [
            ([], [1, 4, 2, 3, 5]), ([30], [3, 1, 4, 2, 5]), ([50, 20], [5, 2, 1, 4, 3]), ([99, 10, 30, 10], [1, 4, 3, 2, 5]),
        ] as [([UInt32], [UInt32])])
    func order(recent: [UInt32], expected: [UInt32]) {
        let h = Harness()
        let slots = [(1, 10), (2, 20), (3, 30), (4, 10), (5, 50)].map { camera(h, $0.0, of: $0.1) }
        let order = order(h, slots.reversed(), recent)
        let streams = order.map { h.fanout.streams[$0.index].id }
        #expect(streams == expected)
    }

    @Test("the first N are N publishers, each with all its streams; what a subscriber does not have by rank counts as nobody's")
    func first() {
        let h = Harness()
        let slots = [(1, 10), (2, 20), (3, 10), (4, 40)].map { camera(h, $0.0, of: $0.1) }
        let order = order(h, slots, [])
        #expect(first(h, 1, of: order) == [slots[0], slots[2]])
        #expect(first(h, 2, of: order) == [slots[0], slots[2], slots[1]])
        #expect(first(h, 1, of: order, where: { $0 != slots[0] && $0 != slots[2] }) == [slots[1]])
        #expect(first(h, 9, of: order) == order)
    }

    @Test("protocol §3.8: of a stream that is left out nothing enters and nothing is wanted; given, it begins with its configuration and a key frame")
    func leftOutAndGiven() {
        let h = Harness()
        let subscriber = h.subscriber()
        let index = Int(subscriber.index)
        let slots = [camera(h, 1, of: 10), camera(h, 2, of: 20)]
        let before = order(h, slots, [10])
        h.subscribe(subscriber, slots[0])
        #expect(!setRanked(h, subscriber, slots[0], true))
        h.fanout.subscribeLeftOut(index, slots[1], Self.wishes, now: h.now)
        #expect(give(h, subscriber, first: 1, of: before).isEmpty)
        for slot in slots {
            h.publish(slot, .configuration)
            h.publish(slot, .key)
        }
        #expect(h.drain(subscriber) == [1, 2])
        #expect(h.wanted(slots[1]).isEmpty && !h.wanted(slots[0]).isEmpty)
        h.advance(milliseconds: 1_000)
        // One frame is queued when the other speaks.
        h.publish(slots[0])
        #expect(give(h, subscriber, first: 1, of: order(h, slots, [20, 10])) == Set(slots))
        #expect(h.account(subscriber).unsubscribed == 1 && h.account(subscriber).interrupted == 0)
        #expect(isLeftOut(h, subscriber, slots[0]) && !isLeftOut(h, subscriber, slots[1]))
        #expect(h.wanted(slots[0]).isEmpty && !h.wanted(slots[1]).isEmpty)
        #expect(h.keyFrameRequest() == slots[1])
        h.publish(slots[1])
        #expect(h.drain(subscriber) == [])
        let key = h.nextNumber
        h.publish(slots[1], .key)
        h.publish(slots[0], .key)
        // The configuration that it never had, then the key frame.
        #expect(h.drain(subscriber) == [3, key])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("a stream that is paused stays so when it is given, and one that is left out when it is continued; one that is named is given in any case")
    func pausesAndNames() {
        let h = Harness()
        let subscriber = h.subscriber()
        let index = Int(subscriber.index)
        let slot = camera(h, 1, of: 10)
        h.fanout.subscribeLeftOut(index, slot, Self.wishes, now: h.now)
        h.hold(subscriber, slot)
        #expect(give(h, subscriber, first: 1, of: [slot]) == [slot])
        #expect(isHeld(h, subscriber, slot) && h.wanted(slot).isEmpty)
        #expect(give(h, subscriber, first: 0, of: [slot]) == [slot])
        h.release(subscriber, slot)
        #expect(isHeld(h, subscriber, slot))
        #expect(setRanked(h, subscriber, slot, false))
        #expect(!isHeld(h, subscriber, slot) && !h.wanted(slot).isEmpty)
        #expect(give(h, subscriber, first: 0, of: [slot]).isEmpty)
    }

    @Test("a subscriber that is held is given the right streams when it is released")
    func heldSubscriber() {
        let h = Harness()
        let subscriber = h.subscriber()
        let index = Int(subscriber.index)
        let slots = [camera(h, 1, of: 10), camera(h, 2, of: 20)]
        h.hold(subscriber)
        for slot in slots { h.fanout.subscribeLeftOut(index, slot, Self.wishes, now: h.now) }
        _ = give(h, subscriber, first: 1, of: order(h, slots, [20]))
        #expect(slots.allSatisfy { h.wanted($0).isEmpty })
        h.release(subscriber)
        #expect(h.wanted(slots[0]).isEmpty && !h.wanted(slots[1]).isEmpty)
    }

    @Test("any run: at most N publishers are given, every frame is accounted once, and what comes begins with a key frame", arguments: 0..<12)
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: 0x1A57 + seed)
        let h = Harness()
        let slots = (1...8).map { camera(h, UInt32($0), of: UInt32($0 / 2) + 10) }
        let subscribers = (0..<4).map { h.subscriber(UInt32(100 + $0)) }
        let counts = subscribers.map { _ in Int.random(in: 1...4, using: &random) }
        for subscriber in subscribers {
            for slot in slots { h.fanout.subscribeLeftOut(Int(subscriber.index), slot, Self.wishes, now: h.now) }
        }
        for slot in slots { h.publish(slot, .configuration) }
        for _ in 0..<800 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                let recent = (0..<3).map { _ in UInt32.random(in: 10..<15, using: &random) }
                let order = order(h, slots, recent)
                for (subscriber, count) in zip(subscribers, counts) {
                    _ = give(h, subscriber, first: count, of: order)
                    let given = slots.filter { !isLeftOut(h, subscriber, $0) }
                    let publishers = Set(given.map { h.fanout.streams[$0.index].publisher })
                    #expect(publishers.count <= count)
                }
            case 1: _ = h.pull(subscribers[Int.random(in: 0..<4, using: &random)], room: Int.random(in: 1...4_000, using: &random), into: Received())
            case 2: h.advance(milliseconds: UInt64.random(in: 0...300, using: &random))
            default:
                if let slot = slots.randomElement(using: &random) {
                    h.publish(slot, Int.random(in: 0..<6, using: &random) == 0 ? .key : [])
                }
            }
            #expect(subscribers.allSatisfy { h.imbalance($0) == 0 })
        }
        h.removeAll(subscribers)
        for slot in slots { h.fanout.endStream(slot) }
        let total = h.total()
        #expect(total.entered == total.delivered &+ total.dropped && total.interrupted == 0 && h.budgetUsed == 0)
    }
}
