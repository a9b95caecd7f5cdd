import RelayBase
import Testing

@testable import RelayRooms

/// What the simulator found: frames and the configurations that they need.
@Suite("Rooms: configurations that were missed")
struct MissedConfigurationTests {
    @Test(
        "PROTOCOL §5.1: a frame whose configuration was missed and has been replaced is not sent behind the new one", arguments: [Lane.audio, .video])
    func replaced(lane: Lane) {
        let h = Harness { $0.videoDeadlineMilliseconds = 200 }
        let (slot, subscriber) = (h.stream(1, lane), h.subscriber())
        h.subscribe(subscriber, slot)
        h.publish(slot, payload: [1], .configuration)
        h.publish(slot, .key)
        #expect(h.drain(subscriber) == [1, 2])
        h.publish(slot, payload: [2], .configuration)
        h.advance(milliseconds: 150)
        h.publish(slot, .key)
        h.advance(milliseconds: 40)
        h.publish(slot, payload: [3], .configuration)
        h.publish(slot, .key)
        h.advance(milliseconds: 20)
        #expect(h.drain(subscriber) == [5, 6])
        #expect(h.account(subscriber).superseded == 1)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("PROTOCOL §5.1: a configuration goes before its frames, however little memory is left for late joiners")
    func noMemory() {
        let h = Harness { $0.cacheBytesMax = 0 }
        let (slot, subscriber) = (h.stream(1, .audio), h.subscriber())
        h.publish(slot, payload: [1], .configuration)
        h.subscribe(subscriber, slot)
        h.publish(slot)
        #expect(h.drain(subscriber) == [1, 2])
        #expect(h.budgetUsed == 0)
    }

    @Test("decision 18: a frame of which no part fits is not begun, and expires", arguments: [1, 300, 539, 540])
    func cutLater(left: Int) {
        let h = Harness()
        let (audio, video, subscriber) = (h.stream(1, .audio), h.stream(2, .video), h.subscriber())
        h.fanout.setWishes(Int(subscriber.index), EgressWishes(parts: true))
        h.subscribe(subscriber, audio)
        h.subscribe(subscriber, video)
        h.publish(audio, bytes: 176)
        h.publish(video, bytes: 20_000, .key)
        let received = Received()
        let isBegun = h.pull(subscriber, room: 180 + left, into: received) > 180
        #expect(isBegun == (left >= 540))
        h.advance(milliseconds: 500)
        var count = 0
        while case let pulled = h.pull(subscriber, into: received), pulled > 0 { count += pulled }
        // What was begun is finished.
        #expect((count > 0) == isBegun)
        #expect(h.account(subscriber).expired == (isBegun ? 0 : 1))
    }
}
