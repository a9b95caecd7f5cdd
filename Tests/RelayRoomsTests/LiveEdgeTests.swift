import RelayBase
import Testing

@testable import RelayRooms

@Suite("The live edge")
struct LiveEdgeTests {
    /// What a subscriber gets by its live run; `nil`: it has none.
    private func take(_ h: Harness, _ subscriber: Handle) -> [UInt8]? {
        guard let run = h.fanout.liveRun(Int(subscriber.index), now: h.now) else { return nil }
        let bytes = unsafe Array(h.fanout.bytes(of: run))
        h.fanout.took(Int(subscriber.index), run)
        return bytes
    }

    private func room(_ lanes: [Lane] = [.audio], wishes: EgressWishes = EgressWishes()) -> (Harness, [StreamSlot], Handle) {
        let h = Harness()
        let slots = lanes.enumerated().map { h.stream(UInt32($0 + 1), $1) }
        let subscriber = h.subscriber(wishes: wishes)
        for slot in slots { h.subscribe(subscriber, slot) }
        _ = h.drain(subscriber)
        return (h, slots, subscriber)
    }

    @Test(
        "protocol document §6.1: who is due the newest messages of one lane gets the bytes that a pull would give, and they are accounted alike",
        arguments: [1, 2, 40])
    func sameBytes(count: Int) throws {
        let (h, slots, straight) = room()
        let pulled = h.subscriber(10)
        h.subscribe(pulled, slots[0])
        for _ in 0..<count { h.publish(slots[0]) }
        let received = Received()
        _ = h.pull(pulled, into: received)
        #expect(try #require(take(h, straight)) == received.bytes)
        #expect(h.account(straight).delivered == UInt64(count) && h.pending(straight) == 0 && h.imbalance(straight) == 0)
        #expect(take(h, straight) == nil, "nothing is left")
        #expect(h.drain(straight).isEmpty)
    }

    @Test("where the log's memory ends and begins again, what lies on both sides comes by a pull, whole, in order and in one room")
    func wraps() {
        let (h, slots, subscriber) = room()
        var runs = 0
        var expected: UInt32 = 1
        for _ in 0..<200 {
            for _ in 0..<7 { h.publish(slots[0], bytes: 300) }
            let received = Received()
            if let bytes = take(h, subscriber) {
                runs += 1
                received.bytes = bytes
            } else {
                _ = h.pull(subscriber, into: received)
            }
            #expect(received.cut() && received.bytes.isEmpty && received.frames.map(\.number) == Array(expected..<(expected + 7)))
            expected += 7
            h.advance(milliseconds: 20)
            h.tidy()
        }
        #expect(runs > 100 && runs < 200, "the log wraps now and then")
        #expect(h.account(subscriber).delivered == 1_400 && h.imbalance(subscriber) == 0)
    }

    @Test("several publishers' frames of one lane are one run")
    func severalStreams() throws {
        let (h, slots, subscriber) = room([.audio, .audio])
        for slot in slots { h.publish(slot) }
        let received = Received()
        received.bytes = try #require(take(h, subscriber))
        #expect(received.cut() && received.frames.map(\.number) == [1, 2])
    }

    @Test(
        "whoever is due anything else has no run: frames of two lanes, a stream of its own in between, one that is not wanted, a wish for bundles")
    func noRun() {
        do {
            let (h, slots, subscriber) = room([.audio, .video])
            h.publish(slots[0])
            h.publish(slots[1], .key)
            #expect(take(h, subscriber) == nil)
            #expect(h.drain(subscriber) == [1, 2])
        }
        do {
            let (h, slots, subscriber) = room()
            let other = h.stream(7, .audio)
            h.publish(slots[0])
            h.publish(other)
            #expect(take(h, subscriber) == nil)
            #expect(h.drain(subscriber) == [1])
        }
        do {
            let (h, slots, subscriber) = room(wishes: EgressWishes(parts: false, bundles: true))
            h.publish(slots[0])
            #expect(take(h, subscriber) == nil)
            #expect(h.drain(subscriber) == [1])
        }
    }

    @Test("a frame past its deadline, or past the subscriber's own, is in no run", arguments: [(nil, 201), (50, 51)] as [(UInt64?, UInt64)])
    func expired(wish: UInt64?, age: UInt64) {
        let (h, slots, subscriber) = room()
        h.setDelayMax(subscriber, slots[0], wish)
        h.publish(slots[0])
        h.advance(milliseconds: age)
        #expect(take(h, subscriber) == nil)
        #expect(h.drain(subscriber).isEmpty && h.account(subscriber).expired == 1)
    }

    @Test("the rest of a begun message and what a late joiner is owed go before any run")
    func begunFirst() {
        let (h, slots, subscriber) = room([.video])
        h.publish(slots[0], bytes: 20 << 10, .key)
        let received = Received()
        _ = h.pull(subscriber, room: 1_000, into: received)
        #expect(h.isMidMessage(subscriber) && take(h, subscriber) == nil)
        let late = h.subscriber(11)
        h.subscribe(late, slots[0])
        h.publish(slots[0])
        #expect(take(h, late) == nil)
        #expect(h.drain(late) == [1, 2])
    }

    @Test("the room's shortest deadline is the classes' shortest, or what a subscriber wished for below it")
    func shortestDeadline() {
        let (h, slots, subscriber) = room()
        #expect(h.fanout.shortestDeadline() == 200_000_000)
        h.setDelayMax(subscriber, slots[0], 3)
        #expect(h.fanout.shortestDeadline() == 3_000_000)
        h.setDelayMax(subscriber, slots[0], nil)
        #expect(h.fanout.shortestDeadline() == 200_000_000)
    }

    @Test("what a stream that was forced out has left in the log is sent to nobody, and accounted once")
    func forcedOut() {
        let (h, slots, subscriber) = room([.audio, .audio])
        for _ in 0..<3 { h.publish(slots[1]) }
        h.fanout.endStream(slots[1])
        // The room's slots are taken, so whoever lags behind in an ended stream loses the rest of it.
        for id in 3..<UInt32(RoomFanout.streamsMax + 2) { _ = h.stream(id, .data) }
        let isLeft = h.fanout.isOpen(slots[0])
        #expect(isLeft && h.account(subscriber).unsubscribed == 3)
        #expect(take(h, subscriber) == nil)
        h.publish(slots[0])
        #expect(take(h, subscriber) == nil)
        let received = Received()
        _ = h.pull(subscriber, into: received)
        #expect(received.cut() && received.frames.map(\.number) == [4])
        #expect(h.imbalance(subscriber) == 0 && h.pending(subscriber) == 0)
        h.publish(slots[0])
        #expect(take(h, subscriber) != nil, "at the live edge again")
        #expect(h.imbalance(subscriber) == 0)
    }
}
