import JitterBuffer
import Testing

@Suite("Time stretch")
struct TimeStretchTests {
    enum Mode: CaseIterable { case accelerate, fast, expand }

    struct Stretched {
        var samples: [Float] = []
        /// Pieces in all, and pieces that were changed.
        var pieces = 0
        var changed = 0
    }

    /// Stretches every piece of `milliseconds` by itself, as often as it can: more than any buffer would.
    static func stretch(_ samples: [Float], rate: Int, channels: Int = 1, mode: Mode, milliseconds: Int = 30) -> Stretched {
        var stretch = TimeStretch(sampleRate: rate, channels: channels)
        let piece = rate * milliseconds / 1_000
        var room = [Float](repeating: 0, count: (piece + stretch.insertedMax) * channels)
        var result = Stretched()
        for first in stride(from: 0, through: samples.count - piece * channels, by: piece * channels) {
            for place in 0..<piece * channels { room[place] = samples[first + place] }
            var span = room.mutableSpan
            let more =
                switch mode {
                case .accelerate: -stretch.accelerate(&span, count: piece, isFast: false)
                case .fast: -stretch.accelerate(&span, count: piece, isFast: true)
                case .expand: stretch.preemptiveExpand(&span, count: piece)
                }
            result.pieces += 1
            result.changed += more != 0 ? 1 : 0
            result.samples += room[..<((piece + more) * channels)]
        }
        return result
    }

    @Test(
        "a 440 Hz sine keeps its level, its waveform and its purity, at every rate", arguments: [8_000, 12_000, 16_000, 24_000, 44_100, 48_000],
        Mode.allCases)
    func sine(rate: Int, mode: Mode) {
        let samples = StretchSignals.sine(440, rate: rate, seconds: 3)
        let stretched = Self.stretch(samples, rate: rate, mode: mode)
        #expect(stretched.changed == stretched.pieces, "each piece of a sine can be stretched")
        let ratio = Double(stretched.samples.count) / Double(samples.count)
        #expect(mode == .expand ? ratio > 1.08 : ratio < 0.92)
        let amplitudes = StretchSignals.amplitudes(stretched.samples, frequency: 440, rate: rate)
        #expect(StretchSignals.decibels(amplitudes.lowerBound / 0.5) > -0.5)
        #expect(StretchSignals.decibels(amplitudes.upperBound / 0.5) < 0.5)
        #expect(StretchSignals.greatestStep(stretched.samples) <= StretchSignals.greatestStep(samples) * 1.1)
        let spur = StretchSignals.strongestSpur(stretched.samples, frequency: 440, rate: rate)
        #expect(spur < -40, "strongest spur \(spur) dB")
    }

    @Test("other tones keep their waveform, with every piece stretched", arguments: [100.0, 250, 1_000, 3_000, 7_000], Mode.allCases)
    func tones(frequency: Double, mode: Mode) {
        let samples = StretchSignals.sine(frequency, rate: 48_000, seconds: 1)
        let stretched = Self.stretch(samples, rate: 48_000, mode: mode)
        #expect(stretched.changed == stretched.pieces)
        #expect(StretchSignals.greatestStep(stretched.samples) <= StretchSignals.greatestStep(samples) * 1.1)
        let amplitudes = StretchSignals.amplitudes(stretched.samples, frequency: frequency, rate: 48_000)
        #expect(StretchSignals.decibels(amplitudes.lowerBound / 0.5) > -0.5)
        #expect(StretchSignals.decibels(amplitudes.upperBound / 0.5) < 0.5)
    }

    @Test("a voice is stretched without clicks and at its level", arguments: [8_000, 16_000, 48_000], Mode.allCases)
    func voice(rate: Int, mode: Mode) {
        let samples = StretchSignals.vowel(rate: rate, seconds: 2)
        let stretched = Self.stretch(samples, rate: rate, mode: mode)
        #expect(stretched.changed * 10 >= stretched.pieces * 8, "\(stretched.changed) of \(stretched.pieces) pieces")
        #expect(StretchSignals.greatestStep(stretched.samples) <= StretchSignals.greatestStep(samples) * 1.1)
        #expect(StretchSignals.decibels(StretchSignals.level(stretched.samples) / StretchSignals.level(samples)).magnitude < 0.5)
    }

    @Test("both channels are stretched alike, opposite ones too", arguments: [Mode.accelerate, .expand])
    func stereo(mode: Mode) {
        let mono = StretchSignals.vowel(rate: 48_000, seconds: 1)
        let stereo = mono.flatMap { [$0, -0.5 * $0] }
        let stretched = Self.stretch(stereo, rate: 48_000, channels: 2, mode: mode)
        #expect(stretched.changed > 0)
        for frame in 0..<stretched.samples.count / 2 {
            #expect(stretched.samples[2 * frame + 1] == -0.5 * stretched.samples[2 * frame])
        }
    }

    @Test("of silence any length goes, and fast all but 15 ms", arguments: [Float(0), 1e-3])
    func silence(level: Float) {
        let room = StretchSignals.noise(48 * 75, level: level)
        var stretch = TimeStretch(sampleRate: 48_000, channels: 1)
        for (isFast, removed) in [(false, 15), (true, 45)] {
            var samples = room
            var span = samples.mutableSpan
            #expect(stretch.accelerate(&span, count: 48 * 60, isFast: isFast) == 48 * removed)
            var bounded = room
            span = bounded.mutableSpan
            #expect(stretch.accelerate(&span, count: 48 * 60, isFast: isFast, removingAtMost: 480) == 480)
            if level > 0 {
                #expect(StretchSignals.decibels(StretchSignals.level(bounded[..<(48 * 50)]) / Double(level)).magnitude < 1)
            }
        }
        var samples = room
        var span = samples.mutableSpan
        #expect(stretch.preemptiveExpand(&span, count: 48 * 60) == 48 * 15)
    }

    @Test("noise that is no silence is left alone unless it must go fast")
    func noise() {
        let samples = StretchSignals.noise(48_000, level: 0.1)
        #expect(Self.stretch(samples, rate: 48_000, mode: .accelerate).changed == 0)
        #expect(Self.stretch(samples, rate: 48_000, mode: .expand).changed == 0)
    }

    @Test("a transient is neither cut nor doubled", arguments: [Mode.accelerate, .expand], [0, 3, 7, 11, 14, 16, 19, 23, 27, 29])
    func transient(mode: Mode, milliseconds: Int) {
        // A stroke of a drum in silence, and a click in a steady tone.
        let decay = (0..<240).map { place -> Float in
            let level = 0.8 * Float(240 - place) / 240
            return place / 7 % 2 == 0 ? level : -level
        }
        for base in [[Float](repeating: 0, count: 48 * 30), StretchSignals.sine(440, rate: 48_000, seconds: 0.03, amplitude: 0.1)] {
            var samples = base
            for place in 0..<240 where milliseconds * 48 + place < samples.count { samples[milliseconds * 48 + place] += decay[place] }
            let stretched = Self.stretch(samples, rate: 48_000, mode: mode)
            let strokes = { (samples: [Float]) in samples.count { $0.magnitude > 0.6 } }
            #expect(strokes(stretched.samples) == strokes(samples))
        }
    }

    @Test("less than 30 ms is left alone, and a bound below one period")
    func bounds() {
        var stretch = TimeStretch(sampleRate: 48_000, channels: 1)
        var samples = StretchSignals.sine(440, rate: 48_000, seconds: 0.06)
        var span = samples.mutableSpan
        #expect(stretch.accelerate(&span, count: 48 * 30 - 1, isFast: true) == 0)
        #expect(stretch.accelerate(&span, count: 48 * 30, isFast: true, removingAtMost: 119) == 0)
        #expect(stretch.preemptiveExpand(&span, count: 48 * 30, insertingAtMost: 119) == 0)
        let removed = stretch.accelerate(&span, count: 48 * 30, isFast: false, removingAtMost: 300)
        #expect(removed > 0 && removed <= 300)
    }

    @Test("what is no number is left alone", arguments: [Float.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
    func hostile(value: Float) {
        for mode in Mode.allCases {
            var samples = StretchSignals.sine(440, rate: 16_000, seconds: 0.3)
            samples[700] = value
            let stretched = Self.stretch(samples, rate: 16_000, mode: mode, milliseconds: 60)
            #expect(stretched.pieces == 5)
        }
    }
}
