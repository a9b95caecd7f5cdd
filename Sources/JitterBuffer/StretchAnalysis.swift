/// Finds the distance at which a piece of sound is most like what follows it: its period, or a multiple of that.
///
/// Likeness of two pieces is 2·Σxy / (Σx² + Σy²): 1 where they are the same, below that also where one is louder. The search goes in two steps: over every lag at
/// about 8 kHz, then around the best of these at the full rate. The mean over samples that makes the low rate lets high tones alias, which does not matter here:
/// a lag at which the alias fits is one at which the tone fits.
struct StretchAnalysis: ~Copyable {
    struct Lag {
        /// Samples per channel.
        var length: Int
        var likeness: Float
    }

    let sampleRate: Int
    let channels: Int
    /// 2.5 ms and 15 ms, samples per channel: a pitch of 67 to 400 Hz.
    let lagMin: Int
    let lagMax: Int
    /// What is compared: 10 ms, samples per channel.
    let window: Int
    private let decimation: Int
    private var decimated: [Float]
    private var scores: [Float]
    private var candidates: [Lag]

    /// Coarse maxima that are looked at closely.
    private static var candidatesMax: Int { 4 }
    /// Power per sample below which there is nothing to compare: it would be rounding.
    static var powerMin: Float { 1e-12 }

    init(sampleRate: Int, channels: Int) {
        precondition((8_000...48_000).contains(sampleRate) && (1...2).contains(channels), "8 to 48 kHz, mono or stereo")
        self.sampleRate = sampleRate
        self.channels = channels
        lagMin = sampleRate / 400
        lagMax = sampleRate * 3 / 200
        window = sampleRate / 100
        decimation = sampleRate / 8_000
        decimated = Array(repeating: 0, count: ((window + lagMax) / decimation + 2) * channels)
        scores = Array(repeating: 0, count: lagMax / decimation + 3)
        candidates = Array(repeating: Lag(length: lagMin, likeness: -1), count: Self.candidatesMax)
    }

    /// Likeness of the pieces that begin at `first` and `second`, in samples per channel.
    func likeness(_ samples: Span<Float>, _ first: Int, _ second: Int, count: Int) -> Float {
        let energy = StretchKernels.energy(samples, first * channels, count: count * channels)
        return likeness(samples, first, second, count: count, firstEnergy: energy)
    }

    private func likeness(_ samples: Span<Float>, _ first: Int, _ second: Int, count: Int, firstEnergy: Float) -> Float {
        let product = StretchKernels.dotProduct(samples, first * channels, second * channels, count: count * channels)
        let power = firstEnergy + StretchKernels.energy(samples, second * channels, count: count * channels)
        guard power > Self.powerMin * Float(count) else { return 0 }
        return 2 * product / power
    }

    /// The lag at which what begins at `anchor` is most like what begins at `anchor` + lag.
    ///
    /// - Parameters:
    ///   - samples: at least `anchor` + `window` + `longest` per channel.
    ///   - longest: samples per channel, at most ``lagMax``.
    ///   - prefersLong: the longest lag that is nearly as good as the best.
    mutating func bestLag(_ samples: Span<Float>, anchor: Int, longest: Int, prefersLong: Bool) -> Lag {
        decimate(samples, from: anchor)
        // One more on either side than is allowed, so that a maximum at the edge is one.
        let first = max(1, lagMin / decimation - 1)
        let last = min(longest / decimation + 1, (window + lagMax) / decimation - window / decimation)
        score(first...last)
        var best = Lag(length: lagMin, likeness: -1)
        var bound = Float.infinity
        for place in 0..<Self.candidatesMax {
            candidates[place] = Lag(length: lagMin, likeness: -1)
            guard let coarse = highestPeak(first...last, below: bound) else { continue }
            bound = scores[coarse]
            let refined = refine(samples, anchor: anchor, around: coarse * decimation, longest: longest)
            candidates[place] = refined
            if refined.likeness > best.likeness { best = refined }
        }
        guard prefersLong else { return best }
        // Twice as unlike as the best will do; for a tone, nearly as good as that.
        let enough = best.likeness - (1 - best.likeness) - 0.001
        for place in 0..<Self.candidatesMax where candidates[place].likeness >= enough && candidates[place].length > best.length {
            best = candidates[place]
        }
        return best
    }

    private mutating func decimate(_ samples: Span<Float>, from anchor: Int) {
        let frames = (window + lagMax) / decimation
        let available = samples.count / channels
        let scale = 1 / Float(decimation)
        for frame in 0..<frames {
            let begin = anchor + frame * decimation
            for channel in 0..<channels {
                var sum: Float = 0
                if begin + decimation <= available {
                    for step in 0..<decimation { sum += samples[(begin + step) * channels + channel] }
                }
                decimated[frame * channels + channel] = sum * scale
            }
        }
    }

    private mutating func score(_ lags: ClosedRange<Int>) {
        let energy = StretchKernels.energy(decimated.span, 0, count: window / decimation * channels)
        for lag in lags {
            let likeness = coarseLikeness(lag, energy: energy)
            scores[lag] = likeness
        }
    }

    private func coarseLikeness(_ lag: Int, energy: Float) -> Float {
        let count = window / decimation * channels
        let span = decimated.span
        let power = energy + StretchKernels.energy(span, lag * channels, count: count)
        guard power > Self.powerMin * Float(count) else { return 0 }
        return 2 * StretchKernels.dotProduct(span, 0, lag * channels, count: count) / power
    }

    /// The highest local maximum whose score is below `bound`; of equal ones the shortest lag.
    private func highestPeak(_ lags: ClosedRange<Int>, below bound: Float) -> Int? {
        var found: Int?
        for lag in lags {
            let score = scores[lag]
            guard score < bound, score > -1 else { continue }
            if lag > lags.lowerBound, scores[lag - 1] > score { continue }
            if lag < lags.upperBound, scores[lag + 1] > score { continue }
            if let best = found, scores[best] >= score { continue }
            found = lag
        }
        return found
    }

    private func refine(_ samples: Span<Float>, anchor: Int, around lag: Int, longest: Int) -> Lag {
        let first = min(max(lag - decimation, lagMin), longest)
        let last = max(min(lag + decimation, longest), first)
        var best = Lag(length: first, likeness: -1)
        let energy = StretchKernels.energy(samples, anchor * channels, count: window * channels)
        for length in first...last {
            let likeness = likeness(samples, anchor, anchor + length, count: window, firstEnergy: energy)
            if likeness > best.likeness { best = Lag(length: length, likeness: likeness) }
        }
        return best
    }
}
