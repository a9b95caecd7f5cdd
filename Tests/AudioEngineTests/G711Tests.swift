import Testing

@testable import AudioEngine

@Suite("ITU-T G.711")
struct G711Tests {
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }

    private static func bytes(_ value: Int16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }

    @Test("all 256 codes of either law decode to what ffmpeg decodes them to")
    func decoding() {
        let mu = (0...255).flatMap { Self.bytes(G711.linear(mu: UInt8($0))) }
        let a = (0...255).flatMap { Self.bytes(G711.linear(a: UInt8($0))) }
        #expect(Self.hash(mu) == 0xb91e_65d6_8481_a1a8)
        #expect(Self.hash(a) == 0x693a_40ca_62a3_d2a5)
    }

    @Test(
        "table 1 and 2: values of the standard's own tables",
        arguments: [
            // Column 8 (quantized values at the decoder's output), left-aligned to 16 bits: µ-law ×4, A-law ×8 (its table is in 13 bits with 4096 as overload).
            (UInt8(0x80), Int16(32_124), UInt8(0xAA), Int16(32_256)), (0x8F, 16_764, 0xA5, 16_896), (0xFF, 0, 0xD5, 8), (0x7F, 0, 0x55, -8),
            (0x00, -32_124, 0x2A, -32_256),
        ])
    func table(mu: UInt8, muLinear: Int16, a: UInt8, aLinear: Int16) {
        #expect(G711.linear(mu: mu) == muLinear)
        #expect(G711.linear(a: a) == aLinear)
    }

    @Test("every code encodes to itself but −0, which µ-law has and 16 bits have not")
    func roundTrip() {
        for code in UInt8.min...UInt8.max {
            #expect(G711.mu(linear: G711.linear(mu: code)) == (code == 0x7F ? 0xFF : code))
            #expect(G711.a(linear: G711.linear(a: code)) == code)
        }
    }

    @Test("every 16-bit value decodes to within half a step of its segment, and the codes are monotonic")
    func steps() {
        var (muBefore, aBefore) = (Int.min, Int.min)
        for value in -32_768...32_767 {
            let mu = G711.mu(linear: Int16(value))
            let a = G711.a(linear: Int16(value))
            let (muLinear, aLinear) = (Int(G711.linear(mu: mu)), Int(G711.linear(a: a)))
            // Beyond the last decision value everything is the last code.
            let muStep = 8 << Int(~mu >> 4 & 7)
            let aStep = 16 << max(Int((a ^ 0x55) >> 4 & 7) - 1, 0)
            guard abs(muLinear - value) <= muStep / 2 || abs(value) > 32_635, abs(aLinear - value) <= aStep / 2, muLinear >= muBefore,
                aLinear >= aBefore
            else {
                Issue.record("\(value): µ-law \(muLinear), A-law \(aLinear)")
                return
            }
            (muBefore, aBefore) = (muLinear, aLinear)
        }
    }

    @Test("a tone comes through with the 37 dB that 8 bits of a law give", arguments: [PCMFormat.mu, .a])
    func tone(_ format: PCMFormat) throws {
        let tone = TestSound.sine(440, amplitude: 0.5, count: 8_000, sampleRate: 8_000)
        var decoder = try StreamDecoder(
            codec: format == .mu ? "pcmu" : "pcma", sampleRate: 8_000, channels: 1, outputRate: 8_000, outputChannels: 1)
        let packet = Packets.encode(format, Array(tone.prefix(960)))
        let decoded = decoder.decode(packet)
        let error = zip(tone, decoded).map { $0 - $1 }
        #expect(decoded.count == 960)
        #expect(TestSound.decibels(TestSound.meanSquare(tone) / TestSound.meanSquare(error)) > 35)
    }
}
