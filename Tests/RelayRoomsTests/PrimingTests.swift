import RelayBase
import Testing

@testable import RelayRooms

/// Streams that stand and are kept ready, and what comes of them from another loop's cache.
@Suite("Egress: priming")
struct PrimingTests {
    private static let discontinuity: UInt8 = 0x04

    private func ready(_ h: Harness, _ subscriber: Handle, _ slot: StreamSlot) -> Int {
        h.fanout.ready(Int(subscriber.index), slot, now: h.now).frames
    }

    /// A frame as it comes through the ring: of a group that began so long ago.
    private func replay(_ h: Harness, _ slot: StreamSlot, _ traits: FrameTraits, age: UInt64) {
        let frame = TestFrame(stream: 1, number: h.nextNumber, byteCount: 176, traits: traits)
        h.nextNumber += 1
        let start = MonotonicInstant(nanoseconds: h.now.nanoseconds - age * 1_000_000)
        unsafe frame.bytes.withUnsafeBytes { _ = unsafe h.fanout.append($0, slot: slot, traits: traits.union(.replayed), since: start, now: h.now) }
    }

    private func make(_ change: (inout Limits) -> Void = { _ in }) -> (Harness, StreamSlot, Handle) {
        let h = Harness(change)
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.publish(slot, .configuration)
        h.publish(slot, .key)
        _ = h.drain(subscriber)
        _ = h.keyFrameRequest()
        h.hold(subscriber, slot)
        h.advance(milliseconds: 1_000)
        return (h, slot, subscriber)
    }

    @Test("audio-session §6: a primed stream is wanted though nothing is given, and what comes is ready")
    func primed() {
        let (h, slot, subscriber) = make()
        #expect(h.wanted(slot).isEmpty)
        h.fanout.prime(Int(subscriber.index), slot, now: h.now)
        #expect(h.wanted(slot)[0] == LayerChoice(spatial: 0).temporal && h.keyFrameRequest() == slot, "there is nothing to begin with")
        #expect(h.publish(slot, .key) == .nobody)
        h.publish(slot)
        #expect(ready(h, subscriber, slot) == 2 && h.pending(subscriber) == 0 && h.drain(subscriber) == [])
        h.release(subscriber, slot)
        #expect(h.drain(subscriber) == [1, 3, 4])
        #expect(h.imbalance(subscriber) == 0 && h.budgetUsed > 0)
    }

    @Test("audio-session §6: whatever is said of a primed stream ends it", arguments: ["paused", "held", "unsubscribed", "released", "ended"])
    func ends(how: String) {
        let (h, slot, subscriber) = make()
        h.fanout.prime(Int(subscriber.index), slot, now: h.now)
        switch how {
        case "paused": h.hold(subscriber, slot)
        case "held": h.hold(subscriber)
        case "unsubscribed": h.unsubscribe(subscriber, slot)
        case "released":
            h.release(subscriber, slot)
            h.hold(subscriber, slot)
        default: h.removeAll([subscriber])
        }
        #expect(h.wanted(slot).isEmpty)
    }

    @Test("a stream of a session that is held, or that plays, is not primed")
    func notPrimed() {
        let (h, slot, subscriber) = make()
        h.hold(subscriber)
        h.fanout.prime(Int(subscriber.index), slot, now: h.now)
        let isPrimedWhileHeld = h.fanout.isPrimed(Int(subscriber.index), slot)
        #expect(!isPrimedWhileHeld && h.wanted(slot).isEmpty)
        h.release(subscriber)
        h.release(subscriber, slot)
        h.fanout.prime(Int(subscriber.index), slot, now: h.now)
        let isPrimed = h.fanout.isPrimed(Int(subscriber.index), slot)
        #expect(!isPrimed)
    }

    @Test(
        "audio-session §4: a group that another loop has cached is given when it began since the hold and is young enough",
        arguments: [(100, true), (500, false), (1_100, false)] as [(UInt64, Bool)])
    func released(age: UInt64, isGiven: Bool) {
        let (h, slot, subscriber) = make()
        // Where the publisher is elsewhere, nothing is cached of what nobody here wants.
        h.fanout.forgetPictures(slot)
        h.release(subscriber, slot)
        replay(h, slot, .key, age: age)
        replay(h, slot, [], age: age)
        let received = Received()
        while h.pull(subscriber, into: received) > 0 {}
        #expect(received.cut() && received.frames.map(\.number) == (isGiven ? [1, 3, 4] : []))
        if isGiven { #expect(received.flags[1] & PrimingTests.discontinuity != 0) }
        h.publish(slot, .key)
        #expect(h.drain(subscriber) == (isGiven ? [5] : [1, 5]))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test(
        "audio-session §6: what another loop has cached is ready in a primed stream when it began since the hold",
        arguments: [(100, 2), (1_100, 0)] as [(UInt64, Int)])
    func readyFromElsewhere(age: UInt64, frames: Int) {
        let (h, slot, subscriber) = make()
        h.fanout.forgetPictures(slot)
        h.fanout.prime(Int(subscriber.index), slot, now: h.now)
        replay(h, slot, .key, age: age)
        replay(h, slot, [], age: age)
        #expect(ready(h, subscriber, slot) == frames)
    }

    @Test(
        "audio-session §6: of video that is to begin at a media time, key frames are asked for at the start and when that time has come, not between")
    func farAhead() {
        // So thin a stream is asked for a key frame every few seconds at most, for its share of the bit rate.
        let (h, slot, subscriber) = make { $0.keyFrameBitRateSharePercent = 100 }
        h.release(subscriber, slot, at: 1_000_000)
        var requests = 0
        func show(_ traits: FrameTraits, _ timestamp: UInt32) {
            h.advance(milliseconds: 600)
            h.append(TestFrame(stream: 1, number: h.nextNumber, byteCount: 176, traits: traits, timestamp: timestamp), slot)
            h.nextNumber += 1
            _ = h.drain(subscriber)
            while h.keyFrameRequest() != nil { requests += 1 }
        }
        show([], 1_000)
        #expect(requests == 1)
        for frame in 0..<20 { show(frame % 5 == 0 ? .key : [], 2_000 + UInt32(frame) * 1_000) }
        #expect(requests == 1, "it is not time yet")
        let delivered = h.account(subscriber).delivered
        #expect(delivered == 3, "before the hold a configuration and a picture; since then the configuration that goes first")
        show([], 1_000_000)
        #expect(requests == 2, "one to begin with")
        #expect(h.account(subscriber).delivered == delivered, "nothing is of use without it")
        h.append(TestFrame(stream: 1, number: h.nextNumber, byteCount: 176, traits: .key, timestamp: 1_002_000), slot)
        #expect(h.drain(subscriber).last == h.nextNumber)
        #expect(h.imbalance(subscriber) == 0)
    }
}
