import MediaProtocol
import RelayBase
import Testing

@testable import AudioEngine

@Suite("Decoders of streams")
struct StreamDecoderTests {
    @Test(
        "samples of any rate and channels come out at 48 kHz, as loud and as high as they went in",
        arguments: [
            ("pcm_s16", 44_100, 2), ("pcm_s16", 48_000, 1), ("pcm_s16", 16_000, 1), ("pcmu", 8_000, 1), ("pcma", 8_000, 2), ("pcm_s16", 96_000, 6),
            ("pcm_s16", 11_025, 1),
        ],
        [1, 2])
    func conversion(stream: (codec: String, rate: Int, channels: Int), outputChannels: Int) throws {
        var decoder = try StreamDecoder(
            codec: stream.codec, sampleRate: stream.rate, channels: stream.channels, outputRate: 48_000, outputChannels: outputChannels)
        let format: PCMFormat = stream.codec == "pcmu" ? .mu : stream.codec == "pcma" ? .a : .s16
        let perPacket = stream.rate / 50
        var heard: [Float] = []
        for frame in 0..<50 {
            let samples = TestSound.sine(440, count: perPacket, sampleRate: stream.rate, channels: stream.channels, from: frame * perPacket)
            let packet = Packets.encode(format, samples)
            let made = decoder.decode(packet)
            #expect(abs(made.count / outputChannels - decoder.sampleCount(of: packet.raw)) <= 1)
            heard += made
        }
        for side in 0..<outputChannels {
            let one = stride(from: 9_600 * outputChannels + side, to: heard.count, by: outputChannels).map { heard[$0] }
            #expect((0.49...0.51).contains(TestSound.amplitude(of: 440, in: one)))
        }
        #expect(abs(heard.count / outputChannels - perPacket * 50 * 48_000 / stream.rate) <= 1)
    }

    @Test("two channels stay apart, and become their mean in one")
    func channels() throws {
        let packet = Packets.encode(.s16, (0..<960).map { $0 % 2 == 0 ? 0.5 : -0.25 })
        var both = try StreamDecoder(codec: "pcm_s16", sampleRate: 48_000, channels: 2, outputRate: 48_000, outputChannels: 2)
        var one = try StreamDecoder(codec: "pcm_s16", sampleRate: 48_000, channels: 2, outputRate: 48_000, outputChannels: 1)
        #expect(both.decode(packet) == (0..<960).map { $0 % 2 == 0 ? 0.5 : -0.25 })
        #expect(one.decode(packet) == [Float](repeating: 0.125, count: 480))
    }

    @Test("PROTOCOL.md §5.5: pcm_s16 is little-endian")
    func byteOrder() throws {
        var decoder = try StreamDecoder(codec: "pcm_s16", sampleRate: 48_000, channels: 1, outputRate: 48_000, outputChannels: 1)
        #expect(decoder.decode([0x00, 0x40, 0x00, 0xC0]) == [0.5, -0.5])
        #expect(Packets.encode(.s16, [0.5, -0.5, 2, -2, .nan]) == [0x00, 0x40, 0x00, 0xC0, 0xFF, 0x7F, 0x00, 0x80, 0, 0])
    }

    @Test(
        "payloads that are no whole samples, are empty, or play more than 120 ms are nothing",
        arguments: [0, 1, 3, 5, 4 * 5_761, 1 << 20])
    func malformed(byteCount: Int) throws {
        var decoder = try StreamDecoder(codec: "pcm_s16", sampleRate: 48_000, channels: 2, outputRate: 48_000, outputChannels: 1)
        let packet = [UInt8](repeating: 1, count: byteCount)
        #expect(decoder.sampleCount(of: packet.raw) == 0)
        #expect(decoder.decode(packet).isEmpty)
    }

    @Test(
        "what cannot be decoded is refused by name",
        arguments: [
            ("aac", 48_000, 2, AudioFault.unsupportedCodec), ("mp4a.40.2", 48_000, 2, .unsupportedCodec), ("vp8", 48_000, 1, .unsupportedCodec),
            ("", 48_000, 1, .unsupportedCodec), ("opus", 48_000, 6, .unsupportedCodec), ("opus", 48_000, 0, .channels),
            ("pcmu", 8_000, 300, .channels),
            ("pcmu", 0, 1, .sampleRate), ("pcmu", -8_000, 1, .sampleRate), ("pcm_s16", 384_000, 2, .sampleRate),
        ])
    func refused(codec: String, sampleRate: Int, channels: Int, fault: AudioFault) {
        #expect(throws: fault) {
            _ = try StreamDecoder(codec: codec, sampleRate: sampleRate, channels: channels, outputRate: 48_000, outputChannels: 1)
        }
    }

    @Test("Opus decodes to the output's rate, whatever its description says", arguments: [8_000, 16_000, 48_000])
    func opus(outputRate: Int) throws {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 2, OpusSettings(bitsPerSecond: 64_000))
        var decoder = try StreamDecoder(codec: "opus", sampleRate: 44_100, channels: 2, outputRate: outputRate, outputChannels: 1)
        var heard: [Float] = []
        for frame in 0..<25 { heard += decoder.decode(Packets.encode(&encoder, TestSound.sine(440, count: 960, channels: 2, from: frame * 960))) }
        #expect(heard.count == outputRate / 2)
        #expect((0.45...0.55).contains(TestSound.amplitude(of: 440, in: heard.dropFirst(outputRate / 10), sampleRate: outputRate)))
    }
}

@Suite("Sample-rate conversion")
struct ResamplerTests {
    @Test("what would alias is 60 dB down")
    func aliasing() throws {
        var resampler = try Resampler(inputRate: 48_000, outputRate: 8_000, channels: 1)
        var output = [Float](repeating: 0, count: 8_000)
        var room = output.mutableSpan
        let done = resampler.process(TestSound.sine(7_000, amplitude: 1, count: 48_000).span, into: &room)
        #expect(done.taken == 48_000 && done.made == 8_000)
        #expect(TestSound.decibels(TestSound.meanSquare(output.dropFirst(200))) < -60)
    }

    @Test("equal rates leave samples as they are")
    func equal() throws {
        var resampler = try Resampler(inputRate: 48_000, outputRate: 48_000, channels: 2)
        var output = [Float](repeating: 0, count: 6)
        var room = output.mutableSpan
        #expect(resampler.process([1, 2, 3, 4].span, into: &room) == (2, 2))
        #expect(output == [1, 2, 3, 4, 0, 0] && resampler.latency == 0)
    }
}

@Suite("RFC 6464 audio levels")
struct LevelMeterTests {
    @Test(
        "§3: dB below overload",
        arguments: [(Float(1), 3), (0.1, 23), (0.01, 43), (0.001, 63), (0, 127)])
    func sine(amplitude: Float, level: Int) {
        var meter = LevelMeter()
        let measured = meter.measure(TestSound.sine(400, amplitude: amplitude, count: 480).span, milliseconds: 10)
        #expect(Int(measured.audioLevel.minusDecibelsOverload) == level)
    }

    @Test("a square wave at full scale is 0 dBov, and louder than full scale is no less")
    func overload() {
        var meter = LevelMeter()
        #expect(meter.measure([Float](repeating: 1, count: 480).span, milliseconds: 10).audioLevel.minusDecibelsOverload == 0)
        #expect(meter.measure([Float](repeating: 9, count: 480).span, milliseconds: 10).audioLevel.minusDecibelsOverload == 0)
        #expect(meter.measure([Float.nan, 1].span, milliseconds: 10) == .silent)
    }

    @Test("a voice above a steady background is told from it")
    func voice() {
        var meter = LevelMeter()
        var last = MeasuredLevel.silent
        for tick in 0..<3_000 { last = meter.measure(TestSound.noise(amplitude: 0.01, count: 480, seed: UInt64(tick)).span, milliseconds: 10) }
        #expect(!last.isVoice, "noise that stays is background")
        #expect(meter.measure(TestSound.voice(count: 480).span, milliseconds: 10).isVoice)
    }
}
