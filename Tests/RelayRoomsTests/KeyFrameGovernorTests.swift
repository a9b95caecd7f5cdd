import RelayBase
import Testing

@testable import RelayRooms

@Suite("Key-frame governor")
struct KeyFrameGovernorTests {
    private let bounds = KeyFrameGovernor.Bounds(intervalMillisecondsMin: 500, sharePercent: 25)

    @Test(
        "protocol §5.4: between requests lie the least interval, and what keeps key frames within their share; at most 10 s",
        arguments: [
            // 50 kB are 400 kbit: at a quarter of 1 Mbit/s, one every 1.6 s.
            (50_000, 1_000_000, UInt64(1_600)), (50_000, 0, 500), (1_000, 1_000_000, 500), (4_000_000, 100_000, 10_000),
            (Int.max, 1, 10_000), (0, Int.max, 500), (Int.max, Int.max, 500),
        ] as [(Int, Int, UInt64)])
    func interval(keyFrameBytes: Int, bitsPerSecond: Int, expected: UInt64) {
        var governor = KeyFrameGovernor()
        governor.keyFrameCame(byteCount: keyFrameBytes, now: .zero)
        let interval = governor.intervalMilliseconds(bounds, bitsPerSecond: bitsPerSecond)
        #expect(interval == expected || keyFrameBytes == .max && interval >= 500 && interval <= 10_000)
    }

    @Test("protocol §5.4: a need is served by any key frame that comes after it")
    func servedByAnyKeyFrame() {
        var governor = KeyFrameGovernor()
        governor.want()
        #expect(governor.isWanted)
        governor.keyFrameCame(byteCount: 100, now: .zero)
        #expect(!governor.isWanted)
        #expect(!governor.isDue(now: .distantFuture, bounds, bitsPerSecond: 0))
    }

    @Test(
        "protocol §5.4: whatever is needed whenever, requests keep their distance, requested key frames their share, and no need waits longer than 10 s",
        arguments: 0..<30 as Range<UInt64>)
    func boundsHold(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var governor = KeyFrameGovernor()
        let bitsPerSecond = [0, 64_000, 500_000, 2_000_000].randomElement(using: &random) ?? 0
        let needsPerSecond = [1, 20, 1_000].randomElement(using: &random) ?? 1
        var now = MonotonicInstant(nanoseconds: 1)
        var requests: [MonotonicInstant] = []
        var answerAt: MonotonicInstant?
        var oldestNeed: MonotonicInstant?
        var requestedBits = 0
        let keyFrameBytes = Int.random(in: 1_000...100_000, using: &random)
        let seconds = 120
        for _ in 0..<(seconds * 100) {
            now = now.advanced(byMilliseconds: 10)
            if Int.random(in: 0..<100, using: &random) < needsPerSecond {
                governor.want()
                oldestNeed = oldestNeed ?? now
            }
            if let answer = answerAt, now >= answer {
                governor.keyFrameCame(byteCount: keyFrameBytes, now: now)
                requestedBits += keyFrameBytes * 8
                answerAt = nil
                oldestNeed = nil
            }
            if governor.isDue(now: now, bounds, bitsPerSecond: bitsPerSecond) {
                governor.requested(now: now)
                requests.append(now)
                answerAt = answerAt ?? now.advanced(byMilliseconds: .random(in: 10...400, using: &random))
            }
            if let oldestNeed { #expect(now.milliseconds(since: oldestNeed) <= 10_000 + 410) }
        }
        for (earlier, later) in zip(requests, requests.dropFirst()) { #expect(later.milliseconds(since: earlier) >= 500) }
        let share = bitsPerSecond * 25 / 100 * seconds
        // One more than the share for the first, whose size was not known, and never fewer than one in ten seconds.
        if bitsPerSecond > 0 { #expect(requestedBits <= max(share, seconds / 10 * keyFrameBytes * 8) + 2 * keyFrameBytes * 8) }
    }

    @Test("200 subscribers that come within a second cost two requests at most")
    func manyJoiners() {
        let h = Harness()
        let slot = h.stream(1, .video)
        var requests = 0
        var answerAt: MonotonicInstant?
        for number in 0..<200 {
            let subscriber = h.subscriber(UInt32(100 + number))
            h.subscribe(subscriber, slot)
            if h.keyFrameRequest() != nil {
                requests += 1
                answerAt = h.now.advanced(byMilliseconds: 80)
            }
            if let answer = answerAt, h.now >= answer {
                h.publish(slot, bytes: 40_000, .key)
                answerAt = nil
            } else {
                h.publish(slot, bytes: 2_000)
            }
            h.advance(milliseconds: 5)
        }
        #expect((1...2).contains(requests))
    }

    @Test("a need that is none any more asks nobody")
    func staleNeed() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let (first, second) = (h.subscriber(8), h.subscriber(9))
        h.publish(slot, .key)
        for subscriber in [first, second] { h.subscribe(subscriber, slot) }
        #expect(h.drain(first).count == 1 && h.drain(second).count == 1)
        h.publish(slot)
        h.advance(milliseconds: 500)
        h.publish(slot)
        #expect(h.drain(second) == [], "the loss made what follows useless")
        h.unsubscribe(second, slot)
        h.unsubscribe(first, slot)
        h.subscribe(first, slot)
        #expect(h.keyFrameRequest() == nil)
    }
}
