import AudioSession
import JitterBuffer
import MediaProtocol
import RelayBase
import RelayRooms
import Signalling
import Testing

@testable import RelayServer

@Suite("Sound that the relay works on: frames, timescales, budgets, records")
struct FrameDurationTests {
    @Test(
        "RFC 6716 §3.1 and §3.2: a packet's first bytes say how long it plays",
        arguments: [
            // Configurations 0, 3: SILK of 10 and 60 ms; 12, 15: hybrid of 10 and 20; 16, 19, 28, 31: CELT of 2.5 and 20.
            (0 << 3, nil, 480), (3 << 3, nil, 2_880), (12 << 3, nil, 480), (15 << 3, nil, 960), (16 << 3, nil, 120), (19 << 3, nil, 960),
            (28 << 3, nil, 120), (31 << 3, nil, 960),
            // Two frames; then as many as the second byte says.
            (31 << 3 | 1, nil, 1_920), (31 << 3 | 2, nil, 1_920), (31 << 3 | 3, 6, 5_760), (16 << 3 | 3, 48, 5_760), (3 << 3 | 3, 2, 5_760),
            // 120 ms is the most; no frames are none; a second byte that is not there.
            (31 << 3 | 3, 7, nil), (31 << 3 | 3, 0, nil), (31 << 3 | 3, nil, nil), (31 << 3 | 3, 0xC6, 5_760),
        ] as [(UInt8, UInt8?, UInt32?)])
    func opus(toc: UInt8, second: UInt8?, expected: UInt32?) {
        #expect(FrameDuration.opusTicks(toc: toc, second: second, ticksPerSecond: 48_000) == expected)
    }

    private static func info(_ codec: String, _ change: (inout Signalling.StreamDescription) -> Void = { _ in }) -> RelayMessage.StreamInfo {
        var description = Signalling.StreamDescription()
        change(&description)
        return RelayMessage.StreamInfo(stream: 1, participant: 2, kind: .audio, codec: codec, description: description, source: nil)
    }

    private static func ticks(_ info: RelayMessage.StreamInfo, payload: [UInt8], flags: MediaFlags = []) -> UInt32 {
        let header = MediaHeader(kind: .audio, flags: flags, stream: StreamID(1), sequence: 0, timestamp: 0)
        var frame = [UInt8](repeating: 0, count: 16) + payload
        unsafe frame.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        return unsafe frame.withUnsafeBytes { unsafe FrameDuration(info).ticks(of: RawSpan(_unsafeBytes: $0), header, payload: 16) }
    }

    @Test("samples last as long as they are many; what cannot be seen is as the publisher has said, or not known")
    func others() {
        #expect(Self.ticks(Self.info("pcmu"), payload: .init(repeating: 0, count: 160)) == 960)
        #expect(Self.ticks(Self.info("pcm_s16") { $0.channels = 2 }, payload: .init(repeating: 0, count: 1_920)) == 480)
        #expect(Self.ticks(Self.info("pcma") { $0.timescale = 8_000 }, payload: .init(repeating: 0, count: 160)) == 160)
        #expect(Self.ticks(Self.info("aac"), payload: [1, 2, 3]) == 0)
        #expect(Self.ticks(Self.info("opus") { $0.frameMilliseconds = 20 }, payload: [0xFF], flags: .encrypted) == 960)
        #expect(Self.ticks(Self.info("opus"), payload: []) == 0)
        #expect(Self.ticks(Self.info("opus"), payload: [31 << 3, 1]) == 960)
    }

    @Test("timestamps of other timescales go on through their wraps, forwards and backwards", arguments: [8_000, 16_000, 90_000, 44_100, 1])
    func timescales(timescale: Int) {
        var map = TimescaleMap(timescale: timescale)
        #expect(map.isOther)
        let start = UInt32.max - UInt32(timescale) / 2
        let first = map.ticks(of: start)
        #expect(map.ticks(of: start &+ UInt32(timescale)) &- first == 48_000)
        #expect(map.ticks(of: start) == first)
        #expect(map.ticks(awaiting: start &+ UInt32(timescale)) &- first == 48_000)
        #expect(map.ticks(of: start) == first, "what is awaited changes nothing")
        #expect(!TimescaleMap(timescale: 48_000).isOther)
    }

    @Test("a timescale's map holds against whatever timestamps a publisher thinks of")
    func wildTimestamps() {
        var map = TimescaleMap(timescale: 3)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<10_000 { _ = map.ticks(of: UInt32.random(in: .min ... .max, using: &generator)) }
    }

    @Test("a burst behind a stall passes, a flood does not, and whoever flooded is taken again")
    func budget() {
        var now = MonotonicInstant(nanoseconds: 5_000_000_000)
        var budget = FrameBudget(now: now)
        let burst = (0..<3_000).count { _ in budget.take(now: now) }
        #expect(burst == Int(FrameBudget.burst))
        now = now.advanced(byMilliseconds: 1_000)
        let second = (0..<3_000).count { _ in budget.take(now: now) }
        #expect((Int(FrameBudget.perSecond)...Int(FrameBudget.burst)).contains(second))
        #expect((0..<100).count { _ in budget.take(now: now) } == 0)
    }

    @Test("a record of the mix is told from a stream's, and says what was written", arguments: [(0, 1), (1, 2), (254, 1)])
    func records(place: Int, channels: Int) {
        let room = Handle(index: 3, generation: 9)
        for (slot, isMove) in [
            (MixRecord.slot(frameOf: place, channels: channels), false), (MixRecord.slot(moveTo: place, channels: channels), true),
        ] {
            var bytes = [UInt8](repeating: 0, count: RingRecord.headerBytes)
            unsafe bytes.withUnsafeMutableBytes {
                unsafe RingRecord(room: room, slot: slot, traits: FrameTraits(rawValue: 0), group: GroupStamp(bits: 0)).write(into: $0)
            }
            unsafe bytes.withUnsafeBytes { bytes in
                #expect(unsafe MixRecord.isOne(bytes))
                let read = unsafe MixRecord(reading: bytes)
                #expect(read.room == room && read.place == place && read.channels == channels && read.isMove == isMove)
            }
        }
        var plain = [UInt8](repeating: 0, count: RingRecord.headerBytes)
        unsafe plain.withUnsafeMutableBytes {
            unsafe RingRecord(room: room, slot: StreamSlot(RoomFanout.streamsMax - 1), traits: FrameTraits(rawValue: 0), group: GroupStamp(bits: 0))
                .write(into: $0)
        }
        #expect(unsafe plain.withUnsafeBytes { unsafe !MixRecord.isOne($0) })
    }

    @Test(
        "a pinned delay is that to what is heard: the output's latency is taken off, in steps of 10 ms",
        arguments: [(0.0, 120), (0.004, 120), (0.006, 110), (0.1, 20), (0.118, 0), (10, 0)])
    func pinned(latency: Double, milliseconds: Int) {
        var request = ClientRequest.Subscribe(streams: [1], all: nil, delivery: .paced)
        #expect(PacedWish(request).variant(in: nil, outputLatency: latency).pinnedMilliseconds == nil)
        request.delay = 120
        #expect(PacedWish(request).variant(in: nil, outputLatency: latency).pinnedMilliseconds == milliseconds)
    }

    @Test("what a client does not say of its buffer, the mode of its audio session says")
    func profiles() {
        var request = ClientRequest.Subscribe(streams: [1], all: nil, delivery: .paced)
        #expect(PacedWish(request).variant(in: nil).profile == .balanced)
        #expect(PacedWish(request).variant(in: .voiceChat).profile == .lowLatency)
        #expect(PacedWish(request).variant(in: .videoChat).profile == .lowLatency)
        #expect(PacedWish(request).variant(in: .moviePlayback).profile == .smooth)
        request.profile = .smooth
        #expect(PacedWish(request).variant(in: .voiceChat).profile == .smooth)
        #expect(PacedWish(request).variant(in: .voiceChat).conceals == false)
    }

    @Test("RFC 7845 §5.1: the mix's configuration is an identification header", arguments: [1, 2])
    func opusHead(channels: Int) {
        let head = OpusHead.encoded(channels: UInt8(channels), inputRate: UInt32(MixMembership.sampleRate))
        #expect(head.count == 19 && Array(head[..<8]) == Array("OpusHead".utf8) && head[8] == 1 && Int(head[9]) == channels)
        #expect(Int(head[10]) | Int(head[11]) << 8 == 312)
        #expect(head[12...15].reversed().reduce(0) { $0 << 8 | Int($1) } == 48_000)
        #expect(head[16...].allSatisfy { $0 == 0 })
    }
}
