import RelayBase
import Testing

@testable import RelayRooms

@Suite("Fan-out of a room on one loop")
struct RoomFanoutTests {
    @Test("protocol §3: a subscriber gets every frame of its streams once, in order, and not its own")
    func deliversInOrder() {
        let h = Harness()
        let mine = h.stream(1, .audio)
        let other = h.stream(2, .audio)
        let subscriber = h.subscriber(1)
        h.subscribe(subscriber, other)
        for _ in 0..<5 {
            h.publish(mine)
            h.publish(other)
        }
        #expect(h.drain(subscriber) == [2, 4, 6, 8, 10])
        #expect(h.imbalance(subscriber) == 0)
        #expect(h.account(subscriber).delivered == 5)
    }

    @Test("protocol §5: audio goes before video, video before data, whatever came first")
    func laneOrder() {
        let h = Harness()
        let slots = [h.stream(1, .data), h.stream(2, .video), h.stream(3, .audio)]
        let subscriber = h.subscriber()
        for slot in slots { h.subscribe(subscriber, slot) }
        h.publish(slots[0])
        h.publish(slots[1], .key)
        h.publish(slots[2])
        #expect(h.drain(subscriber) == [3, 2, 1])
    }

    @Test("protocol §5: a frame past its class's deadline is dropped whole and counted", arguments: [(Lane.audio, UInt64(200)), (.video, 400)])
    func expires(lane: Lane, deadline: UInt64) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .key)
        h.advance(milliseconds: deadline + 1)
        h.publish(slot, .key)
        #expect(h.drain(subscriber) == [2])
        #expect(h.account(subscriber).expired == 1)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §5: after a lost video frame the rest of its group is superseded until the next key frame, which is asked for once")
    func supersedes() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.publish(slot, .key)
        h.subscribe(subscriber, slot)
        #expect(h.drain(subscriber) == [1])
        h.publish(slot)
        h.advance(milliseconds: 500)
        for _ in 0..<3 { h.publish(slot) }
        #expect(h.drain(subscriber) == [])
        #expect(h.keyFrameRequest() == slot)
        #expect(h.keyFrameRequest() == nil)
        h.publish(slot, .key)
        h.publish(slot)
        #expect(h.drain(subscriber) == [6, 7])
        let account = h.account(subscriber)
        #expect(account.expired == 1 && account.superseded == 3)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §5: no key frame is asked for on behalf of a reader that takes nothing, and one when it takes something again")
    func stalledReadersAskForNothing() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let reader = h.subscriber(1)
        let stalled = h.subscriber(2)
        h.publish(slot, .key)
        for subscriber in [reader, stalled] {
            h.subscribe(subscriber, slot)
            #expect(h.drain(subscriber) == [1])
        }
        var last: UInt32 = 1
        for _ in 0..<20 {
            h.publish(slot, last.isMultiple(of: 5) ? .key : [])
            last += 1
            #expect(h.drain(reader) == [last])
            h.advance(milliseconds: 450)
            h.tidy()
            #expect(h.keyFrameRequest() == nil, "at frame \(last)")
        }
        #expect(h.drain(stalled) == [])
        // The last key frame came just now: the next is due when its share of the bit rate allows.
        h.advance(milliseconds: 3_000)
        #expect(h.keyFrameRequest() == slot)
        h.publish(slot, .key)
        #expect(h.drain(stalled) == [last + 1])
        #expect(h.keyFrameRequest() == nil)
        #expect(h.imbalance(stalled) == 0)
    }

    @Test("protocol §5: losing a discardable video frame supersedes nothing")
    func discardable() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.publish(slot, .key)
        h.subscribe(subscriber, slot)
        _ = h.drain(subscriber)
        h.publish(slot, .discardable)
        h.advance(milliseconds: 500)
        h.publish(slot)
        #expect(h.drain(subscriber) == [3])
    }

    @Test("protocol §4: a late joiner gets configuration, key frame and what follows, then the live edge")
    func lateJoiner() {
        let h = Harness()
        let slot = h.stream(1, .video)
        h.publish(slot, .configuration)
        h.publish(slot, .key)
        h.publish(slot)
        h.publish(slot, .key)
        h.publish(slot)
        let subscriber = h.subscriber()
        #expect(h.subscribe(subscriber, slot))
        h.publish(slot)
        #expect(h.drain(subscriber) == [1, 4, 5, 6])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol document §5.1: another configuration forgets the group of pictures, the same one keeps it", arguments: [true, false])
    func configurationChange(isSame: Bool) {
        let h = Harness()
        let slot = h.stream(1, .video)
        h.publish(slot, payload: [1], .configuration)
        h.publish(slot, .key)
        h.publish(slot, payload: [isSame ? 1 : 2], .configuration)
        h.publish(slot)
        let subscriber = h.subscriber()
        #expect(h.subscribe(subscriber, slot) == isSame)
        h.publish(slot, .key)
        #expect(h.drain(subscriber) == (isSame ? [3, 2, 4, 5] : [3, 5]))
    }

    @Test("protocol §4: without a cached key frame a joiner waits for one, and the publisher is asked at most every 500 ms")
    func governedKeyFrameRequest() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let first = h.subscriber(1)
        let second = h.subscriber(2)
        #expect(!h.subscribe(first, slot))
        #expect(h.keyFrameRequest() == slot)
        h.advance(milliseconds: 499)
        #expect(!h.subscribe(second, slot))
        #expect(h.keyFrameRequest() == nil)
        h.advance(milliseconds: 1)
        #expect(h.keyFrameRequest() == slot)
        h.publish(slot)
        h.publish(slot, .key)
        #expect(h.drain(first) == [2])
        h.advance(milliseconds: 1_000)
        #expect(h.keyFrameRequest() == nil)
    }

    @Test("audio-session §6: a configuration that was dropped goes out again before the next frame of its stream")
    func repeatsConfiguration() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.advance(milliseconds: 300)
        h.publish(slot)
        #expect(h.drain(subscriber) == [1, 2])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("design §3: a stalled subscriber costs neighbours nothing: the log stays within its bound and they miss no frame")
    func stalledSubscriber() {
        let h = Harness { limits in
            limits.videoLogBytesMax = 256 << 10
            limits.videoDeadlineMilliseconds = 60_000
        }
        let slot = h.stream(1, .video)
        let stalled = h.subscriber(1)
        let healthy = h.subscriber(2)
        for subscriber in [stalled, healthy] { h.subscribe(subscriber, slot) }
        var received: [UInt32] = []
        for number in 0..<500 {
            #expect(h.publish(slot, bytes: 4_000, number % 50 == 0 ? .key : []) == .queued)
            received += h.drain(healthy)
        }
        #expect(received == Array(1...500))
        #expect(h.capacity(.video) <= 256 << 10)
        #expect(h.imbalance(stalled) == 0)
        let tail = h.drain(stalled)
        // 256 KiB hold at most 65 frames: what is left starts at the last key frame or later.
        #expect(tail.isEmpty || tail == Array(451...500))
        #expect(h.imbalance(stalled) == 0)
    }

    @Test("design §3: a begun message is finished even when the log lets go of it")
    func finishesBegunMessage() {
        let h = Harness { $0.videoLogBytesMax = 128 << 10 }
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, bytes: 60_000, .key)
        let received = Received()
        #expect(h.pull(subscriber, room: 1_000, into: received) == 1_000)
        #expect(h.isMidMessage(subscriber))
        for _ in 0..<20 { h.publish(slot, bytes: 20_000, .key) }
        while h.pull(subscriber, room: 1_000, into: received) > 0 {}
        #expect(received.cut() && received.bytes.isEmpty)
        #expect(received.frames.first?.number == 1)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §5: unsubscribing and leaving account for what is queued")
    func leaving() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot)
        h.publish(slot)
        h.unsubscribe(subscriber, slot)
        #expect(h.account(subscriber).unsubscribed == 2)
        #expect(h.drain(subscriber) == [])
        h.subscribe(subscriber, slot)
        h.publish(slot)
        let account = h.fanout.removeSubscriber(subscriber)
        #expect(account?.unsubscribed == 3 && account?.entered == 3)
    }

    @Test("a frame larger than the log's bound is refused and counted for whoever wanted it")
    func refusesOversize() {
        let h = Harness { $0.audioLogBytesMax = 8 << 10 }
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        #expect(h.publish(slot, bytes: 9_000) == .refused)
        #expect(h.publish(slot, bytes: 100) == .queued)
        #expect(h.drain(subscriber) == [2])
        #expect(h.account(subscriber).refused == 1)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("an ended stream's slot is used again only when no queued frame names it")
    func reusesSlots() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot)
        h.fanout.endStream(slot)
        let second = h.stream(2, .audio)
        #expect(second != slot)
        #expect(h.drain(subscriber) == [1])
        h.fanout.tidy(now: h.now)
        #expect(h.stream(3, .audio) == slot)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("what late joiners are given is bounded over all of them: beyond the budget they wait for a key frame")
    func budget() {
        let h = Harness { $0.cacheBytesMax = 250_000 }
        let slot = h.stream(1, .video)
        h.publish(slot, bytes: 60_000, .key)
        let subscribers = (1...10).map { h.subscriber(UInt32($0)) }
        let served = subscribers.count { h.subscribe($0, slot) }
        #expect(served == 3)
        #expect(h.budgetUsed <= 250_000)
        for subscriber in subscribers.prefix(3) { #expect(h.drain(subscriber) == [1]) }
        #expect(h.budgetUsed < 61_000)
        h.removeAll(subscribers)
        h.fanout.endStream(slot)
        #expect(h.budgetUsed == 0)
    }

    @Test("protocol §4: after unsubscribing nothing of the stream follows, not even what a late joiner was owed")
    func unsubscribeDropsPrelude() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let other = h.stream(2, .video)
        for slot in [slot, other] { h.publish(slot, .key) }
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.subscribe(subscriber, other)
        h.unsubscribe(subscriber, slot)
        #expect(h.drain(subscriber) == [2])
        #expect(h.account(subscriber).unsubscribed == 1)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("a reader that lags behind in ended streams does not use up the room's slots")
    func slotsUnderChurn() {
        let h = Harness()
        let lagging = h.subscriber()
        for id in 1...5_000 as ClosedRange<UInt32> {
            let slot = h.stream(id, .data)
            #expect(slot.index >= 0)
            h.subscribe(lagging, slot)
            h.publish(slot)
            h.fanout.endStream(slot)
        }
        #expect(h.imbalance(lagging) == 0)
        let numbers = h.drain(lagging)
        #expect(numbers == numbers.sorted() && numbers.last == 5_000)
    }

    @Test("a subscriber that subscribes over and over without reading is not given the group of pictures again and again")
    func boundedPrelude() {
        let h = Harness { $0.gopCacheBytesMax = 100_000 }
        let slot = h.stream(1, .video)
        h.publish(slot, bytes: 60_000, .key)
        let subscriber = h.subscriber()
        for _ in 0..<50 {
            h.subscribe(subscriber, slot)
            h.unsubscribe(subscriber, slot)
        }
        #expect(h.preludeBytes(subscriber) < 100_000)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("invariant: entered − delivered − dropped = pending at every step of any run", arguments: 0..<16)
    func accountingHolds(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let h = Harness { limits in
            limits.audioLogBytesMax = 16 << 10
            limits.videoLogBytesMax = 96 << 10
            limits.gopCacheBytesMax = 64 << 10
        }
        var slots = [h.stream(1, .audio), h.stream(2, .video), h.stream(3, .data), h.stream(4, .video)]
        var subscribers: [(handle: Handle, received: Received)] = (0..<4).map { (h.subscriber(UInt32(10 + $0)), Received()) }
        var nextStream: UInt32 = 5
        for _ in 0..<800 {
            let who = Int.random(in: 0..<subscribers.count, using: &random)
            let which = Int.random(in: 0..<slots.count, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let lane = h.fanout.streams[slots[which].index].lane
                let kinds: [FrameTraits] = lane == .video ? [.key, [], [], [], .discardable, .configuration] : [[], [], [], .configuration]
                let size = lane == .video ? Int.random(in: 16...30_000, using: &random) : Int.random(in: 16...400, using: &random)
                h.publish(slots[which], bytes: size, kinds.randomElement(using: &random) ?? [])
            case 45..<85:
                let room = [1, 40, 1_000, 16 << 10].randomElement(using: &random) ?? 1
                _ = h.pull(subscribers[who].handle, room: room, into: subscribers[who].received)
                #expect(subscribers[who].received.cut())
            case 85..<90: h.subscribe(subscribers[who].handle, slots[which])
            case 90..<92: h.unsubscribe(subscribers[who].handle, slots[which])
            case 92..<96: h.advance(milliseconds: UInt64.random(in: 0...300, using: &random))
            case 96: h.fanout.tidy(now: h.now)
            case 97:
                h.fanout.removeSubscriber(subscribers[who].handle)
                subscribers[who] = (h.subscriber(UInt32(nextStream + 100)), Received())
            default:
                h.fanout.endStream(slots[which])
                slots[which] = h.stream(nextStream, Lane(rawValue: which % 3) ?? .audio)
                nextStream += 1
            }
            for subscriber in subscribers { #expect(h.imbalance(subscriber.handle) == 0) }
        }
        for subscriber in subscribers {
            var newest: [UInt32: UInt32] = [:]
            for frame in subscriber.received.frames where !h.configurations.contains(frame.number) {
                #expect(frame.number > newest[frame.stream] ?? 0, "in order and at most once")
                newest[frame.stream] = frame.number
            }
            while h.pull(subscriber.handle, room: 4_096, into: subscribers[0].received) > 0 {}
            #expect(h.pending(subscriber.handle) == 0)
        }
        #expect(h.audit(steps: 1 << 30) == 0)
        let total = h.total()
        #expect(total.entered == total.delivered &+ total.dropped)
    }
}
