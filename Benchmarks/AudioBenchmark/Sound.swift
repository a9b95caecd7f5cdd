import AudioEngine
import Glibc
import MediaProtocol
import RelayBase

/// Packets of something like speech, encoded before anything is measured.
enum Sound {
    /// 20 ms at 48 kHz.
    static let frameCount = 960

    /// Harmonics of a pitch under a syllable's envelope, with a little noise.
    static func voice(seed: UInt64, frame: Int) -> [Float] {
        var random = SeededGenerator(seed: seed &+ UInt64(frame) &* 977)
        let pitch = 100 + Double(seed % 12) * 12
        return (0..<frameCount).map { index in
            let time = Double(frame * frameCount + index) / 48_000
            var sum = 0.0
            for harmonic in 1...10 { sum += sin(2 * .pi * pitch * Double(harmonic) * time + Double(harmonic * harmonic)) / Double(harmonic) }
            let envelope = 0.55 + 0.45 * sin(2 * .pi * (3 + Double(seed % 3)) * time)
            return Float(0.12 * sum * envelope) + Float.random(in: -0.002...0.002, using: &random)
        }
    }

    /// 4 s of Opus at 32 kbit/s, 20 ms each, mono.
    static func packets(seed: UInt64) throws -> [[UInt8]] {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings(), application: .voice)
        return (0..<200).map { encode(&encoder, voice(seed: seed, frame: $0)) }
    }

    static func encode(_ encoder: inout OpusFrameEncoder, _ samples: [Float]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: OpusFrameEncoder.packetBytesMax)
        var elements = bytes.mutableSpan
        var room = unsafe elements.mutableBytes
        let count = encoder.encode(samples.span, into: &room)
        return Array(bytes.prefix(count))
    }
}

extension [UInt8] {
    var raw: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }
}
