import AudioEngine
import BenchmarkSupport
import JitterBuffer
import MediaProtocol
import RelayBase

/// What a jitter buffer costs: for each packet that is inserted, and for each 10 ms that are pulled, by what was decided.
enum BufferBenchmark {
    /// Seconds of sound.
    private static let seconds = 60

    private struct Costs {
        var count = 0
        var nanoseconds: UInt64 = 0

        var mean: String { count == 0 ? "–" : Text.fixed(Double(nanoseconds) / Double(count), 0) }
    }

    static func run() throws {
        var rows: [[String]] = []
        for codec in [AudioCodec.opus, .pcmS16] {
            var insert = Costs()
            var pulls = [Costs](repeating: Costs(), count: PlayoutDecision.allCases.count)
            try play(codec, &insert, &pulls)
            rows.append(
                [codec.name, insert.mean]
                    + [PlayoutDecision.normal, .accelerate, .fastAccelerate, .preemptiveExpand, .conceal, .comfortNoise, .wait].map {
                        "\(pulls[Int($0.rawValue)].mean) (\(pulls[Int($0.rawValue)].count))"
                    })
        }
        Text.out("\nJitter buffer, 20 ms packets, 48 kHz, mono: ns (how many)")
        Text.out(
            Text.table(
                ["codec", "per packet inserted", "pull: normal", "accelerate", "fast accelerate", "expand", "conceal", "comfort noise", "wait"], rows)
        )
    }

    /// A path with some delay, and each 2 s one that stands for 300 ms and then gives everything at once; each 50th packet is lost.
    private static func play(_ codec: AudioCodec, _ insert: inout Costs, _ pulls: inout [Costs]) throws {
        let description = AudioStreamDescription(codec: codec, sampleRate: 48_000, channels: 1)
        let decoder = try StreamDecoder(description, outputRate: 48_000, outputChannels: 1)
        var buffer = AudioJitterBuffer(JitterConfiguration(), decoder: decoder)
        let packets = codec == .opus ? try Sound.packets(seed: 5) : (0..<200).map { samples(Sound.voice(seed: 5, frame: $0)) }
        var random = SeededGenerator(seed: 4)
        let arrivals = (0..<seconds * 50).map { number -> UInt64 in
            let sent = number * 20
            let stall = sent % 2_000 < 300 ? 300 - sent % 2_000 : 0
            return UInt64(sent + stall + Int.random(in: 0...8, using: &random))
        }
        var next = 0
        var sound = [Float](repeating: 0, count: 480)
        for tick in 0..<seconds * 100 {
            let now = MonotonicInstant.zero.advanced(byMilliseconds: UInt64(tick * 10 + 1_000))
            while next < arrivals.count, arrivals[next] <= UInt64(tick * 10) {
                let packet = JitterPacket(sequence: UInt32(next), timestamp: UInt32(next * 960))
                let payload = packets[next % packets.count]
                if next % 50 != 49 {
                    let start = Stopwatch.now()
                    _ = buffer.insert(packet, payload: payload.raw, now: now)
                    insert.nanoseconds += Stopwatch.since(start)
                    insert.count += 1
                }
                next += 1
            }
            var room = sound.mutableSpan
            let start = Stopwatch.now()
            let outcome = buffer.pull(into: &room, now: now)
            let place = Int(outcome.decision.rawValue)
            pulls[place].nanoseconds += Stopwatch.since(start)
            pulls[place].count += 1
        }
    }

    private static func samples(_ samples: [Float]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: samples.count * 2)
        var elements = bytes.mutableSpan
        var room = unsafe elements.mutableBytes
        _ = PCMFormat.s16.encode(samples.span, into: &room)
        return bytes
    }
}
