import Glibc

/// Signals that are made, and measures of what became of them.
enum StretchSignals {
    static func sine(_ frequency: Double, rate: Int, seconds: Double, channels: Int = 1, amplitude: Double = 0.5) -> [Float] {
        let frames = Int(Double(rate) * seconds)
        return (0..<frames * channels).map { Float(amplitude * sin(2 * .pi * frequency * Double($0 / channels) / Double(rate))) }
    }

    /// Like a voice: pulses at a pitch that glides from 110 to 160 Hz and back, through two resonances.
    static func vowel(rate: Int, seconds: Double) -> [Float] {
        let frames = Int(Double(rate) * seconds)
        var phase = 0.0
        var excitation: [Double] = []
        for frame in 0..<frames {
            phase += (135 + 25 * sin(2 * .pi * 0.7 * Double(frame) / Double(rate))) / Double(rate)
            excitation.append(phase >= 1 ? 1 : 0)
            if phase >= 1 { phase -= 1 }
        }
        let sound = resonance(resonance(excitation, 700, 90, rate), 1_200, 110, rate)
        let peak = sound.map(\.magnitude).max() ?? 1
        return sound.map { Float($0 / peak * 0.6) }
    }

    static func noise(_ count: Int, level: Float, seed: UInt64 = 1) -> [Float] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return level * (Float(state >> 40) / Float(1 << 23) - 1) * 1.732_050_8
        }
    }

    private static func resonance(_ samples: [Double], _ frequency: Double, _ width: Double, _ rate: Int) -> [Double] {
        let radius = exp(-.pi * width / Double(rate))
        let turn = 2 * radius * cos(2 * .pi * frequency / Double(rate))
        var (last, before) = (0.0, 0.0)
        return samples.map { sample in
            let next = sample + turn * last - radius * radius * before
            (last, before) = (next, last)
            return next
        }
    }

    static func level(_ samples: some Collection<Float>) -> Double {
        (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)).squareRoot()
    }

    static func decibels(_ ratio: Double) -> Double { 20 * log10(max(ratio, 1e-12)) }

    static func greatestStep(_ samples: [Float], channels: Int = 1) -> Double {
        zip(samples.dropFirst(channels), samples).reduce(0) { max($0, Double(($1.0 - $1.1).magnitude)) }
    }

    /// Least and greatest amplitude of a sine of `frequency` in windows of 20 ms, each fitted by itself.
    static func amplitudes(_ samples: [Float], frequency: Double, rate: Int) -> ClosedRange<Double> {
        let window = rate / 50
        let starts = stride(from: 0, through: samples.count - window, by: window / 2)
        let found = starts.map { start in
            var (real, imaginary) = (0.0, 0.0)
            var weights = 0.0
            for place in 0..<window {
                let weight = 0.5 - 0.5 * cos(2 * .pi * (Double(place) + 0.5) / Double(window))
                let turn = 2 * .pi * frequency * Double(place) / Double(rate)
                real += weight * Double(samples[start + place]) * cos(turn)
                imaginary += weight * Double(samples[start + place]) * sin(turn)
                weights += weight
            }
            return 2 * (real * real + imaginary * imaginary).squareRoot() / weights
        }
        return (found.min() ?? 0)...(found.max() ?? 0)
    }

    /// The strongest component further than `apart` hertz from `frequency`, in decibels against the one at `frequency`: a spectrum of the first second through
    /// a Blackman window.
    static func strongestSpur(_ samples: [Float], frequency: Double, rate: Int, apart: Double = 10) -> Double {
        let count = min(samples.count, rate)
        let windowed = (0..<count).map { place in
            let turn = 2 * .pi * (Double(place) + 0.5) / Double(count)
            return Double(samples[place]) * (0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn))
        }
        func power(_ frequency: Double) -> Double {
            let turn = 2 * cos(2 * .pi * frequency / Double(rate))
            var (last, before) = (0.0, 0.0)
            for sample in windowed { (last, before) = (sample + turn * last - before, last) }
            return max(last * last + before * before - turn * last * before, 0)
        }
        let carrier = (-4...4).map { power(frequency + Double($0) * 0.5) }.max() ?? 1
        let others = stride(from: 5.0, to: Double(rate) / 2, by: 5).filter { ($0 - frequency).magnitude > apart }.map { power($0) }
        return 10 * log10((others.max() ?? 0) / carrier)
    }
}
