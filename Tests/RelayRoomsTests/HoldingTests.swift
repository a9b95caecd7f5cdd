import RelayBase
import Testing

@testable import RelayRooms

/// What an interrupted or paused audio session does to what its client is due.
@Suite("Egress: held subscribers and streams")
struct HoldingTests {
    private static let discontinuity: UInt8 = 0x04

    /// Pulls everything and answers each frame's number and whether it says that it does not follow the last.
    private func read(_ h: Harness, _ subscriber: Handle, room: Int = 16 << 10) -> [Frame] {
        let received = Received()
        while h.pull(subscriber, room: room, into: received) > 0 {}
        guard received.cut(), received.bytes.isEmpty else { return [] }
        return zip(received.frames, received.flags).map { Frame(number: $0.number, isMarked: $1 & HoldingTests.discontinuity != 0) }
    }

    private struct Frame: Equatable {
        let number: UInt32
        var isMarked = false
    }

    @Test("audio-session §4: what is queued is dropped as interrupted, nothing more enters, and the account comes out", arguments: Lane.allCases)
    func holdDrops(lane: Lane) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.publish(slot, lane == .video ? .key : [])
        h.publish(slot)
        h.hold(subscriber)
        #expect(h.account(subscriber).interrupted == 3 && h.account(subscriber).entered == 3)
        #expect(h.publish(slot) == .nobody)
        #expect(read(h, subscriber) == [] && h.pending(subscriber) == 0)
        #expect(h.account(subscriber).entered == 3 && h.imbalance(subscriber) == 0)
        #expect(h.wanted(slot).isEmpty)
    }

    @Test(
        "audio-session §4: it goes on at the live edge, with the configuration and then a first frame that says so",
        arguments: [Lane.audio, .data])
    func releaseBeginsAtTheEdge(lane: Lane) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let other = h.subscriber(8)
        let subscriber = h.subscriber()
        for each in [other, subscriber] { h.subscribe(each, slot) }
        h.publish(slot, .configuration)
        h.publish(slot)
        #expect(read(h, subscriber) == [Frame(number: 1), Frame(number: 2)])
        h.hold(subscriber)
        h.publish(slot)
        h.release(subscriber)
        #expect(read(h, subscriber) == [Frame(number: 1)])
        h.publish(slot)
        h.publish(slot)
        #expect(read(h, subscriber) == [Frame(number: 4, isMarked: true), Frame(number: 5)])
        // Bytes in the log are everybody's.
        #expect(read(h, other) == (1...5).map { Frame(number: $0) })
        #expect(h.imbalance(subscriber) == 0 && h.imbalance(other) == 0 && h.budgetUsed == 0)
    }

    @Test(
        "audio-session §4: video goes on with a key frame that is asked for, its configuration before it; what is cached from before does not come again"
    )
    func videoWaitsForAKey() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.publish(slot, .key)
        h.publish(slot)
        #expect(read(h, subscriber).map(\.number) == [1, 2, 3])
        _ = h.keyFrameRequest()
        h.hold(subscriber)
        h.advance(milliseconds: 700)
        h.release(subscriber)
        #expect(h.keyFrameRequest(of: slot) == 0)
        #expect(!h.wanted(slot).isEmpty)
        h.publish(slot)
        #expect(read(h, subscriber) == [])
        h.publish(slot, .key)
        h.publish(slot)
        #expect(read(h, subscriber) == [Frame(number: 1), Frame(number: 5, isMarked: true), Frame(number: 6)])
        #expect(h.imbalance(subscriber) == 0 && h.budgetUsed == h.cachedBytes(slot))
    }

    @Test(
        "audio-session §4: a group that began since and is young enough for the lane is given from the cache",
        arguments: [(100, true), (500, false)] as [(UInt64, Bool)])
    func videoFromTheCache(age: UInt64, isGiven: Bool) {
        let h = Harness()
        let slot = h.stream(1, .video)
        let other = h.subscriber(8)
        let subscriber = h.subscriber()
        for each in [other, subscriber] { h.subscribe(each, slot) }
        h.publish(slot, .configuration)
        h.publish(slot, .key)
        _ = read(h, subscriber)
        h.hold(subscriber)
        h.advance(milliseconds: 50)
        h.publish(slot, .key)
        h.advance(milliseconds: age)
        h.publish(slot)
        h.release(subscriber)
        let expected = isGiven ? [Frame(number: 1), Frame(number: 3, isMarked: true), Frame(number: 4)] : []
        #expect(read(h, subscriber) == expected)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §6: one stream is held and the others go on; a held subscriber's streams stay held until both let go")
    func oneStream() {
        let h = Harness()
        let (first, second) = (h.stream(1, .audio), h.stream(2, .audio))
        let subscriber = h.subscriber()
        for slot in [first, second] { h.subscribe(subscriber, slot) }
        h.hold(subscriber, first)
        h.publish(first)
        h.publish(second)
        #expect(read(h, subscriber) == [Frame(number: 2)])
        h.hold(subscriber)
        h.release(subscriber, first)
        h.hold(subscriber, second)
        h.publish(first)
        h.release(subscriber)
        h.publish(first)
        h.publish(second)
        #expect(read(h, subscriber) == [Frame(number: 4, isMarked: true)])
        h.release(subscriber, second)
        h.publish(second)
        #expect(read(h, subscriber) == [Frame(number: 6, isMarked: true)])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §4: a stream that a held subscriber comes to want begins with the release", arguments: Lane.allCases)
    func wantedWhileHeld(lane: Lane) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let subscriber = h.subscriber()
        h.hold(subscriber)
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.publish(slot, lane == .video ? .key : [])
        #expect(read(h, subscriber) == [] && h.account(subscriber).entered == 0)
        h.release(subscriber)
        h.publish(slot)
        let expected =
            lane == .video
            ? [Frame(number: 1), Frame(number: 2, isMarked: true), Frame(number: 3)] : [Frame(number: 1), Frame(number: 3, isMarked: true)]
        #expect(read(h, subscriber) == expected)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("RFC 6455 §5.4: a message that was begun is finished before the hold is felt", arguments: [false, true])
    func begunIsFinished(parts: Bool) {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber(wishes: EgressWishes(parts: parts, bundles: false))
        h.subscribe(subscriber, slot)
        h.publish(slot, bytes: 40_000, .key)
        h.publish(slot)
        let received = Received()
        _ = h.pull(subscriber, room: 10_000, into: received)
        h.finish(subscriber, into: received)
        h.hold(subscriber)
        #expect(h.pull(subscriber, into: received) == 0)
        #expect(received.cut() && received.bytes.isEmpty && received.frames.map(\.number) == [1])
        #expect(h.account(subscriber).delivered == 1 && h.account(subscriber).interrupted == 1 && h.imbalance(subscriber) == 0)
    }

    @Test(
        "audio-session §4: the first frame is marked whatever its size and the room, and what others get is not", arguments: [400, 40_000],
        [900, 16 << 10])
    func largeFirstFrames(byteCount: Int, room: Int) {
        for parts in [false, true] {
            let h = Harness()
            let slot = h.stream(1, .video)
            let other = h.subscriber(8)
            let subscriber = h.subscriber(wishes: EgressWishes(parts: parts, bundles: true))
            for each in [other, subscriber] { h.subscribe(each, slot) }
            h.hold(subscriber)
            h.release(subscriber)
            h.publish(slot, bytes: byteCount, .key)
            h.publish(slot)
            #expect(read(h, subscriber, room: room) == [Frame(number: 1, isMarked: true), Frame(number: 2)])
            #expect(read(h, other, room: room) == [Frame(number: 1), Frame(number: 2)])
            #expect(h.imbalance(subscriber) == 0 && h.budgetUsed == h.cachedBytes(slot))
        }
    }

    @Test("audio-session §6: starting afresh drops what is queued, once each, and goes on with what comes", arguments: [Lane.audio, .video])
    func afresh(lane: Lane) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, lane == .video ? .key : [])
        h.publish(slot)
        h.startAfresh(subscriber, slot)
        h.publish(slot)
        h.publish(slot, lane == .video ? .key : [])
        #expect(h.account(subscriber).interrupted == 2)
        let frames = read(h, subscriber)
        #expect(frames.first == Frame(number: lane == .video ? 4 : 3, isMarked: true))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test(
        "audio-session §6: a stream that drains gives what is queued and nothing more; what holds its subscriber drops that too",
        arguments: Lane.allCases)
    func draining(lane: Lane) {
        let h = Harness()
        let slot = h.stream(1, lane)
        let subscriber = h.subscriber()
        let key: FrameTraits = lane == .video ? .key : []
        h.subscribe(subscriber, slot)
        h.publish(slot, key)
        h.publish(slot)
        h.drainOut(subscriber, slot)
        h.publish(slot)
        #expect(h.queued(subscriber, slot).frames == 2 && h.imbalance(subscriber) == 0)
        #expect(read(h, subscriber) == [Frame(number: 1), Frame(number: 2)])
        let level = h.queued(subscriber, slot)
        #expect(level.frames == 0 && level.head == level.tail)
        h.release(subscriber, slot)
        h.publish(slot, key)
        #expect(read(h, subscriber) == [Frame(number: 4, isMarked: true)])
        h.publish(slot)
        h.drainOut(subscriber, slot)
        h.hold(subscriber)
        #expect(read(h, subscriber) == [] && h.account(subscriber).interrupted == 1 && h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §6: what drains and is not out when the stream is released goes, each frame counted once")
    func releasedWhileDraining() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot)
        h.drainOut(subscriber, slot)
        h.release(subscriber, slot)
        h.publish(slot)
        #expect(read(h, subscriber) == [Frame(number: 2, isMarked: true)])
        #expect(h.account(subscriber).interrupted == 1 && h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §6: a stream that starts at a media time gives nothing before it", arguments: [UInt32(5_000), 500])
    func startsAtATime(start: UInt32) {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.hold(subscriber, slot)
        h.release(subscriber, slot, at: start)
        for (number, time) in [(1, 1_000), (2, 4_999), (3, 5_000), (4, 6_000)] as [(UInt32, UInt32)] {
            h.append(TestFrame(stream: 1, number: number, byteCount: 100, traits: [], timestamp: time), slot)
        }
        let expected = start == 500 ? [1, 2, 3, 4] : [3, 4] as [UInt32]
        #expect(read(h, subscriber) == expected.map { Frame(number: $0, isMarked: $0 == expected[0]) })
        #expect(h.account(subscriber).interrupted == UInt64(4 - expected.count) && h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §6: after a flush the configuration and the mark go before the next frame")
    func refreshed() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.publish(slot)
        _ = read(h, subscriber)
        h.refresh(subscriber, slot)
        h.publish(slot)
        #expect(read(h, subscriber) == [Frame(number: 1), Frame(number: 3, isMarked: true)])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("§5: what the best of a stream's hearers can play is known; who is held hears nothing")
    func hearers() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let (first, second) = (h.subscriber(8), h.subscriber())
        let handsFree = WantedFormat(channels: 1, bandwidth: .wideband)
        h.fanout.setAudioBounds(Int(first.index), handsFree)
        for each in [first, second] { h.subscribe(each, slot) }
        #expect(h.fanout.wantedAudio(slot) == .full)
        h.fanout.setAudioBounds(Int(second.index), WantedFormat(channels: 2, bandwidth: .narrowband))
        #expect(h.fanout.wantedAudio(slot) == WantedFormat(channels: 2, bandwidth: .wideband))
        h.hold(second)
        #expect(h.fanout.wantedAudio(slot) == handsFree)
        h.fanout.setAudioBounds(Int(first.index), nil)
        #expect(h.fanout.wantedAudio(slot) == nil)
        h.release(second)
        h.unsubscribe(second, slot)
        h.removeAll([first, second])
        #expect(h.fanout.wantedAudio(slot) == nil)
    }

    @Test("the layer that a held subscriber is to have is the one that was chosen for it last")
    func layersAreKept() {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 2)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot, LayerChoice(spatial: 1))
        h.publish(slot, FrameTraits.key.with(spatial: 1))
        h.hold(subscriber)
        h.target(subscriber, slot, LayerChoice(spatial: 0))
        #expect(h.layer(subscriber, slot).isNone)
        h.release(subscriber)
        h.publish(slot, FrameTraits.key.with(spatial: 1))
        h.publish(slot, FrameTraits.key.with(spatial: 0))
        #expect(read(h, subscriber) == [Frame(number: 3, isMarked: true)])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("a released stream's wait for a key frame outlives a lost connection: it is asked for again")
    func parkedWhileWaiting() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .key)
        _ = read(h, subscriber)
        h.hold(subscriber)
        h.release(subscriber)
        h.fanout.park(Int(subscriber.index))
        h.advance(milliseconds: 2_000)
        #expect(h.keyFrameRequest() == nil)
        h.fanout.unpark(Int(subscriber.index), asksForKeyFrames: false)
        #expect(h.keyFrameRequest() == slot)
    }

    @Test(
        "whatever is held, released, parked, published and pulled: accounts come out, and nothing enters for who is held",
        arguments: 0..<40 as Range<UInt64>)
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let h = Harness { limits in
            if seed % 3 == 0 { limits.videoLogBytesMax = 20 << 10 }
            if seed % 4 == 0 { limits.cacheBytesMax = 6 << 10 }
        }
        let slots = [h.stream(1, .audio), h.stream(2, .video), h.stream(3, .video, layers: 2), h.stream(4, .data)]
        let wishes = [EgressWishes(), EgressWishes(parts: true, bundles: false), EgressWishes(parts: false, bundles: true)]
        let subscribers: [Handle] = wishes.indices.map { h.subscriber(UInt32(10 + $0), wishes: wishes[$0]) }
        for _ in 0..<600 {
            guard let subscriber = subscribers.randomElement(using: &generator), let slot = slots.randomElement(using: &generator) else { return }
            switch Int.random(in: 0..<17, using: &generator) {
            case 0: h.hold(subscriber)
            case 1: h.release(subscriber)
            case 2: h.hold(subscriber, slot)
            case 3: h.release(subscriber, slot)
            case 4: h.subscribe(subscriber, slot)
            case 5: h.unsubscribe(subscriber, slot)
            case 6: h.startAfresh(subscriber, slot)
            case 7: h.advance(milliseconds: .random(in: 0...300, using: &generator))
            case 8:
                let received = Received()
                _ = h.pull(subscriber, room: .random(in: 1...5_000, using: &generator), into: received)
            case 9: h.publish(slot, .configuration)
            case 10: h.publish(slot, bytes: .random(in: 20...9_000, using: &generator), h.fanout.streams[slot.index].lane == .video ? .key : [])
            case 11: h.tidy()
            case 12: h.drainOut(subscriber, slot)
            case 13: h.refresh(subscriber, slot)
            case 14: h.release(subscriber, slot, at: .random(in: 0...10, using: &generator))
            default: h.publish(slot, bytes: .random(in: 20...900, using: &generator))
            }
            for each in subscribers {
                #expect(h.imbalance(each) == 0)
                let isHeld = h.fanout.isHeld(Int(each.index))
                guard isHeld else { continue }
                let isQuiet = h.pending(each) == 0 || h.isMidMessage(each) || h.isCut(each)
                #expect(isQuiet)
            }
        }
        for subscriber in subscribers { h.release(subscriber) }
        h.removeAll(subscribers)
        let total = h.total()
        #expect(total.entered == total.delivered &+ total.dropped)
    }
}

extension Harness {
    /// Bytes of a stream that are kept for late joiners, and count against the budget.
    fileprivate func cachedBytes(_ slot: StreamSlot) -> Int { fanout.streams[slot.index].groupBytes }

    fileprivate func isCut(_ subscriber: Handle) -> Bool {
        Lane.allCases.contains { fanout.subscribers[Int(subscriber.index)][$0].cut != nil }
    }
}
