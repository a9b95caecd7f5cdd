import Glibc
import JitterBuffer

/// What time stretch does to a sine: its delay is moved to and fro by 120 ms, and nothing else happens.
struct StretchArtefacts {
    let hertz: Double
    let removedMilliseconds: Double
    let insertedMilliseconds: Double
    /// The largest deviation of the level of 20 ms, in decibels.
    let levelDecibels: Double
    /// The largest step between neighbouring samples, of the sine's own largest.
    let stepRatio: Double
    /// Power outside of the sine, in decibels against it, over the whole.
    let spursDecibels: Double

    static let frequencies = [110.0, 440, 1_000, 2_500]
    static let levelMax = 0.5
    static let stepMax = 1.1

    init(hertz: Double, seconds: Int = 18) {
        self.hertz = hertz
        let rate = Double(Hearing.sampleRate)
        let tone = (0..<seconds * Hearing.sampleRate).map { Float(0.5 * sin(2 * Double.pi * hertz * Double($0) / rate)) }
        let (samples, statistics, _) = Hearing.play(
            PlainDecoder.packets(tone), over: Hearing.even(seconds: seconds), by: PlainDecoder(), JitterConfiguration(), adjust: Hearing.swing)
        removedMilliseconds = Double(statistics.removedByAccelerate) * 1_000 / rate
        insertedMilliseconds = Double(statistics.insertedByExpand) * 1_000 / rate
        // From after the beginning to before the end.
        let part = Array(samples.dropFirst(Hearing.sampleRate / 2).dropLast(Hearing.sampleRate))
        var step: Float = 0
        for (one, next) in zip(part, part.dropFirst()) { step = max(step, abs(next - one)) }
        stepRatio = Double(step) / (2 * 0.5 * sin(Double.pi * hertz / rate))
        var level = 0.0
        var power = 0.0
        var explained = 0.0
        // Windows of 20 ms: within one, what a sine of that frequency explains, of whatever phase, by least squares.
        let window = Hearing.sampleRate / 50
        for begin in stride(from: 0, to: part.count - window, by: window) {
            var (cosines, sines, cc, ss, cs, sum) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for place in 0..<window {
                let sample = Double(part[begin + place])
                let angle = 2 * Double.pi * hertz * Double(place) / rate
                let (c, s) = (cos(angle), sin(angle))
                cosines += sample * c
                sines += sample * s
                cc += c * c
                ss += s * s
                cs += c * s
                sum += sample * sample
            }
            let determinant = cc * ss - cs * cs
            let a = (cosines * ss - sines * cs) / determinant
            let b = (sines * cc - cosines * cs) / determinant
            power += sum
            explained += min(sum, a * cosines + b * sines)
            level = max(level, abs(10 * log10(max(1e-9, sum / Double(window) / 0.125))))
        }
        levelDecibels = level
        spursDecibels = 10 * log10(max(1e-12, (power - explained) / max(1e-12, power)))
    }

    var holds: Bool { levelDecibels <= Self.levelMax && stepRatio <= Self.stepMax }

    static func table(_ all: [StretchArtefacts]) -> String {
        Decimals.table(
            ["sine", "removed ms", "inserted ms", "level ± dB (≤ 0.5)", "step ÷ own (≤ 1.1)", "other than the sine, dB", "verdict"],
            all.map {
                [
                    "\(Decimals.fixed($0.hertz, 0)) Hz", Decimals.fixed($0.removedMilliseconds, 0), Decimals.fixed($0.insertedMilliseconds, 0),
                    Decimals.fixed($0.levelDecibels, 2), Decimals.fixed($0.stepRatio, 2), Decimals.fixed($0.spursDecibels, 1),
                    $0.holds ? "holds" : "FAILS",
                ]
            })
    }
}
