import JitterBuffer
import Testing

@Suite("Concealment by repetition, and comfort noise")
struct ConcealmentTests {
    /// Plays `samples`, of which the stretch from `from` of `lost` samples is lost, in pieces of 10 ms; returns what was heard.
    static func play(_ samples: [Float], rate: Int, from: Int, lost: Int, channels: Int = 1) -> [Float] {
        var concealment = ExpandConcealment(sampleRate: rate, channels: channels, seed: 7)
        let piece = rate / 100
        var heard = Array(samples[..<(from * channels)])
        for _ in 0..<lost / piece {
            var made = [Float](repeating: .nan, count: piece * channels)
            var span = made.mutableSpan
            concealment.conceal(history: heard.span, count: piece, into: &span)
            heard += made
        }
        let rest = Array(samples[((from + lost) * channels)...])
        var back = rest + [Float](repeating: 0, count: concealment.mergedMax * channels)
        var span = back.mutableSpan
        let shift = concealment.merge(&span, count: rest.count / channels)
        let (most, isConcealing) = (concealment.mergedMax, concealment.isConcealing)
        #expect(shift >= 0 && shift <= most && !isConcealing)
        return heard + back[..<(rest.count + shift * channels)]
    }

    @Test("a sine goes on through 20 ms that are lost, and back, without a step", arguments: [8_000, 16_000, 48_000], [100.0, 440, 1_000])
    func sine(rate: Int, frequency: Double) {
        let samples = StretchSignals.sine(frequency, rate: rate, seconds: 0.4)
        let heard = Self.play(samples, rate: rate, from: rate / 5, lost: rate / 50)
        #expect(StretchSignals.greatestStep(heard) <= StretchSignals.greatestStep(samples) * 1.1)
        let amplitudes = StretchSignals.amplitudes(heard, frequency: frequency, rate: rate)
        #expect(StretchSignals.decibels(amplitudes.lowerBound / 0.5) > -2)
        #expect(StretchSignals.decibels(amplitudes.upperBound / 0.5) < 0.5)
    }

    @Test("a voice goes on for 20 ms near its level, wherever it breaks off", arguments: [0, 1, 2, 3, 4, 5, 6, 7])
    func voice(break place: Int) {
        let samples = StretchSignals.vowel(rate: 16_000, seconds: 0.5)
        let from = 16_00 * 2 + place * 17
        let heard = Self.play(samples, rate: 16_000, from: from, lost: 320)
        #expect(StretchSignals.greatestStep(heard) <= StretchSignals.greatestStep(samples) * 1.25)
        let made = StretchSignals.level(heard[from..<from + 320])
        #expect(StretchSignals.decibels(made / StretchSignals.level(samples[from..<from + 320])).magnitude < 2)
    }

    @Test("it is silent after 120 ms")
    func end() {
        let samples = StretchSignals.vowel(rate: 16_000, seconds: 0.6)
        let heard = Self.play(samples, rate: 16_000, from: 3_200, lost: 3_200)
        #expect(heard[(3_200 + 1_920)..<(3_200 + 3_200)].allSatisfy { $0 == 0 })
        #expect(StretchSignals.level(heard[3_200..<3_520]) > 0.5 * StretchSignals.level(samples[2_880..<3_200]))
    }

    @Test("noise does not become a buzz: what is made hardly repeats itself")
    func noise() {
        let samples = StretchSignals.noise(16_000, level: 0.1)
        let heard = Self.play(samples, rate: 16_000, from: 8_000, lost: 320)
        let made = Array(heard[8_080..<8_320])
        let period = zip(made, heard[7_000..<8_080].suffix(240)).reduce(Float(0)) { $0 + $1.0 * $1.1 }
        #expect(period.magnitude < 0.5 * Float(240) * 0.01)
        #expect(StretchSignals.decibels(StretchSignals.level(made) / 0.1).magnitude < 2.5)
    }

    @Test("without enough history, and from what is no number, silence or something bounded", arguments: [Float.nan, .infinity, 1e30])
    func hostile(value: Float) {
        var concealment = ExpandConcealment(sampleRate: 8_000, channels: 2, seed: 1)
        var made = [Float](repeating: 1, count: 160)
        var span = made.mutableSpan
        concealment.conceal(history: [Float](repeating: 0.5, count: 10).span, count: 80, into: &span)
        #expect(made.allSatisfy { $0 == 0 })
        concealment.reset()
        span = made.mutableSpan
        let history = [Float](repeating: value, count: 2 * concealment.historyCount)
        concealment.conceal(history: history.span, count: 80, into: &span)
        #expect(made.allSatisfy { $0.magnitude <= 64 })
    }

    @Test("the same seed makes the same samples")
    func deterministic() {
        let samples = StretchSignals.noise(16_000, level: 0.1)
        #expect(Self.play(samples, rate: 16_000, from: 8_000, lost: 640) == Self.play(samples, rate: 16_000, from: 8_000, lost: 640))
    }

    @Test("comfort noise has the level and the colour of the quiet between words", arguments: [1, 2])
    func comfortNoise(channels: Int) {
        var noise = ComfortNoise(sampleRate: 16_000, channels: channels, seed: 3)
        // Low-pass noise at −54 dBFS, with loud speech between.
        var last: Float = 0
        let background = StretchSignals.noise(16_000, level: 0.004).map { sample -> Float in
            last += 0.25 * (sample - last)
            return last
        }
        let speech = StretchSignals.vowel(rate: 16_000, seconds: 1)
        for second in 0..<3 {
            for block in 0..<100 {
                let source = second == 1 ? speech : background
                let piece = source[(block * 160)..<(block * 160 + 160)].flatMap { [Float](repeating: $0, count: channels) }
                noise.learn(piece.span, count: 160)
            }
        }
        let hasLearned = noise.hasLearned
        #expect(hasLearned)
        var made = [Float](repeating: 9, count: 16_000 * channels)
        var span = made.mutableSpan
        noise.generate(into: &span, count: 16_000)
        let left = stride(from: 0, to: made.count, by: channels).map { made[$0] }.dropFirst(800)
        #expect(StretchSignals.decibels(StretchSignals.level(left) / StretchSignals.level(background)).magnitude < 2)
        let alike = { (samples: [Float]) in
            zip(samples.dropFirst(), samples).reduce(Float(0)) { $0 + $1.0 * $1.1 } / samples.reduce(0) { $0 + $1 * $1 }
        }
        #expect((alike(Array(left)) - alike(background)).magnitude < 0.1)
    }

    @Test("loud sound is no background, and before anything was learned there is silence")
    func nothingLearned() {
        var noise = ComfortNoise(sampleRate: 48_000, channels: 1, seed: 3)
        let loud = StretchSignals.noise(480, level: 0.2)
        for _ in 0..<1_000 { noise.learn(loud.span, count: 480) }
        noise.learn([Float](repeating: .nan, count: 480).span, count: 480)
        let (hasLearned, level) = (noise.hasLearned, noise.level)
        #expect(!hasLearned && level == 0)
        var made = [Float](repeating: 9, count: 480)
        var span = made.mutableSpan
        noise.generate(into: &span, count: 480)
        #expect(made.allSatisfy { $0 == 0 })
    }
}
