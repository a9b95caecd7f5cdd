import RelayBase

/// Noise of a given colour: white noise through an all-pole filter, whose coefficients come from an autocorrelation (Levinson and Durbin's recursion).
///
/// Deterministic: the same seed and the same calls give the same samples, natively and in WebAssembly.
struct StretchNoise: ~Copyable {
    /// Poles of the filter: enough for the tilt and the broad hums of a room.
    static var order: Int { 10 }

    private let channels: Int
    private var generator: SeededGenerator
    /// 1, a₁ … of the prediction error filter.
    private var filter: [Float]
    private var work: [Double]
    private var autocorrelation: [Double]
    /// The last `order` outputs of each channel, newest first.
    private var memory: [Float]
    /// What white noise of power 1 is multiplied by so that the filter's output has power 1.
    private var scale: Float = 1

    init(channels: Int, seed: UInt64) {
        self.channels = channels
        generator = SeededGenerator(seed: seed)
        filter = Array(repeating: 0, count: Self.order + 1)
        filter[0] = 1
        work = Array(repeating: 0, count: Self.order + 1)
        autocorrelation = Array(repeating: 0, count: Self.order + 1)
        memory = Array(repeating: 0, count: Self.order * channels)
    }

    /// Takes on the colour of `count` samples per channel from `first` on; of the colour it had, the part `kept` stays.
    mutating func learn(_ samples: Span<Float>, first: Int, count: Int, kept: Double) {
        for lag in 0...Self.order {
            let length = max(count - lag, 0) * channels
            let sum = StretchKernels.dotProduct(samples, first * channels, (first + min(lag, count)) * channels, count: length)
            let mean = Double(sum) / Double(max(count * channels, 1))
            autocorrelation[lag] = kept * autocorrelation[lag] + (1 - kept) * (mean.isFinite ? mean : 0)
        }
        shape()
    }

    /// The filter of the autocorrelation; one without power leaves the noise white.
    private mutating func shape() {
        for place in 0...Self.order { filter[place] = place == 0 ? 1 : 0 }
        scale = 1
        // White noise 40 dB below keeps the recursion from dividing by nothing when the sound is a tone.
        let power = autocorrelation[0] * 1.0001
        guard power > 1e-18, power.isFinite else { return }
        var error = power
        for step in 1...Self.order {
            var sum = autocorrelation[step]
            for place in 1..<step { sum += Double(filter[place]) * autocorrelation[step - place] }
            let reflection = -sum / error
            guard reflection.magnitude < 0.999 else { break }
            for place in 1..<step { work[place] = Double(filter[place]) + reflection * Double(filter[step - place]) }
            for place in 1..<step { filter[place] = Float(work[place]) }
            filter[step] = Float(reflection)
            error *= 1 - reflection * reflection
        }
        scale = Float((error / power).squareRoot())
    }

    /// One sample of a channel, of power 1 on average.
    mutating func next(channel: Int) -> Float {
        let base = channel * Self.order
        var sample = scale * white()
        for place in 0..<Self.order { sample -= filter[place + 1] * memory[base + place] }
        // Neither a filter at the edge of stability nor numbers too small for the machine's fast path last.
        if !(sample.magnitude < 64) || sample.magnitude < 1e-15 { sample = 0 }
        for place in stride(from: Self.order - 1, to: 0, by: -1) { memory[base + place] = memory[base + place - 1] }
        memory[base] = sample
        return sample
    }

    /// Nearly Gaussian, of mean 0 and power 1: the sum of four even numbers of 16 bits.
    private mutating func white() -> Float {
        let bits = generator.next()
        let sum = Int32(bits & 0xFFFF) + Int32(bits >> 16 & 0xFFFF) + Int32(bits >> 32 & 0xFFFF) + Int32(bits >> 48)
        // Four even numbers in 0 … 1 have the variance ⅓ together.
        return Float(sum - 131_070) * (1.732_050_8 / 65_536)
    }
}
