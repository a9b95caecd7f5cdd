import RelayBase
import Testing

@testable import RelayRooms

/// Random publishing, pulling, waiting and losing of connections, with a plain model of what a client may and may not see.
@Suite("Egress: properties")
struct EgressPropertyTests {
    private struct Published {
        var arrival: MonotonicInstant
        var traits: FrameTraits
    }

    /// One stream as its publisher knows it. Frames are numbered from 1.
    private struct Source {
        var slot: StreamSlot
        var lane: Lane
        var frames: [Published] = []

        /// Whether a client that has all of `had`, and the frame `number` now, can decode that.
        func decodes(_ number: Int, having had: Set<Int>) -> Bool {
            let traits = frames[number - 1].traits
            guard lane == .video, !traits.contains(.key) else { return true }
            for earlier in stride(from: number - 1, to: 0, by: -1) {
                let reference = frames[earlier - 1].traits
                guard !reference.contains(.discardable) else { continue }
                // A base frame refers to the base frame before it; any other to all up to its layer since that.
                if traits.contains(.enhancement) ? reference.temporalLayer <= traits.temporalLayer : reference.isBase {
                    guard had.contains(earlier) else { return false }
                }
                if reference.isBase { return true }
            }
            return false
        }
    }

    private final class Client {
        var handle: Handle
        var received = Received()
        var counted = 0
        var had: [[Int]]

        init(_ handle: Handle, streams: Int) {
            self.handle = handle
            had = Array(repeating: [], count: streams)
        }
    }

    private struct World {
        let h: Harness
        var sources: [Source] = []
        var clients: [Client] = []
        var random: SeededGenerator
        let isStrict: Bool

        init(seed: UInt64, isStrict: Bool) {
            self.isStrict = isStrict
            random = SeededGenerator(seed: seed)
            h = Harness { limits in
                limits.audioLogBytesMax = 16 << 10
                limits.videoLogBytesMax = 48 << 10
                limits.replayBytesMax = 12 << 10
                limits.dataDeadlineMilliseconds = 1_000
            }
            for (place, lane) in [Lane.audio, .video, .data, .video].enumerated() {
                sources.append(Source(slot: h.stream(UInt32(place + 1), lane), lane: lane))
            }
            for number in 0..<4 {
                let wishes = EgressWishes(parts: number % 2 == 1, bundles: number >= 2)
                let client = Client(h.subscriber(UInt32(10 + number), wishes: wishes), streams: sources.count)
                for source in sources { h.subscribe(client.handle, source.slot) }
                clients.append(client)
            }
        }

        mutating func publish() {
            let place = Int.random(in: 0..<sources.count, using: &random)
            var traits: FrameTraits = []
            var size = Int.random(in: 20...400, using: &random)
            if sources[place].lane == .video {
                switch Int.random(in: 0..<12, using: &random) {
                case 0: traits = .key
                case 1..<6: break
                case 6..<9: traits = FrameTraits(layer: 1).union(.enhancement)
                default: traits = FrameTraits(layer: 2).union(.enhancement).union(Bool.random(using: &random) ? .discardable : [])
                }
                size = traits.contains(.key) ? Int.random(in: 500...6_000, using: &random) : Int.random(in: 50...900, using: &random)
            }
            sources[place].frames.append(Published(arrival: h.now, traits: traits))
            let number = UInt32(sources[place].frames.count)
            h.append(
                TestFrame(stream: UInt32(place + 1), number: number, byteCount: size, traits: traits, timestamp: number &* 960), sources[place].slot)
        }

        mutating func pull(_ client: Client, room: Int, upTo lane: Lane = .data) -> Int {
            let isMidMessage = h.isMidMessage(client.handle)
            let begun = Set(client.received.parts.keys)
            let count = h.pull(client.handle, room: room, upTo: lane, into: client.received)
            #expect(count <= room)
            #expect(client.received.cut())
            for (place, frame) in client.received.frames[client.counted...].enumerated() {
                let stream = Int(frame.stream) - 1
                let number = Int(frame.number)
                if number <= client.had[stream].last ?? 0 { Issue.record("stream \(stream): \(number) after \(client.had[stream].last ?? 0)") }
                if !sources[stream].decodes(number, having: Set(client.had[stream].suffix(30))) {
                    Issue.record("stream \(stream): \(number) does not decode")
                }
                client.had[stream].append(number)
                let isBegun = begun.contains(frame.stream) || (isMidMessage && place == 0)
                let age = h.now.milliseconds(since: sources[stream].frames[number - 1].arrival)
                let deadline: UInt64 = [200, 400, 1_000][sources[stream].lane.rawValue]
                let grace: UInt64 = isStrict || sources[stream].lane != .video ? 0 : 2_000
                if age > deadline + grace, !isBegun { Issue.record("stream \(stream): \(number) is \(age) ms old") }
            }
            client.counted = client.received.frames.count
            return count
        }

        /// The connection goes, and with it the last bytes that were pulled: the client has fewer frames than the relay thinks.
        mutating func lose(_ client: Client) {
            h.dropBegun(client.handle)
            client.received.bytes = []
            client.received.parts = [:]
            // What is lost comes again, so the newest frames of each stream are taken back.
            for stream in sources.indices {
                client.had[stream].removeLast(min(client.had[stream].count, Int.random(in: 0...4, using: &random)))
            }
            var gaps: [StreamGapMeasure] = []
            for stream in sources.indices {
                let mark = client.had[stream].last.map { ReceivedMark(sequence: UInt32($0), timestamp: UInt32($0) * 960) }
                gaps.append(h.rewind(client.handle, sources[stream].slot, after: mark))
            }
            #expect(h.imbalance(client.handle) == 0)
            let marks = client.had.map { $0.last }
            let counts = client.had.map(\.count)
            while pull(client, room: 16_000) > 0 {}
            for stream in sources.indices {
                guard let mark = marks[stream] else { continue }
                let frames = Int(gaps[stream].frames)
                if client.had[stream].count > counts[stream] {
                    #expect(client.had[stream][counts[stream]] == mark + frames + 1, "the gap is exact")
                    #expect(!gaps[stream].isOpen)
                } else {
                    #expect(mark + frames == sources[stream].frames.count, "all that was published is in the gap")
                }
                #expect(frames == 0 ? gaps[stream].ticks == 0 : gaps[stream].ticks == UInt32(frames) * 960)
            }
        }

        mutating func step() {
            guard let client = clients.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50: publish()
            case 50..<85:
                let rooms = isStrict ? [12_000, 16_000] : [40, 700, 1_200, 5_000]
                let lane = Lane.allCases.randomElement(using: &random) ?? .data
                let isDue = h.isMidMessage(client.handle) || (h.mostUrgent(client.handle).map { $0.rawValue <= lane.rawValue } ?? false)
                let count = pull(client, room: rooms.randomElement(using: &random) ?? 1_200, upTo: lane)
                #expect(isDue || count == 0, "what is pulled was pending")
            case 85..<96: h.advance(milliseconds: UInt64.random(in: 0...60, using: &random))
            case 96, 97: h.fanout.tidy(now: h.now)
            case 98 where Int.random(in: 0..<4, using: &random) == 0: h.advance(milliseconds: UInt64.random(in: 300...3_000, using: &random))
            case 99: lose(client)
            default: break
            }
        }
    }

    @Test(
        "any run: a stream's frames in order and at most once, decodable, none past its deadline unless begun; accounts are exact, gaps too",
        arguments: 0..<9 as Range<UInt64>)
    func holds(seed: UInt64) {
        var world = World(seed: seed, isStrict: seed % 3 == 0)
        for _ in 0..<600 {
            world.step()
            #expect(world.clients.allSatisfy { world.h.imbalance($0.handle) == 0 })
        }
        for client in world.clients {
            while world.pull(client, room: 16_000) > 0 {}
            #expect(world.h.pending(client.handle) == 0)
        }
        #expect(world.clients.allSatisfy { $0.had.joined().count > 20 }, "the run did nothing")
        world.h.removeAll(world.clients.map(\.handle))
        for source in world.sources { world.h.fanout.endStream(source.slot) }
        #expect(world.h.budgetUsed == 0)
        let total = world.h.total()
        #expect(total.entered == total.delivered &+ total.dropped)
    }
}
