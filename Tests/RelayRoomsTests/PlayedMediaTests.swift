import MediaProtocol
import RelayBase
import Testing

@testable import RelayRooms

/// What a subscriber was really given of a stream, as `playback` tells it.
@Suite("Egress: played media")
struct PlayedMediaTests {
    private static let ticksPerSecond: UInt32 = 48_000
    private static let step: UInt32 = 960

    /// Publishes frames of 20 ms, one each 20 ms, and reads them.
    private func play(_ h: Harness, _ slot: StreamSlot, _ subscriber: Handle, frames: UInt32, from timestamp: UInt32, reads: Bool = true) {
        for frame in 0..<frames {
            h.advance(milliseconds: 20)
            h.append(
                TestFrame(stream: 1, number: h.nextNumber, byteCount: 176, traits: [], timestamp: timestamp &+ frame &* PlayedMediaTests.step), slot)
            h.nextNumber += 1
            if reads { _ = h.drain(subscriber) }
        }
    }

    private func played(_ h: Harness, _ subscriber: Handle, _ slot: StreamSlot) -> (seconds: Double, isFlowing: Bool) {
        h.fanout.played(Int(subscriber.index), slot, now: h.now)
    }

    private func make() -> (Harness, StreamSlot, Handle) {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        h.fanout.countPlayed(Int(subscriber.index), slot, ticksPerSecond: PlayedMediaTests.ticksPerSecond, now: h.now)
        return (h, slot, subscriber)
    }

    @Test(
        "audio-session §6: what was given counts, each frame until the next, over the wrap of timestamps too",
        arguments: [0, UInt32.max - 20_000] as [UInt32])
    func counts(start: UInt32) {
        let (h, slot, subscriber) = make()
        #expect(played(h, subscriber, slot) == (0, false), "nothing has come")
        play(h, slot, subscriber, frames: 50, from: start)
        #expect(played(h, subscriber, slot) == (1, true))
    }

    @Test("audio-session §6: a silent publisher plays nothing, and after 500 ms without a frame the stream waits")
    func starves() {
        let (h, slot, subscriber) = make()
        play(h, slot, subscriber, frames: 50, from: 0)
        h.advance(milliseconds: 500)
        #expect(played(h, subscriber, slot) == (1, true))
        h.advance(milliseconds: 1)
        #expect(played(h, subscriber, slot) == (1, false))
        h.advance(milliseconds: 10_000)
        // A gap in the timestamps is no media.
        play(h, slot, subscriber, frames: 50, from: 1_000_000)
        #expect(played(h, subscriber, slot) == (2, true))
    }

    @Test("audio-session §6: what is held is not played, and goes on counting where it stood")
    func held() {
        let (h, slot, subscriber) = make()
        play(h, slot, subscriber, frames: 50, from: 0)
        h.hold(subscriber, slot)
        #expect(played(h, subscriber, slot) == (1, false))
        play(h, slot, subscriber, frames: 10, from: 50 * PlayedMediaTests.step)
        #expect(played(h, subscriber, slot) == (1, false))
        h.release(subscriber, slot)
        #expect(played(h, subscriber, slot) == (1, false), "nothing has come yet")
        play(h, slot, subscriber, frames: 50, from: 60 * PlayedMediaTests.step)
        #expect(played(h, subscriber, slot) == (2, true))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("audio-session §6: a stream that is to begin later waits until then", arguments: [false, true])
    func later(isHeld: Bool) {
        let (h, slot, subscriber) = make()
        play(h, slot, subscriber, frames: 5, from: 0)
        if isHeld { h.hold(subscriber, slot) }
        let start = 20 * PlayedMediaTests.step
        if isHeld { h.release(subscriber, slot, at: start) } else { h.fanout.startAfresh(Int(subscriber.index), slot, at: start, now: h.now) }
        play(h, slot, subscriber, frames: 15, from: 5 * PlayedMediaTests.step)
        #expect(played(h, subscriber, slot) == (0.1, false))
        play(h, slot, subscriber, frames: 5, from: start)
        #expect(played(h, subscriber, slot) == (0.2, true))
    }

    @Test("audio-session §6: what was dropped was not played")
    func dropped() {
        let (h, slot, subscriber) = make()
        play(h, slot, subscriber, frames: 50, from: 0)
        play(h, slot, subscriber, frames: 50, from: 50 * PlayedMediaTests.step, reads: false)
        h.startAfresh(subscriber, slot)
        play(h, slot, subscriber, frames: 50, from: 100 * PlayedMediaTests.step)
        #expect(played(h, subscriber, slot) == (2, true))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("frames of the log that are given one by one cost as much account as those that are given as one")
    func others() {
        let (h, slot, subscriber) = make()
        let other = h.subscriber(8)
        h.subscribe(other, slot)
        play(h, slot, subscriber, frames: 20, from: 0, reads: false)
        #expect(h.drain(subscriber) == h.drain(other))
        #expect(h.account(subscriber) == h.account(other))
        h.unsubscribe(subscriber, slot)
        #expect(played(h, subscriber, slot) == (0, false))
        h.subscribe(subscriber, slot)
        h.fanout.countPlayed(Int(subscriber.index), slot, ticksPerSecond: PlayedMediaTests.ticksPerSecond, now: h.now)
        play(h, slot, subscriber, frames: 10, from: 0)
        #expect(played(h, subscriber, slot) == (0.2, true), "another subscription")
    }
}
