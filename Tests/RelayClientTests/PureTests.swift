import MediaProtocol
import RelayBase
import RelayClient
import Signalling
import Testing

@Suite("Pacing and accounting, without a clock or a socket")
struct PureTests {
    private static let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    @Test(
        "packets are due by their decode time on one absolute timeline",
        arguments: [
            (Int64(-6_500_000), 1.0, UInt64(0)), (0, 1.0, 6_500_000), (20_000_000, 1.0, 26_500_000), (20_000_000, 2.0, 13_250_000),
            (20_000_000, 0.5, 53_000_000), (-99_000_000, 1.0, 0), (.min, 1.0, 0), (3_600_000_000_000, 1.0, 3_600_006_500_000),
        ])
    func due(decode: Int64, rate: Double, delay: UInt64) {
        let schedule = PublishSchedule(start: Self.start, originNanoseconds: -6_500_000, rate: rate)
        #expect(schedule.due(decodeNanoseconds: decode) == Self.start.advanced(byNanoseconds: delay))
    }

    @Test("times beyond reach are never due instead of trapping")
    func extremes() {
        let schedule = PublishSchedule(start: Self.start, originNanoseconds: .min, rate: 0.001)
        #expect(schedule.due(decodeNanoseconds: .max) == .distantFuture)
        #expect(PublishSchedule(start: Self.start, originNanoseconds: 0, rate: 1e-9).due(decodeNanoseconds: .max) == .distantFuture)
    }

    @Test("lateness is counted from the packet's own time, so one delay does not move the packets after it")
    func lateness() {
        let schedule = PublishSchedule(start: Self.start, originNanoseconds: 0)
        let late = Self.start.advanced(byMilliseconds: 50)
        #expect(schedule.lateness(decodeNanoseconds: 20_000_000, now: late) == 30_000_000)
        #expect(schedule.lateness(decodeNanoseconds: 60_000_000, now: late) == 0)
        #expect(schedule.due(decodeNanoseconds: 60_000_000) == Self.start.advanced(byMilliseconds: 60))
    }

    struct Sequence: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let numbers: [UInt32]
        let missing: UInt64
        let gaps: UInt64
        let reordered: UInt64
    }

    @Test(
        "RFC 1982: holes and steps back in sequence numbers are counted over the wrap",
        arguments: [
            Sequence(testDescription: "in order", numbers: [0, 1, 2, 3], missing: 0, gaps: 0, reordered: 0),
            Sequence(testDescription: "a hole of two", numbers: [5, 6, 9], missing: 2, gaps: 1, reordered: 0),
            Sequence(testDescription: "over the wrap", numbers: [.max - 1, .max, 0, 1], missing: 0, gaps: 0, reordered: 0),
            Sequence(testDescription: "a hole at the wrap", numbers: [.max, 2], missing: 2, gaps: 1, reordered: 0),
            Sequence(testDescription: "twice and backwards", numbers: [7, 7, 6, 8], missing: 0, gaps: 0, reordered: 2),
            Sequence(testDescription: "half way round", numbers: [0, 1 << 31], missing: 0, gaps: 0, reordered: 1),
        ])
    func sequences(_ sequence: Sequence) {
        var account = SequenceAccount()
        for number in sequence.numbers { account.take(sequence: number, byteCount: 10) }
        #expect(account.frames == UInt64(sequence.numbers.count))
        #expect(account.bytes == UInt64(sequence.numbers.count * 10))
        #expect(account.missing == sequence.missing)
        #expect(account.gaps == sequence.gaps)
        #expect(account.reordered == sequence.reordered)
    }

    private static func info(_ kind: StreamKind, _ codec: String, _ adjust: (inout Signalling.StreamDescription) -> Void = { _ in })
        -> RelayMessage.StreamInfo
    {
        var description = Signalling.StreamDescription()
        adjust(&description)
        return .init(stream: 1, participant: 2, kind: kind, codec: codec, description: description, source: nil)
    }

    @Test("a stream's description from another client is held to what can be, never trusted")
    func descriptions() {
        let audio = Self.info(.audio, "opus") {
            $0.sampleRate = 16_000
            $0.channels = 2
            $0.frameMilliseconds = 20
        }
        #expect(MediaProtocol.StreamDescription(of: audio) == .audio(.init(codec: .opus, sampleRate: 16_000, channels: 2, frameMicroseconds: 20_000)))
        let absurd = Self.info(.audio, "opus") {
            $0.sampleRate = .infinity
            $0.channels = .min
            $0.frameMilliseconds = .nan
        }
        #expect(MediaProtocol.StreamDescription(of: absurd) == .audio(.init(codec: .opus, sampleRate: 48_000, channels: 1)))
        let video = Self.info(.video, "vp8") {
            $0.width = .max
            $0.height = -5
            $0.frameRate = 1e300
        }
        #expect(MediaProtocol.StreamDescription(of: video) == .video(.init(codec: .vp8, codecString: "vp8", width: 640, height: 360)))
        #expect(MediaProtocol.StreamDescription(of: Self.info(.audio, "vp8")) == nil)
        #expect(MediaProtocol.StreamDescription(of: Self.info(.video, "mpeg1")) == nil)
        #expect(MediaProtocol.StreamDescription(of: Self.info(.data, "anything")) == .data)
    }
}
