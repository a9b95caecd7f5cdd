import Glibc
import RelayBase

/// Sound that players are given: of the pattern of speech that every trace carries, so that time stretch has to do with voiced, noisy and silent parts.
///
/// Synthetic and the same everywhere; quality is scored with real speech.
enum SpeechSignal {
    static let sampleRate = 16_000

    /// A period of the pattern.
    static let samples: [Float] = make()

    private static func make() -> [Float] {
        let pattern = SpeechPattern()
        var generator = SeededGenerator(seed: 7)
        let unit = Int(SpeechPattern.unit) * sampleRate / 1_000_000_000
        var samples = [Float](repeating: 0, count: pattern.period * unit)
        var phase = 0.0
        var syllable = Syllable(&generator)
        var place = 0
        while place < samples.count {
            let isTalking = pattern.place(at: Int64(place) * 1_000_000_000 / Int64(sampleRate)).isTalking
            for _ in 0..<unit {
                let noise = Float(Double.random(in: -1...1, using: &generator))
                if isTalking {
                    if syllable.rest == 0 { syllable = Syllable(&generator) }
                    samples[place] = syllable.next(&phase, noise)
                } else {
                    samples[place] = noise * 0.000_3
                }
                place += 1
            }
        }
        return samples
    }

    /// A consonant of noise or nothing, and a vowel: about five a second.
    private struct Syllable {
        private let length: Int
        private let consonant: Int
        private let consonantLevel: Float
        private let pitch: Double
        private let glide: Double
        private let weights: [Float]
        private(set) var rest: Int

        init(_ generator: inout SeededGenerator) {
            length = Int.random(in: 2_000...4_400, using: &generator)
            consonant = Int.random(in: 300...1_000, using: &generator)
            consonantLevel = Bool.random(using: &generator) ? 0.03 : 0.001
            pitch = Double.random(in: 100...150, using: &generator)
            glide = Double.random(in: -0.15...0.15, using: &generator)
            weights = (1...8).map { _ in Float.random(in: 0.1...1, using: &generator) }
            rest = length
        }

        mutating func next(_ phase: inout Double, _ noise: Float) -> Float {
            let place = length - rest
            rest -= 1
            guard place >= consonant else { return noise * consonantLevel }
            let part = Double(place - consonant) / Double(length - consonant)
            phase += 2 * Double.pi * pitch * (1 + glide * part) / Double(SpeechSignal.sampleRate)
            if phase > 2 * Double.pi { phase -= 2 * Double.pi }
            // Harmonics by the recurrence of the sine.
            let double = Float(2 * cos(phase))
            var before: Float = 0
            var now = Float(sin(phase))
            var sum: Float = 0
            for (harmonic, weight) in weights.enumerated() {
                sum += now * weight / Float(harmonic + 1)
                (before, now) = (now, double * now - before)
            }
            return sum * 0.15 * Float(sin(Double.pi * part)) + noise * 0.001
        }
    }
}
