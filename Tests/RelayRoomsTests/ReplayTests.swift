import RelayBase
import Testing

@testable import RelayRooms

@Suite("Egress: replay after a lost connection")
struct ReplayTests {
    /// A stream whose frames carry their own sequence numbers and timestamps.
    private final class Stream {
        let h: Harness
        let slot: StreamSlot
        let id: UInt32
        var sequence: UInt32
        var timestamp: UInt32

        init(_ h: Harness, _ id: UInt32, _ lane: Lane, sequence: UInt32 = 100, timestamp: UInt32 = 9_600) {
            self.h = h
            self.id = id
            self.sequence = sequence
            self.timestamp = timestamp
            slot = h.stream(id, lane)
        }

        func send(_ traits: FrameTraits = [], flags: UInt8 = 0, ticks: UInt32 = 960) {
            let frame = TestFrame(stream: id, number: sequence, byteCount: 120, traits: traits, timestamp: timestamp, flags: flags)
            h.append(frame, slot)
            guard !traits.contains(.configuration) else { return }
            sequence &+= 1
            timestamp &+= ticks
        }
    }

    /// The frames that were pulled are lost with their connection: the client has nothing but the first `received` of them.
    private func setUp(_ lane: Lane, sequence: UInt32 = 100, timestamp: UInt32 = 9_600) -> (Harness, Stream, Handle) {
        let h = Harness()
        let stream = Stream(h, 1, lane, sequence: sequence, timestamp: timestamp)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, stream.slot)
        return (h, stream, subscriber)
    }

    @Test(
        "contract 5: frames behind the mark that are before their deadline come again, each once, and enter again", arguments: [100, UInt32.max - 2])
    func replays(first: UInt32) {
        let (h, stream, subscriber) = setUp(.audio, sequence: first, timestamp: 0 &- 1_920)
        for _ in 0..<6 { stream.send() }
        #expect(h.drain(subscriber) == (0..<6).map { first &+ $0 })
        stream.send()
        let mark = ReceivedMark(sequence: first &+ 2, timestamp: 0)
        #expect(h.rewind(subscriber, stream.slot, after: mark) == StreamGapMeasure())
        #expect(h.imbalance(subscriber) == 0)
        #expect(h.drain(subscriber) == (3..<7).map { first &+ $0 })
        #expect(h.account(subscriber).delivered == 10 && h.account(subscriber).entered == 10)
        #expect(h.imbalance(subscriber) == 0)
        #expect(h.drain(subscriber) == [])
    }

    @Test("contract 5: others' frames in the lane do not come again")
    func othersStay() {
        let (h, stream, subscriber) = setUp(.audio)
        let other = Stream(h, 2, .audio, sequence: 500)
        h.subscribe(subscriber, other.slot)
        for _ in 0..<3 {
            stream.send()
            other.send()
        }
        _ = h.drain(subscriber)
        _ = h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 100, timestamp: 9_600))
        other.send()
        #expect(h.drain(subscriber) == [101, 102, 503])
        for slot in [stream.slot, other.slot] {
            _ = h.rewind(subscriber, slot, after: ReceivedMark(sequence: slot == other.slot ? 502 : 101, timestamp: 0))
        }
        #expect(h.drain(subscriber) == [102, 503])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test(
        "contract 5: what expired meanwhile is the gap, exact in frames and ticks over wraps",
        arguments: [(100, 9_600), (UInt32.max - 1, 0 &- 960), (UInt32.max - 3, 0 &- 5 * 960)] as [(UInt32, UInt32)])
    func gap(sequence: UInt32, timestamp: UInt32) {
        let (h, stream, subscriber) = setUp(.audio, sequence: sequence, timestamp: timestamp)
        for _ in 0..<3 { stream.send() }
        _ = h.drain(subscriber)
        let mark = ReceivedMark(sequence: sequence &+ 2, timestamp: timestamp &+ 2 * 960)
        for _ in 0..<20 {
            stream.send()
            h.advance(milliseconds: 20)
            h.fanout.tidy(now: h.now)
        }
        // 200 ms of 20 ms each are before their deadline: those sent at −200 … −20 ms.
        #expect(h.rewind(subscriber, stream.slot, after: mark) == StreamGapMeasure(frames: 10, ticks: 9_600))
        #expect(h.drain(subscriber) == (13..<23).map { sequence &+ $0 })
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("contract 5: a silence makes timestamps jump without a gap, and is measured as it was when frames are missing")
    func silence() {
        let (h, stream, subscriber) = setUp(.audio)
        stream.send(ticks: 960)
        stream.send(flags: 0x08, ticks: 48_000)
        stream.send()
        stream.send()
        _ = h.drain(subscriber)
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 101, timestamp: 10_560)) == StreamGapMeasure())
        #expect(h.drain(subscriber) == [102, 103])
        h.advance(milliseconds: 150)
        stream.send()
        h.advance(milliseconds: 100)
        // 102 and 103 are too old by now.
        let gap = h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 101, timestamp: 10_560))
        #expect(gap == StreamGapMeasure(frames: 2, ticks: 1_920))
        #expect(h.drain(subscriber) == [104])
    }

    @Test("contract 5: timestamps that start afresh do not count as media time")
    func discontinuity() {
        let (h, stream, subscriber) = setUp(.audio)
        stream.send()
        stream.send()
        _ = h.drain(subscriber)
        stream.send()
        stream.timestamp = 3_000_000_000
        stream.send(flags: 0x04)
        h.advance(milliseconds: 201)
        stream.send()
        let gap = h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 101, timestamp: 10_560))
        #expect(gap == StreamGapMeasure(frames: 2, ticks: 1_920))
        #expect(h.drain(subscriber) == [104])
    }

    @Test("contract 5: nothing received, nothing there, a stream that is not one's own")
    func edges() {
        let (h, stream, subscriber) = setUp(.audio)
        #expect(h.rewind(subscriber, stream.slot, after: nil) == StreamGapMeasure())
        for _ in 0..<3 { stream.send() }
        _ = h.drain(subscriber)
        #expect(h.rewind(subscriber, stream.slot, after: nil) == StreamGapMeasure())
        #expect(h.drain(subscriber) == [100, 101, 102])
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 102, timestamp: 11_520)) == StreamGapMeasure())
        #expect(h.rewind(subscriber, StreamSlot(7), after: nil) == StreamGapMeasure())
        // A mark from the future: nothing comes again, and no gap is told.
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 900, timestamp: 0)) == StreamGapMeasure())
        #expect(h.drain(subscriber) == [] && h.imbalance(subscriber) == 0)
        // All of it is too old: the gap goes up to the newest.
        h.advance(milliseconds: 201)
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 100, timestamp: 9_600)) == StreamGapMeasure(frames: 2, ticks: 1_920))
    }

    @Test("contract 5: video goes on where it is contiguous, else from a key frame, else it waits for one")
    func video() {
        let (h, stream, subscriber) = setUp(.video)
        stream.send(.key, ticks: 3_000)  // 100
        for _ in 0..<3 { stream.send(ticks: 3_000) }  // … 103
        _ = h.drain(subscriber)
        _ = h.keyFrameRequest()
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 101, timestamp: 12_600)) == StreamGapMeasure())
        #expect(h.drain(subscriber) == [102, 103])
        h.advance(milliseconds: 401)
        stream.send(ticks: 3_000)  // 104
        stream.send(.key, ticks: 3_000)  // 105
        stream.send(ticks: 3_000)  // 106
        _ = h.drain(subscriber)
        // 102 is too old, so 103 and 104 are of no use.
        let gap = h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 101, timestamp: 12_600))
        #expect(gap == StreamGapMeasure(frames: 3, ticks: 9_000))
        #expect(h.drain(subscriber) == [105, 106])
        h.advance(milliseconds: 401)
        stream.send(ticks: 3_000)  // 107
        let open = h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 105, timestamp: 24_600))
        #expect(open == StreamGapMeasure(frames: 2, ticks: 6_000, isOpen: true))
        #expect(h.drain(subscriber) == [])
        h.advance(milliseconds: 500)
        #expect(h.keyFrameRequest() == stream.slot)
        stream.send(.key)
        #expect(h.drain(subscriber) == [108] && h.imbalance(subscriber) == 0)
    }

    @Test("contract 5: the configuration is repeated, and what a late joiner is still owed goes on where it can be decoded")
    func configurationAndPrelude() {
        let h = Harness()
        let stream = Stream(h, 1, .video)
        stream.send(.configuration)
        stream.send(.key)
        for _ in 0..<3 { stream.send() }
        let subscriber = h.subscriber()
        h.subscribe(subscriber, stream.slot)
        let received = Received()
        _ = h.pull(subscriber, room: 260, into: received)
        h.dropBegun(subscriber)
        #expect(h.rewind(subscriber, stream.slot, after: ReceivedMark(sequence: 100, timestamp: 9_600)) == StreamGapMeasure())
        #expect(h.drain(subscriber) == [101, 102, 103])
        // The key frame was lost on the way: the rest of the group is of no use.
        let second = h.subscriber(3)
        h.subscribe(second, stream.slot)
        _ = h.pull(second, room: 260, into: received)
        _ = h.keyFrameRequest()
        #expect(h.rewind(second, stream.slot, after: nil).isOpen)
        stream.send()
        #expect(h.drain(second) == [])
        stream.send(.key)
        #expect(h.drain(second) == [100, 105], "configuration, then the key frame")
        for subscriber in [subscriber, second] { #expect(h.imbalance(subscriber) == 0) }
    }

    @Test("contract 5: what was begun on the lost connection is begun anew, and what had left the log is lost", arguments: [false, true])
    func begun(parts: Bool) {
        for lost in [false, true] {
            let h = Harness { $0.videoLogBytesMax = 128 << 10 }
            let slot = h.stream(1, .video)
            let subscriber = h.subscriber(wishes: EgressWishes(parts: parts))
            h.subscribe(subscriber, slot)
            h.publish(slot, bytes: 60_000, .key)
            _ = h.pull(subscriber, room: 2_000, into: Received())
            if lost { for _ in 0..<20 { h.publish(slot, bytes: 20_000, .key) } }
            h.dropBegun(subscriber)
            #expect(h.imbalance(subscriber) == 0 && !h.isMidMessage(subscriber))
            _ = h.rewind(subscriber, slot, after: nil)
            let numbers = h.drain(subscriber)
            #expect(lost ? numbers.first ?? 0 > 1 : numbers == [1])
            #expect(h.imbalance(subscriber) == 0 && h.pending(subscriber) == 0)
        }
    }

    @Test(
        "contract 4: what everybody has been served stays until its deadline, within the bound, and costs nobody a frame",
        arguments: [0, 4_000, 256 << 10])
    func retention(bytesMax: Int) {
        let h = Harness { limits in
            limits.replayBytesMax = bytesMax
            limits.audioLogBytesMax = 32 << 10
        }
        let slot = h.stream(1, .audio)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot)
        var received: [UInt32] = []
        for _ in 0..<400 {
            h.publish(slot, bytes: 200)
            received += h.drain(subscriber)
            h.advance(milliseconds: 2)
            if h.nextNumber.isMultiple(of: 50) { h.fanout.tidy(now: h.now) }
        }
        #expect(received == Array(1...400))
        h.fanout.tidy(now: h.now)
        // 100 frames of 204 bytes in 200 ms; a quarter of the log at most.
        #expect(h.retained(.audio) <= min(bytesMax, 8 << 10))
        #expect(bytesMax == 0 || h.retained(.audio) > min(bytesMax, 8 << 10) - 205)
        h.advance(milliseconds: 201)
        h.fanout.tidy(now: h.now)
        #expect(h.retained(.audio) == 0)
        for _ in 0..<10 { h.fanout.tidy(now: h.now) }
        #expect(h.capacity(.audio) == 0)
    }

    @Test("a slot that is used again keeps nothing of the stream before")
    func reusedSlot() {
        let (h, stream, subscriber) = setUp(.audio)
        stream.send()
        _ = h.drain(subscriber)
        h.fanout.endStream(stream.slot)
        h.fanout.tidy(now: h.now)
        let next = Stream(h, 2, .audio, sequence: 50)
        #expect(next.slot == stream.slot)
        h.subscribe(subscriber, next.slot)
        next.send()
        _ = h.drain(subscriber)
        _ = h.rewind(subscriber, next.slot, after: nil)
        #expect(h.drain(subscriber) == [50] && h.imbalance(subscriber) == 0)
    }
}
