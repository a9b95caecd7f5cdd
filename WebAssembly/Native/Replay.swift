import Glibc
import RelayBase

// Plays a trace through the jitter buffer as it is compiled for this machine, and prints what replay.mjs prints of the WebAssembly module: README.md has both formats.

@main
enum Replay {
    static func main() {
        guard CommandLine.arguments.count == 2, let text = contents(of: CommandLine.arguments[1]) else {
            print("Usage: replay TRACE")
            exit(64)
        }
        guard var player = Player(text) else {
            print("replay: no trace")
            exit(65)
        }
        player.play()
        print(player.output, terminator: "")
    }

    private static func contents(of path: String) -> [UInt8]? {
        guard let file = unsafe fopen(path, "r") else { return nil }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe fread(&piece, 1, piece.count, file)
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }
}

struct Player: ~Copyable {
    private var buffer: AudioJitterBuffer<RawSampleDecoder>
    private let lines: [ArraySlice<UInt8>]
    private var samples: [Float]
    private(set) var output = ""

    init?(_ text: [UInt8]) {
        lines = text.split(separator: 10)
        guard let head = lines.first.map(Self.fields), head.count == 7, String(decoding: head[0], as: UTF8.self) == "jitter-replay" else {
            return nil
        }
        let numbers = head.dropFirst(2).map(Self.number)
        var configuration = JitterConfiguration()
        configuration.sampleRate = numbers[0]
        configuration.channels = numbers[1]
        configuration.timescale = numbers[2]
        guard let profile = JitterProfile(rawValue: UInt8(clamping: numbers[3])),
            let format = RawSampleDecoder.Format(rawValue: Int32(clamping: numbers[4]))
        else { return nil }
        configuration.profile = profile
        configuration.bytesMax = numbers[0] * numbers[1] * 5 * (format == .int16 ? 2 : 4)
        samples = Array(repeating: 0, count: numbers[0] / 100 * numbers[1])
        buffer = AudioJitterBuffer(configuration, decoder: RawSampleDecoder(sampleRate: numbers[0], channels: numbers[1], format: format))
    }

    mutating func play() {
        for line in lines.dropFirst() {
            let fields = Self.fields(line)
            let numbers = fields.dropFirst().prefix(5).map(Self.number)
            switch line.first.map({ Character(Unicode.Scalar($0)) }) {
            case "i": insert(numbers, payload: fields[5])
            case "p": pull(at: numbers[0])
            case "c": configure(numbers)
            case "f": buffer.flush()
            case "r": buffer.reset()
            default: break
            }
        }
        finish()
    }

    private mutating func insert(_ numbers: [Int], payload: ArraySlice<UInt8>) {
        let flags = numbers[3]
        let packet = JitterPacket(
            sequence: UInt32(truncatingIfNeeded: numbers[1]), timestamp: UInt32(truncatingIfNeeded: numbers[2]), isDiscontinuity: flags & 4 != 0,
            isSilence: flags & 8 != 0)
        let bytes = Self.bytes(payload)
        let outcome = unsafe buffer.insert(packet, payload: bytes.span.bytes, now: Self.instant(numbers[0]))
        let code =
            switch outcome {
            case .stored: 0
            case .duplicate: 1
            case .late: 2
            case .malformed: 3
            case .storedFlushingOldest: 4
            }
        output += "i \(code)\n"
    }

    private mutating func pull(at microseconds: Int) {
        let outcome = Self.pull(from: &buffer, into: &samples, now: Self.instant(microseconds))
        var (first, second): (UInt32, UInt32) = (0x811C_9DC5, 0x0193_5AA3)
        for sample in samples {
            first = (first ^ sample.bitPattern) &* 0x0100_0193
            second = ((second << 5 | second >> 27) &+ sample.bitPattern) &* 0x85EB_CA6B
        }
        output += "p \(outcome.decision.rawValue) \(outcome.isAudible ? 1 : 0) \(outcome.mediaTimestamp) \(first) \(second)\n"
    }

    private static func pull(
        from buffer: inout AudioJitterBuffer<RawSampleDecoder>, into samples: inout [Float], now: MonotonicInstant
    ) -> PlayoutOutcome {
        var span = samples.mutableSpan
        return buffer.pull(into: &span, now: now)
    }

    private mutating func configure(_ numbers: [Int]) {
        var configuration = buffer.configuration
        configuration.profile = JitterProfile(rawValue: UInt8(clamping: numbers[0])) ?? configuration.profile
        configuration.delayMillisecondsMin = max(numbers[1], 0)
        configuration.delayMillisecondsMax = max(numbers[2], 0)
        configuration.pinnedDelayMilliseconds = numbers[3] < 0 ? nil : numbers[3]
        configuration.isMeasurement = numbers[4] != 0
        buffer.configure(configuration)
    }

    private mutating func finish() {
        let statistics = buffer.statistics
        let counts: [UInt64] = [
            statistics.packetsInserted, statistics.duplicates, statistics.late, statistics.malformed, statistics.discarded, statistics.recovered,
            statistics.samplesPlayed, statistics.concealedSamples, statistics.silentConcealedSamples, statistics.concealmentEvents,
            statistics.interruptions, statistics.interruptionMilliseconds, statistics.removedByAccelerate, statistics.insertedByExpand,
            UInt64(statistics.targetMilliseconds), UInt64(statistics.levelMilliseconds), Double(statistics.driftPartsPerMillion).bitPattern,
            statistics.delaySampleMilliseconds,
        ]
        output += "s " + counts.map { "\($0)" }.joined(separator: " ") + "\n"
    }

    private static func instant(_ microseconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64(max(microseconds, 0)) * 1_000)
    }

    private static func fields(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        line.split(separator: 32, omittingEmptySubsequences: false)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int {
        Int(String(decoding: field, as: UTF8.self)) ?? 0
    }

    private static func bytes(_ hexadecimal: ArraySlice<UInt8>) -> [UInt8] {
        let digits = hexadecimal.map { $0 < 58 ? $0 - 48 : $0 - 87 }
        return (0..<digits.count / 2).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
    }
}
