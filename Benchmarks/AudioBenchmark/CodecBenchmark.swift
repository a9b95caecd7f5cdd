import AudioEngine
import BenchmarkSupport

/// What Opus costs for 20 ms of one channel at 48 kHz.
enum CodecBenchmark {
    private static let rounds = 5

    static func run() throws {
        let sound = (0..<200).map { Sound.voice(seed: 5, frame: $0) }
        let packets = try Sound.packets(seed: 5)
        var rows: [[String]] = []
        var decoder = try OpusFrameDecoder(sampleRate: 48_000, channels: 1)
        var samples = [Float](repeating: 0, count: 5_760)
        let decode = Samples.median(
            (0..<rounds).map { _ in
                Stopwatch.measure {
                    for packet in packets {
                        var room = samples.mutableSpan
                        _ = decoder.decode(packet.raw, into: &room)
                    }
                } / Double(packets.count)
            })
        rows.append(["decode", "", Text.fixed(decode / 1_000, 1)])
        for (application, name) in [(OpusApplication.lowDelay, "as the mixer does"), (.voice, "voice")] {
            for complexity in application == .lowDelay ? [0, 4, 9] : [4, 9] {
                var encoder = try OpusFrameEncoder(
                    sampleRate: 48_000, channels: 1, OpusSettings(complexity: complexity), application: application)
                let encode = Samples.median(
                    (0..<rounds).map { _ in
                        Stopwatch.measure { for frame in sound { _ = Sound.encode(&encoder, frame) } } / Double(sound.count)
                    })
                rows.append(["encode, \(name)", "\(complexity)", Text.fixed(encode / 1_000, 1)])
            }
        }
        Text.out("\nOpus, 20 ms, mono, 48 kHz, 32 kbit/s")
        Text.out(Text.table(["", "complexity", "µs"], rows))
    }
}
