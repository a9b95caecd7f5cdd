import RelayBase
import Testing

@testable import RelayRooms

@Suite("Egress: order, deadlines, enhancement")
struct EgressOrderTests {
    private static func enhancement(_ temporal: UInt8, _ more: FrameTraits = []) -> FrameTraits {
        FrameTraits(layer: temporal).union(.enhancement).union(more)
    }

    /// A video subscriber that has had a key frame, and frames 2… as told, all `age` milliseconds old.
    private func lagging(_ layers: [UInt8], age: UInt64, bytes: Int = 600) -> (Harness, StreamSlot, Handle) {
        let h = Harness()
        let slot = h.stream(1, .video)
        h.publish(slot, .key)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        _ = h.drain(subscriber)
        for layer in layers { h.publish(slot, bytes: bytes, layer == 0 ? [] : Self.enhancement(layer)) }
        h.advance(milliseconds: age)
        return (h, slot, subscriber)
    }

    @Test(
        "contract 1: enhancement that has waited more than 20 ms gives way to a base frame behind it; a stream's frames keep their order",
        arguments: [
            (layers: [2, 1, 2, 0], age: 21, room: 1_000, expected: [5]),
            (layers: [2, 1, 2, 0], age: 20, room: 1_000, expected: [2, 3, 4, 5]),
            // No base frame lies behind.
            (layers: [2, 1, 2], age: 300, room: 1_000, expected: [2, 3, 4]),
            (layers: [0, 2, 1, 2], age: 300, room: 1_000, expected: [2, 3, 4, 5]),
            // Those behind the last base frame stay.
            (layers: [2, 0, 2, 1], age: 100, room: 1_000, expected: [3, 4, 5]),
            // Both fit the room: nobody waits.
            (layers: [2, 1, 2, 0], age: 300, room: 16_384, expected: [2, 3, 4, 5]),
        ] as [(layers: [UInt8], age: UInt64, room: Int, expected: [UInt32])])
    func givesWay(layers: [UInt8], age: UInt64, room: Int, expected: [UInt32]) {
        let (h, _, subscriber) = lagging(layers, age: age)
        #expect(h.drain(subscriber, room: room) == expected)
        #expect(h.account(subscriber).superseded == UInt64(layers.count - expected.count))
        #expect(h.keyFrameRequest() == nil, "a lost enhancement frame needs no key frame")
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("contract 1: what may refer to a passed enhancement frame goes with it, lower layers do not, discardable frames harm nobody")
    func dependencies() {
        let h = Harness()
        let slot = h.stream(1, .video)
        h.publish(slot, .key)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        _ = h.drain(subscriber)
        h.publish(slot, bytes: 600, Self.enhancement(2, .discardable))  // 2
        h.publish(slot, bytes: 600, Self.enhancement(1))  // 3
        h.advance(milliseconds: 25)
        h.publish(slot, bytes: 600, Self.enhancement(2))  // 4, fresh, refers to 3
        h.publish(slot, bytes: 600)  // 5
        h.publish(slot, bytes: 600, Self.enhancement(2))  // 6
        #expect(h.drain(subscriber, room: 700) == [5, 6])
        #expect(h.account(subscriber).superseded == 3)
        #expect(h.imbalance(subscriber) == 0)
        // Only the discardable one was old: what follows is whole.
        h.publish(slot, bytes: 600, Self.enhancement(1, .discardable))  // 7
        h.advance(milliseconds: 25)
        h.publish(slot, bytes: 600, Self.enhancement(2))  // 8
        h.publish(slot, bytes: 600)  // 9
        #expect(h.drain(subscriber, room: 700) == [8, 9])
    }

    @Test("contract 1: an enhancement frame that expires breaks its layer up to the next base frame, and no key frame is asked for")
    func expiredEnhancement() {
        let (h, slot, subscriber) = lagging([1], age: 401)
        h.publish(slot, Self.enhancement(2))  // 3
        h.publish(slot)  // 4
        h.publish(slot, Self.enhancement(1))  // 5
        #expect(h.drain(subscriber) == [4, 5])
        let account = h.account(subscriber)
        #expect(account.expired == 1 && account.superseded == 1)
        #expect(h.keyFrameRequest() == nil)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("contract 1: another's base frame behind it, which the subscriber does not want, is no reason")
    func foreignBase() {
        let (h, _, subscriber) = lagging([1], age: 100)
        let other = h.stream(2, .video)
        let neighbour = h.subscriber(3)
        h.subscribe(neighbour, other)
        h.publish(other, bytes: 600, .key)
        #expect(h.drain(subscriber, room: 700) == [2])
    }

    @Test("lanes: audio is served before video in every pull, however small the room", arguments: [200, 700, 1_200, 5_000])
    func audioFirst(room: Int) {
        let h = Harness()
        let video = h.stream(1, .video)
        let audio = h.stream(2, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, video)
        h.subscribe(subscriber, audio)
        for number in 0..<10 { h.publish(video, bytes: 150, number == 0 ? .key : []) }
        let received = Received()
        _ = h.pull(subscriber, room: room, into: received)
        h.publish(audio, bytes: 100)
        let before = received.cut() ? received.frames.count : -1
        _ = h.pull(subscriber, room: room, into: received)
        #expect(received.cut() && received.frames[before].stream == 2)
    }

    @Test("pull(upTo:) begins nothing less urgent, and tells the most urgent lane that is due")
    func upToLane() {
        let h = Harness()
        let slots = Lane.allCases.map { h.stream(UInt32($0.rawValue), $0) }
        let own = h.stream(9, .audio)
        let subscriber = h.subscriber()
        for slot in slots { h.subscribe(subscriber, slot) }
        #expect(h.mostUrgent(subscriber) == nil && h.oldestArrival(subscriber) == nil)
        h.publish(own)
        h.publish(slots[2])
        h.advance(milliseconds: 3)
        h.publish(slots[1], .key)
        h.publish(slots[0])
        #expect(h.oldestArrival(subscriber) == MonotonicInstant(nanoseconds: 1_000_000_000))
        let received = Received()
        for (lane, expected) in [(Lane.audio, [4] as [UInt32]), (.video, [4, 3]), (.data, [4, 3, 2])] {
            #expect(h.mostUrgent(subscriber) == lane)
            #expect(h.pull(subscriber, upTo: lane, into: received) > 0)
            #expect(h.pull(subscriber, upTo: lane, into: received) == 0)
            #expect(received.cut() && received.frames.map(\.number) == expected)
        }
        #expect(h.mostUrgent(subscriber) == nil && h.oldestArrival(subscriber) == nil)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test(
        "subscribe's maxDelay shortens the deadline of its stream, and only shortens it",
        arguments: [(50, [2]), (100, [1, 2]), (4_000, [1, 2])] as [(UInt64, [UInt32])])
    func maxDelay(milliseconds: UInt64, expected: [UInt32]) {
        let h = Harness()
        let short = h.stream(1, .audio)
        let long = h.stream(2, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, short)
        h.subscribe(subscriber, long)
        h.setDelayMax(subscriber, short, milliseconds)
        h.publish(short)
        h.publish(long)
        h.advance(milliseconds: 90)
        #expect(h.drain(subscriber) == expected)
        h.publish(short)
        h.advance(milliseconds: 201)
        #expect(h.drain(subscriber) == [])
        #expect(h.imbalance(subscriber) == 0)
        h.setDelayMax(subscriber, short, nil)
        h.publish(short)
        h.advance(milliseconds: 190)
        #expect(h.drain(subscriber) == [4])
    }

    @Test("contract 2: behind a key frame that took longer than the deadline its stream's frames are not old", arguments: [false, true])
    func longKeyFrame(parts: Bool) {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber(wishes: EgressWishes(parts: parts))
        h.subscribe(subscriber, slot)
        _ = h.keyFrameRequest()
        h.publish(slot, bytes: 60_000, .key)
        let received = Received()
        // 60 kB at 100 ms for 5 kB: 1.2 s.
        while h.pull(subscriber, room: 5_000, into: received) == 5_000 {
            h.advance(milliseconds: 100)
            h.publish(slot, bytes: 300)
            h.fanout.tidy(now: h.now)
        }
        while h.pull(subscriber, into: received) > 0 {}
        #expect(received.cut() && received.bytes.isEmpty)
        #expect(received.frames.map(\.number) == Array(1...UInt32(h.nextNumber - 1)))
        #expect(h.keyFrameRequest() == nil)
        #expect(h.account(subscriber).dropped == 0 && h.imbalance(subscriber) == 0)
        // From then on the deadline counts as ever.
        h.publish(slot)
        h.advance(milliseconds: 401)
        #expect(h.drain(subscriber) == [] && h.account(subscriber).expired == 1)
    }

    @Test("contract 2: never more than 2 s beyond arrival")
    func longKeyFrameBound() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, bytes: 60_000, .key)
        let received = Received()
        _ = h.pull(subscriber, room: 5_000, into: received)
        h.publish(slot)
        h.advance(milliseconds: 2_401)
        h.publish(slot)
        h.fanout.tidy(now: h.now)
        #expect(h.account(subscriber).expired == 1)
        while h.pull(subscriber, into: received) > 0 {}
        #expect(received.cut() && received.frames.map(\.number) == [1])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("contract 2: while a late joiner is given a group of pictures, what follows does not grow old")
    func longPrelude() {
        let h = Harness()
        let slot = h.stream(1, .video)
        h.publish(slot, bytes: 30_000, .key)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        let received = Received()
        while h.pull(subscriber, room: 5_000, into: received) == 5_000 {
            h.advance(milliseconds: 100)
            h.publish(slot, bytes: 300)
            h.fanout.tidy(now: h.now)
        }
        while h.pull(subscriber, into: received) > 0 {}
        #expect(received.cut() && received.frames.map(\.number) == Array(1...UInt32(h.nextNumber - 1)))
        #expect(h.keyFrameRequest() == nil && h.imbalance(subscriber) == 0)
    }
}
