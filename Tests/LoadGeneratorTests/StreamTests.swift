import LoadReport
import MediaProtocol
import Signalling
import Testing

@testable import LoadGenerator

@Suite("Streams that are published")
struct PublishedStreamTests {
    private static func video(layers: Int, keySeconds: Double? = nil) -> PublishedStream {
        let plans = (1...layers).map { LayerPlan(bytes: 100 * $0, keyBytes: 1_000 * $0) }
        return PublishedStream(
            StreamPlan(kind: .video, framesPerSecond: 25, layers: plans, keySeconds: keySeconds, turns: nil), stream: 7, start: 1_000)
    }

    @Test("video begins with a key frame in each layer; a layer that comes anew does as well")
    func keys() {
        var stream = Self.video(layers: 3)
        func next() -> [(isKey: Bool, bytes: Int)?] {
            defer { stream.advance() }
            return (0..<3).map { layer in
                guard stream.isWanted(layer) else { return nil }
                let frame = stream.frame(layer)
                stream.sent(layer)
                return (frame.header.flags.contains(.key), frame.bytes)
            }
        }
        #expect(next().map { $0?.bytes } == [1_000, 2_000, 3_000])
        #expect(next().map { $0?.isKey } == [false, false, false])
        stream.activate([0, 1])
        #expect(next().map { $0?.isKey } == [false, false, nil])
        stream.activate([0, 2])
        #expect(next().map { $0?.isKey } == [false, nil, true])
        stream.requestKey(0)
        #expect(next().map { $0?.isKey } == [true, nil, false])
        stream.requestKey(nil)
        #expect(next().map { $0?.isKey } == [true, nil, true])
    }

    @Test("a key frame that could not be sent is still owed")
    func owed() {
        var stream = Self.video(layers: 1)
        stream.advance()
        #expect(stream.frame(0).header.flags == .key)
        stream.sent(0)
        #expect(stream.frame(0).header.flags == [])
    }

    @Test("§4.1 each layer has sequence numbers of its own without gaps; times of all are the same")
    func sequences() {
        var stream = Self.video(layers: 2)
        stream.sent(0)
        stream.sent(1)
        stream.advance()
        stream.sent(0)
        stream.advance()
        #expect(stream.frame(0).header.sequence == 2)
        #expect(stream.frame(1).header.sequence == 1)
        #expect(stream.frame(0).header.timestamp == 7_200)
        #expect(stream.frame(1).header.timestamp == 7_200)
        #expect(stream.number == 2)
        #expect(stream.nextDue == 1_000 + 80_000_000)
    }

    @Test("key frames come as often as is said")
    func interval() {
        var stream = Self.video(layers: 1, keySeconds: 1)
        var keys: [Int] = []
        for number in 0..<60 {
            if stream.frame(0).header.flags.contains(.key) { keys.append(number) }
            stream.sent(0)
            stream.advance()
        }
        #expect(keys.first == 0)
        #expect(keys.count >= 3)
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $1 - $0 <= 26 })
    }

    @Test("silence moves the time on by whole frames, and counts none")
    func silence() {
        var stream = PublishedStream(
            StreamPlan(kind: .audio, framesPerSecond: 50, layers: [LayerPlan(bytes: 160, keyBytes: 160)], keySeconds: nil, turns: nil), stream: 1,
            start: 0)
        stream.advance()
        stream.skip(to: 1_010_000_000)
        #expect(stream.nextDue == 1_020_000_000)
        #expect(stream.number == 1)
        #expect(stream.frame(0).header.timestamp == 51 * 960)
        stream.skip(to: 5)
        #expect(stream.nextDue == 1_020_000_000)
    }
}

@Suite("Streams that are received")
struct ReceivedStreamTests {
    private static func take(_ stream: inout ReceivedStream, _ number: UInt32, due: UInt64? = nil, since: UInt64 = 0, isLast: Bool = false)
        -> ReceivedStream.Arrival
    {
        let due = due ?? UInt64(number) * 20
        return stream.take(FrameStamp(dueNanoseconds: due, number: number, isLast: isLast), due: due, since: since, transitMicroseconds: 500)
    }

    @Test("frames in order are counted, and none is missing")
    func inOrder() {
        var stream = ReceivedStream()
        for number in UInt32(5)..<50 {
            let arrival = Self.take(&stream, number)
            #expect(arrival.isCounted && arrival.missing == 0)
        }
        #expect(stream.next == 50)
    }

    @Test("what lies between two frames is missing, with the time in which it was due; numbers wrap")
    func gaps() {
        var stream = ReceivedStream()
        _ = Self.take(&stream, .max - 1, due: 100)
        let arrival = Self.take(&stream, 2, due: 180)
        #expect(arrival == ReceivedStream.Arrival(isCounted: true, missing: 3, missingSince: 100))
    }

    @Test("the same picture in another layer, or a frame that is sent again, counts once")
    func repeated() {
        var stream = ReceivedStream()
        _ = Self.take(&stream, 1)
        _ = Self.take(&stream, 2)
        #expect(!Self.take(&stream, 2).isCounted)
        #expect(!Self.take(&stream, 1).isCounted)
        #expect(Self.take(&stream, 3).missing == 0)
    }

    @Test("what was due before a client came is from a cache: neither late nor missing")
    func backlog() {
        var stream = ReceivedStream()
        #expect(!Self.take(&stream, 10, due: 200, since: 1_000).isCounted)
        #expect(!Self.take(&stream, 11, due: 220, since: 1_000).isCounted)
        let first = Self.take(&stream, 60, due: 1_200, since: 1_000)
        #expect(first.isCounted && first.missing == 0)
        #expect(Self.take(&stream, 62, due: 1_240, since: 1_000).missing == 1)
    }

    @Test("the end tells how many there were, and is no frame")
    func end() {
        var stream = ReceivedStream()
        _ = Self.take(&stream, 0)
        let last = Self.take(&stream, 4, due: 100, isLast: true)
        #expect(last.missing == 3 && !last.isCounted)
        #expect(stream.hasEnded)
        #expect(Self.take(&stream, 4, due: 100, isLast: true).missing == 0)
    }

    @Test("who did not hear it for a while misses nothing of that while")
    func restart() {
        var stream = ReceivedStream()
        _ = Self.take(&stream, 0)
        stream.restart()
        #expect(!stream.hasBegun)
        let again = Self.take(&stream, 90, since: 1_700)
        #expect(again.isCounted && again.missing == 0)
    }
}

@Suite("What clients still wait for at the end")
struct OpenAccountTests {
    @Test("what was published is marked some times a second, from its first frame on")
    func marks() {
        var published = PublishedTotal(seat: 1)
        for number in UInt32(0)..<100 { published.wasDue(at: 1_000_000_000 + UInt64(number) * 20_000_000, number: number) }
        published.total = 100
        let stream = RunPart.Stream(StreamKey(room: 2, stream: 7), published, epoch: 500)
        #expect(stream.room == 2 && stream.stream == 7 && stream.seat == 1 && stream.total == 100)
        #expect(stream.lastDue == 500 + 1_000 + 99 * 20)
        #expect(stream.marks.map(\.number) == [0, 13, 26, 39, 52, 65, 78, 91])
        #expect(stream.marks.first?.time == 1_500)
    }

    @Test("a client waits for the frame behind the last that came, for nothing of a stream that has ended, and from when it heard and was measured")
    func listener() {
        var heard = ReceivedStream()
        _ = heard.take(FrameStamp(dueNanoseconds: 5, number: 96), due: 5, since: 0, transitMicroseconds: 1)
        var ended = heard
        _ = ended.take(FrameStamp(dueNanoseconds: 6, number: 97, isLast: true), due: 6, since: 0, transitMicroseconds: 1)
        func listener(since: UInt64?) -> RunPart.Listener {
            let client = ClientResult(
                seat: 3, room: 0, due: 10, delivered: 9, latency: nil, hearsSince: since, streams: [nil, heard, ended, ReceivedStream()])
            return RunPart.Listener(client, 2_000_000..<9_000_000, epoch: 100)
        }
        #expect(listener(since: 0).waitsFor == [1: 97, 2: nil])
        #expect(listener(since: 0).since == 102 && listener(since: 3_000_000).since == 103 && listener(since: nil).since == nil)
        #expect(listener(since: 0).until == 109)
    }
}
