import RelayBase
import Testing

@testable import AudioEngine

@Suite("RFC 6716 Opus")
struct OpusCodecTests {
    @Test("a tone keeps its level and frequency at every rate and channel count", arguments: AudioBandwidth.sampleRates, [1, 2])
    func tone(sampleRate: Int, channels: Int) throws {
        var encoder = try OpusFrameEncoder(sampleRate: sampleRate, channels: channels, OpusSettings(bitsPerSecond: 64_000))
        var decoder = try OpusFrameDecoder(sampleRate: sampleRate, channels: channels)
        var heard: [Float] = []
        for frame in 0..<50 {
            let samples = TestSound.sine(440, count: sampleRate / 50, sampleRate: sampleRate, channels: channels, from: frame * sampleRate / 50)
            let packet = Packets.encode(&encoder, samples)
            let announced = decoder.sampleCount(of: packet.raw)
            #expect(announced == sampleRate / 50)
            heard += decoder.decode(packet)
        }
        let left = stride(from: sampleRate / 5 * channels, to: heard.count, by: channels).map { heard[$0] }
        #expect(heard.count == sampleRate * channels)
        #expect((0.45...0.55).contains(TestSound.amplitude(of: 440, in: left, sampleRate: sampleRate)))
    }

    @Test("§2.1.4 every duration of a frame is encoded, others are refused", arguments: [2.5, 5, 10, 20, 40, 60, 80, 100, 120, 7, 30, 0])
    func durations(milliseconds: Double) throws {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings())
        let samples = [Float](repeating: 0, count: Int(milliseconds * 48))
        let packet = Packets.encode(&encoder, samples)
        let isDuration = ![7, 30, 0].contains(milliseconds)
        #expect(packet.isEmpty != isDuration)
        guard isDuration else { return }
        let announced = OpusPacketShape(packet.raw, sampleRate: 48_000)?.sampleCount
        #expect(announced == samples.count)
    }

    @Test("§2.1.7 with FEC, the packet before a lost one's successor is heard again")
    func redundancy() throws {
        let settings = OpusSettings(bitsPerSecond: 24_000, bandwidth: .wideband, complexity: 8, usesInbandFEC: true, expectedLossPercent: 30)
        var encoder = try OpusFrameEncoder(sampleRate: 16_000, channels: 1, settings, application: .voice)
        let packets = (0..<60).map { Packets.encode(&encoder, TestSound.voice(count: 320, sampleRate: 16_000, from: $0 * 320)) }
        let probe = try OpusFrameDecoder(sampleRate: 16_000, channels: 1)
        let carrying = packets.indices.filter { probe.redundancy(of: packets[$0]) == 320 }
        #expect(carrying.count > 20, "packets that carry the one before")
        let lost = try #require(carrying.last { $0 > 30 }) - 1

        func play(recovering: Bool) throws -> [Float] {
            var decoder = try OpusFrameDecoder(sampleRate: 16_000, channels: 1)
            var heard: [Float] = []
            for index in 0...lost + 1 {
                guard index == lost else {
                    heard += decoder.decode(packets[index])
                    continue
                }
                let made = recovering ? decoder.recover(from: packets[lost + 1], count: 320) : decoder.conceal(count: 320)
                #expect(made.count == 320)
                heard += made
            }
            return Array(heard[lost * 320..<(lost + 1) * 320])
        }
        var whole = try OpusFrameDecoder(sampleRate: 16_000, channels: 1)
        let truth = Array(packets[0...lost].flatMap { whole.decode($0) }.suffix(320))
        func error(_ heard: [Float]) -> Double { TestSound.meanSquare(zip(heard, truth).map { $0 - $1 }) }
        #expect(try error(play(recovering: true)) < error(play(recovering: false)) / 2)
    }

    @Test("§2.1.9 DTX sends a byte or two in silence and nothing that a decoder trips over")
    func discontinuous() throws {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings(isDiscontinuous: true), application: .voice)
        var decoder = try OpusFrameDecoder(sampleRate: 48_000, channels: 1)
        let sizes = (0..<60).map { _ in
            let packet = Packets.encode(&encoder, [Float](repeating: 0, count: 960))
            let heard = decoder.decode(packet)
            #expect(heard.count == 960)
            return packet.count
        }
        #expect(sizes.suffix(30).filter { $0 <= 2 }.count >= 25)
    }

    @Test("bit rate, bandwidth and complexity change while it runs, and are heard in the next packets")
    func settings() throws {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 1, OpusSettings(bitsPerSecond: 96_000), application: .lowDelay)
        func bytes(_ settings: OpusSettings) -> (Int, UInt8) {
            encoder.apply(settings)
            let packets = (0..<20).map { Packets.encode(&encoder, TestSound.noise(amplitude: 0.3, count: 960, seed: UInt64($0))) }
            return (packets.suffix(10).map(\.count).reduce(0, +), packets.last?.first ?? 0)
        }
        let high = bytes(OpusSettings(bitsPerSecond: 96_000))
        let low = bytes(OpusSettings(bitsPerSecond: 16_000, bandwidth: .narrowband, complexity: 0))
        let again = bytes(OpusSettings(bitsPerSecond: 96_000))
        #expect(high.0 > low.0 * 4 && again.0 > low.0 * 4)
        // RFC 6716 §3.1, table 2: CELT narrowband is 16 to 19, fullband 28 to 31.
        #expect((16...19).contains(low.1 >> 3) && (28...31).contains(high.1 >> 3) && (28...31).contains(again.1 >> 3))
    }

    @Test("an encoder of two channels codes one while that is set, without a gap")
    func oneOfTwo() throws {
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 2, OpusSettings(bitsPerSecond: 96_000))
        var decoder = try OpusFrameDecoder(sampleRate: 48_000, channels: 2)
        var isStereo: [Bool] = []
        for frame in 0..<30 {
            encoder.apply(OpusSettings(bitsPerSecond: 96_000, channels: (10..<20).contains(frame) ? 1 : 2))
            let left = TestSound.sine(440, count: 960, from: frame * 960)
            let right = TestSound.sine(660, count: 960, from: frame * 960)
            let packet = Packets.encode(&encoder, zip(left, right).flatMap { [$0, $1] })
            // RFC 6716 §3.1: the TOC's bit s.
            isStereo.append((packet.first ?? 0) & 0x04 != 0)
            let heard = decoder.decode(packet)
            #expect(heard.count == 1_920)
        }
        #expect(isStereo[9] && !isStereo[15] && isStereo[29])
    }

    @Test("settings out of bounds are brought within")
    func bounds() throws {
        let wild = OpusSettings(bitsPerSecond: .max, complexity: -5, expectedLossPercent: 1_000)
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 2, wild)
        let high = encoder.settings
        #expect(high.bitsPerSecond == 510_000 && high.complexity == 0 && high.expectedLossPercent == 100)
        encoder.apply(OpusSettings(bitsPerSecond: .min))
        let low = encoder.settings
        #expect(low.bitsPerSecond == 6_000)
    }

    @Test("rates and channels that Opus has not are refused")
    func refused() {
        #expect(throws: AudioFault.sampleRate) { _ = try OpusFrameDecoder(sampleRate: 44_100, channels: 1) }
        #expect(throws: AudioFault.channels) { _ = try OpusFrameDecoder(sampleRate: 48_000, channels: 3) }
        #expect(throws: AudioFault.sampleRate) { _ = try OpusFrameEncoder(sampleRate: 11_025, channels: 1, OpusSettings()) }
        #expect(throws: AudioFault.channels) { _ = try OpusFrameEncoder(sampleRate: 48_000, channels: 0, OpusSettings()) }
    }

    @Test("hostile packets give nothing, or sound, and never more than there is room for")
    func hostile() throws {
        var decoder = try OpusFrameDecoder(sampleRate: 48_000, channels: 2)
        var random = SeededGenerator(seed: 6)
        for length in 0..<3_000 {
            let packet = (0..<length % 1_500).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let expected = decoder.sampleCount(of: packet.raw)
            #expect((0...5_760).contains(expected))
            _ = decoder.redundantSampleCount(of: packet.raw)
            let samples = decoder.decode(packet)
            #expect(samples.isEmpty || samples.count / 2 == expected)
            #expect(samples.allSatisfy { $0.magnitude <= 1 }, "beyond full scale, where it drowns everybody else in a mix")
            var small = [Float](repeating: 9, count: 240)
            var room = small.mutableSpan
            _ = decoder.decode(packet.raw, into: &room)
            _ = decoder.decodeRedundancy(of: packet.raw, sampleCount: length, into: &room)
            _ = decoder.conceal(sampleCount: length - 100, into: &room)
        }
        // Too long for 120 ms: 48 frames of 20 ms (RFC 6716 §3.2.5, requirement R5).
        let tooLong: [UInt8] = [0x0B, 48] + [UInt8](repeating: 0, count: 480)
        let announced = decoder.sampleCount(of: tooLong.raw)
        #expect(announced == 0)
    }
}
