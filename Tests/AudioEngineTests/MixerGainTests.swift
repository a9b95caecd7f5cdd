import MediaProtocol
import RelayBase
import Testing

@testable import AudioEngine

@Suite("Gains, ramps and pan")
struct MixerGainTests {
    private static func tone(_ id: UInt32, _ start: Int, _ count: Int) -> [Float]? {
        TestSound.sine(id == 1 ? 1_000 : 2_000, amplitude: 0.3, count: count, from: start)
    }

    /// Amplitudes of a tone in pieces of 10 ms.
    private static func envelope(_ hertz: Double, _ heard: some Collection<Float>) -> [Double] {
        let samples = Array(heard)
        return stride(from: 0, to: samples.count - 479, by: 480).map { TestSound.amplitude(of: hertz, in: samples[$0..<$0 + 480]) }
    }

    @Test(
        "a ramp is linear and exact to the sample: sample k of n has start + (end − start) · k / n, and sample n has end",
        arguments: [(Float(1), Float(0.2), 40.0), (0, 1, 250), (0.3, 0.7, 1)])
    func ramp(start: Float, end: Float, milliseconds: Double) {
        let ramp = MixRamp(from: start, to: end, milliseconds: milliseconds, sampleRate: 48_000, clock: 1_000)
        let count = UInt64(milliseconds * 48)
        for k in 0..<count {
            let exact = Float(Double(start) + (Double(end) - Double(start)) * Double(k) / Double(count))
            guard ramp.gain(at: 1_000 + k) == exact else {
                Issue.record("sample \(k)")
                return
            }
        }
        #expect(ramp.gain(at: 1_000 + count) == end && ramp.gain(at: 1 << 40) == end)
        #expect(ramp.isOver(at: 1_000 + count) && !ramp.isOver(at: 999 + count))
        var samples = [Float](repeating: 1, count: 480)
        unsafe samples.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress { unsafe MixKernel.multiply(base, channels: 2, count: 240, by: ramp, clock: 1_010) }
        }
        #expect((0..<480).allSatisfy { samples[$0] == ramp.gain(at: 1_010 + UInt64($0 / 2)) })
    }

    @Test("gains that are no gains are brought within 0 to 1", arguments: [(Float.nan, Float(0)), (-1, 0), (7, 1), (.infinity, 1)])
    func wild(gain: Float, heard: Float) {
        #expect(MixRamp(from: 1, to: gain, milliseconds: .nan, sampleRate: 48_000, clock: 0).gain(at: 0) == heard)
        #expect(MixRamp(from: 1, to: gain, milliseconds: -5, sampleRate: 48_000, clock: 0).gain(at: 0) == heard)
    }

    @Test("ducking goes down and comes back, for one listener, on an encoder of his own while it lasts")
    func ducking() throws {
        var room = TestRoom()
        try room.addTalker(1)
        for id: UInt32 in 2...4 { try room.addListener(id) }
        room.run(ticks: 50, Self.tone)
        room.mixer.setGain(output: 2, 0.2, rampMilliseconds: 200)
        room.run(ticks: 50, Self.tone)
        let ducked = room.encodeCounts.last
        room.mixer.setGain(output: 2, 1, rampMilliseconds: 200)
        room.run(ticks: 50, Self.tone)
        let back = room.encodeCounts.last
        #expect(ducked == 2 && back == 1)
        let (own, other) = (Self.envelope(1_000, room.heard(2)), Self.envelope(1_000, room.heard(3)))
        for piece in 30..<98 { #expect(abs(own[piece] - other[piece]) < 0.02, "before, piece \(piece)") }
        for piece in 125..<198 { #expect((0.05...0.07).contains(own[piece]), "ducked, piece \(piece): \(own[piece])") }
        for piece in 225..<295 { #expect((0.28...0.32).contains(own[piece]), "back, piece \(piece)") }
        // On the way, a tenth of the way each 20 ms, down to the encoder's accuracy.
        for piece in 101..<119 { #expect(own[piece + 1] < own[piece] + 0.01 && own[piece] > 0.05) }
        #expect(other.dropFirst(30).allSatisfy { (0.28...0.32).contains($0) })
    }

    @Test("a gain of one input leaves the others as they are")
    func inputGain() throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addTalker(2)
        try room.addListener(3)
        try room.addListener(4)
        room.mixer.setGain(output: 3, input: 2, ParameterGain(volume: 0.1))
        room.run(ticks: 100, Self.tone)
        let heard = room.heard(3).suffix(48_000)
        #expect((0.28...0.32).contains(TestSound.amplitude(of: 1_000, in: heard)))
        #expect((0.027...0.033).contains(TestSound.amplitude(of: 2_000, in: heard)))
        #expect((0.28...0.32).contains(TestSound.amplitude(of: 2_000, in: room.heard(4).suffix(48_000))))
        room.mixer.setGain(output: 3, input: 2, ParameterGain())
        room.run(ticks: 5, Self.tone)
        let encodes = room.encodeCounts.last
        #expect(encodes == 1, "with gains of 1 everybody hears the same")
    }

    @Test("pan takes away from the far one of two channels", arguments: [(Float(-1), 1.0, 0.0), (1, 0, 1), (0.5, 0.5, 1), (0, 1, 1)])
    func pan(pan: Float, left: Double, right: Double) throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addListener(2, channels: 2, bitsPerSecond: 192_000)
        room.mixer.setGain(output: 2, input: 1, ParameterGain(pan: pan))
        room.run(ticks: 100, Self.tone)
        let heard = Array(room.heard(2).suffix(96_000))
        let sides = [0, 1].map { side in TestSound.amplitude(of: 1_000, in: stride(from: side, to: heard.count, by: 2).map { heard[$0] }) }
        #expect(abs(sides[0] - 0.3 * left) < 0.015 && abs(sides[1] - 0.3 * right) < 0.015, "\(sides)")
    }

    @Test("measurement: neither gain nor knee")
    func measurement() throws {
        var room = TestRoom()
        try room.addTalker(1, isMeasurement: true)
        try room.addListener(2, isMeasurement: true)
        room.mixer.setGain(output: 2, 0.1)
        room.mixer.setGain(output: 2, input: 1, ParameterGain(volume: 0.1))
        room.run(ticks: 100) { _, start, count in TestSound.sine(1_000, amplitude: 0.78, count: count, from: start) }
        // The soft knee would take it to 0.75.
        #expect((0.77...0.79).contains(TestSound.amplitude(of: 1_000, in: room.heard(2).suffix(48_000))))
        let encodes = room.encodeCounts.last
        #expect(encodes == 1)
    }

    @Test("two channels that come in go out apart, and as their mean in one")
    func stereo() throws {
        var room = TestRoom()
        try room.addTalker(1, AudioStreamDescription(codec: .pcmS16, sampleRate: 48_000, channels: 2))
        try room.addListener(2, channels: 2, bitsPerSecond: 192_000)
        try room.addListener(3)
        for tick in 0..<100 {
            let left = TestSound.sine(1_000, amplitude: 0.4, count: 960, from: tick * 960)
            let right = TestSound.sine(2_000, amplitude: 0.2, count: 960, from: tick * 960)
            room.say(1, zip(left, right).flatMap { [$0, $1] })
            room.tick()
        }
        let both = Array(room.heard(2).suffix(96_000))
        let (left, right) = (stride(from: 0, to: 96_000, by: 2).map { both[$0] }, stride(from: 1, to: 96_000, by: 2).map { both[$0] })
        #expect((0.38...0.42).contains(TestSound.amplitude(of: 1_000, in: left)) && TestSound.amplitude(of: 2_000, in: left) < 0.01)
        #expect((0.19...0.21).contains(TestSound.amplitude(of: 2_000, in: right)) && TestSound.amplitude(of: 1_000, in: right) < 0.01)
        let one = room.heard(3).suffix(48_000)
        #expect((0.19...0.21).contains(TestSound.amplitude(of: 1_000, in: one)) && (0.09...0.11).contains(TestSound.amplitude(of: 2_000, in: one)))
    }
}

@Suite("Soft limiter")
struct SoftLimiterTests {
    private static func limit(_ samples: [Float], channels: Int = 1, isHard: Bool = false) -> [Float] {
        var limiter = SoftLimiter(sampleRate: 48_000, channels: channels, isHard: isHard)
        var out = samples
        var span = out.mutableSpan
        limiter.process(&span)
        return out
    }

    @Test("below −3 dBFS samples come out as they went in, 2.5 ms later")
    func transparent() {
        let noise = TestSound.noise(amplitude: 0.7, count: 48_000, seed: 1)
        #expect(Self.limit(noise) == [Float](repeating: 0, count: 120) + noise.dropLast(120))
    }

    @Test("nothing is louder than the ceiling, whatever comes", arguments: [Float(1), 4, 100, 1e10], [false, true])
    func ceiling(peak: Float, isHard: Bool) {
        var samples: [Float] = []
        for piece in 0..<100 { samples += TestSound.noise(amplitude: piece % 7 == 3 ? peak : 0.05, count: 240, seed: UInt64(piece)) }
        #expect(Self.limit(samples, isHard: isHard).allSatisfy { abs($0) <= SoftLimiter.ceiling + 1e-6 })
    }

    @Test("a loud sine stays a sine: no step, and harmonics below −40 dB")
    func colour() {
        let out = Self.limit(TestSound.sine(400, amplitude: 3, count: 48_000)).suffix(24_000)
        let level = TestSound.amplitude(of: 400, in: out)
        #expect((Double(SoftLimiter.ceiling) * 0.95...Double(SoftLimiter.ceiling) * 1.07).contains(level))
        for harmonic in 2...6 { #expect(TestSound.amplitude(of: 400 * Double(harmonic), in: out) < level / 100) }
    }

    @Test("the gain comes back within half a second")
    func release() {
        let out = Self.limit(TestSound.sine(400, amplitude: 3, count: 24_000) + TestSound.sine(400, amplitude: 0.3, count: 48_000, from: 24_000))
        #expect(TestSound.amplitude(of: 400, in: out[48_000..<52_800]) > 0.29)
    }
}
