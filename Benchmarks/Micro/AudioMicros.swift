import AudioEngine
import Glibc
import JitterBuffer
import MediaProtocol
import RelayBase

/// Jitter buffer and mixer, 48 kHz, mono, packets of 20 ms that come when they should.
enum AudioMicros {
    private static let frameCount = 960

    static func all() throws -> [Micro] {
        [try buffer(.pcmS16), try buffer(.opus), try mixer(participants: 10, talkers: 3)]
    }

    // MARK: Sound

    /// Harmonics of a voice's pitch.
    private static func voice(_ seed: Int, _ frame: Int) -> [Float] {
        let pitch = 100 + Double(seed % 12) * 12
        return (0..<frameCount).map { index in
            let time = Double(frame * frameCount + index) / 48_000
            var sum = 0.0
            for harmonic in 1...8 { sum += sin(2 * .pi * pitch * Double(harmonic) * time) / Double(harmonic) }
            return Float(0.1 * sum * (0.6 + 0.4 * sin(2 * .pi * 3 * time)))
        }
    }

    private static func makePackets(_ codec: AudioCodec, seed: Int) throws -> [[UInt8]] {
        guard codec == .opus else {
            return (0..<100).map { frame in
                voice(seed, frame).flatMap { sample in
                    let value = UInt16(bitPattern: Int16(sample * 32_767))
                    return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
                }
            }
        }
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings(), application: .voice)
        return (0..<100).map { frame in
            var bytes = [UInt8](repeating: 0, count: OpusFrameEncoder.packetBytesMax)
            var elements = bytes.mutableSpan
            var room = unsafe elements.mutableBytes
            let sound = voice(seed, frame)
            let count = encoder.encode(sound.span, into: &room)
            return Array(bytes.prefix(count))
        }
    }

    // MARK: Jitter buffer

    private final class Buffer {
        private var buffer: AudioJitterBuffer<StreamDecoder>
        private let packets: [[UInt8]]
        private var number = 0
        private var sound = [Float](repeating: 0, count: 480)

        init(_ codec: AudioCodec, _ packets: [[UInt8]]) throws {
            let decoder = try StreamDecoder(
                AudioStreamDescription(codec: codec, sampleRate: 48_000, channels: 1), outputRate: 48_000, outputChannels: 1)
            buffer = AudioJitterBuffer(JitterConfiguration(), decoder: decoder)
            self.packets = packets
        }

        /// One packet in, 20 ms of sound out.
        func step() {
            let now = MonotonicInstant.zero.advanced(byMilliseconds: UInt64(1_000 + number * 20))
            let packet = JitterPacket(
                sequence: UInt32(truncatingIfNeeded: number), timestamp: UInt32(truncatingIfNeeded: number * AudioMicros.frameCount))
            let payload = packets[number % packets.count]
            _ = unsafe buffer.insert(packet, payload: payload.span.bytes, now: now)
            for half in 0..<2 {
                var room = sound.mutableSpan
                _ = buffer.pull(into: &room, now: now.advanced(byMilliseconds: UInt64(half * 10)))
            }
            number += 1
        }
    }

    private final class Decoder {
        private var decoder: StreamDecoder
        private let packets: [[UInt8]]
        private var number = 0
        private var sound = [Float](repeating: 0, count: 5_760)

        init(_ codec: AudioCodec, _ packets: [[UInt8]]) throws {
            decoder = try StreamDecoder(
                AudioStreamDescription(codec: codec, sampleRate: 48_000, channels: 1), outputRate: 48_000, outputChannels: 1)
            self.packets = packets
        }

        func step() {
            var room = sound.mutableSpan
            let payload = packets[number % packets.count]
            _ = unsafe decoder.decode(payload.span.bytes, into: &room)
            number += 1
        }
    }

    private static func buffer(_ codec: AudioCodec) throws -> Micro {
        let packets = try makePackets(codec, seed: 5)
        let (buffer, decoder) = (try Buffer(codec, packets), try Decoder(codec, packets))
        return Micro(
            name: "jitter buffer \(codec.name)", unit: "packet", floorName: "decoding it",
            work: { units in for _ in 0..<units { buffer.step() } },
            floor: { units in for _ in 0..<units { decoder.step() } })
    }

    // MARK: Mixer

    private final class Mixer {
        private var mixer: RoomMixer
        private let packets: [[[UInt8]]]
        private var tick = 0

        init(participants: Int, _ packets: [[[UInt8]]]) throws {
            var configuration = MixerConfiguration()
            configuration.tickMilliseconds = 20
            mixer = RoomMixer(configuration)
            self.packets = packets
            let description = AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 1)
            for id in 1...UInt32(participants) {
                try mixer.addInput(id, participant: id, description)
                try mixer.addOutput(id, MixFormat(participant: id))
            }
        }

        func step() {
            let now = MonotonicInstant.zero.advanced(byMilliseconds: UInt64(1_000 + tick * 20))
            for talker in packets.indices {
                let header = MediaHeader(
                    kind: .audio, stream: StreamID(UInt32(talker + 1)), sequence: UInt32(truncatingIfNeeded: tick),
                    timestamp: UInt32(truncatingIfNeeded: tick * AudioMicros.frameCount))
                let payload = packets[talker][tick % packets[talker].count]
                _ = unsafe mixer.insert(header: header, payload: payload.span.bytes, input: UInt32(talker + 1), now: now)
            }
            mixer.tick(now: now)
            tick += 1
        }
    }

    private final class Encoder {
        private var encoder: OpusFrameEncoder
        private let sounds = (0..<50).map { AudioMicros.voice(9, $0) }
        private var number = 0
        private var packet = [UInt8](repeating: 0, count: OpusFrameEncoder.packetBytesMax)

        init() throws {
            encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings(complexity: 4), application: .lowDelay)
        }

        func step() {
            var elements = packet.mutableSpan
            var room = unsafe elements.mutableBytes
            let sound = sounds[number % sounds.count]
            _ = encoder.encode(sound.span, into: &room)
            number += 1
        }
    }

    /// All but the talkers hear one mix, and each talker one without himself.
    private static func mixer(participants: Int, talkers: Int) throws -> Micro {
        let packets = try (0..<talkers).map { try makePackets(.opus, seed: $0) }
        let mixer = try Mixer(participants: participants, packets)
        let decoders = try packets.map { try Decoder(.opus, $0) }
        let encoders = try (0...talkers).map { _ in try Encoder() }
        return Micro(
            name: "mixer \(participants), \(talkers) talk", unit: "tick of 20 ms", floorName: "\(talkers) decodes, \(talkers + 1) encodes",
            work: { units in for _ in 0..<units { mixer.step() } },
            floor: { units in
                for _ in 0..<units {
                    for decoder in decoders { decoder.step() }
                    for encoder in encoders { encoder.step() }
                }
            })
    }
}
