/// Goes on without packets where the decoder cannot: repeats the last period of what was played, gives way to noise of the same colour, and dies away.
///
/// The repetition is in the manner of ITU-T G.711 appendix I, at any rate and without its delay: the last period's end goes over into what came before it, so
/// that it can follow itself, and the step at the very beginning is spread over 2.5 ms. Sound without a period is made of noise instead, since repeating it
/// would buzz. Full level for 20 ms, silence after 120 ms. Allocates nothing after `init`; deterministic by its seed.
package struct ExpandConcealment: ~Copyable {
    private var analysis: StretchAnalysis
    private var noise: StretchNoise
    private var period: [Float]
    private var periodLength = 0
    private var place = 0
    /// What the repetition was beside the last sample, for each channel; spread over the first samples.
    private var step: [Float]
    private var noiseLevel: [Float]
    private var voicing: Float = 1
    private var continuation: [Float]
    /// Samples per channel concealed since the last real sound.
    package private(set) var concealedCount = 0
    private var hasBegun = false

    private static var fullMilliseconds: Int { 20 }
    private static var endMilliseconds: Int { 120 }

    /// - Parameters:
    ///   - sampleRate: 8,000 to 48,000 hertz.
    ///   - channels: 1 or 2.
    package init(sampleRate: Int, channels: Int, seed: UInt64) {
        analysis = StretchAnalysis(sampleRate: sampleRate, channels: channels)
        noise = StretchNoise(channels: channels, seed: seed)
        period = Array(repeating: 0, count: analysis.lagMax * channels)
        step = Array(repeating: 0, count: channels)
        noiseLevel = Array(repeating: 0, count: channels)
        continuation = Array(repeating: 0, count: (analysis.lagMax + analysis.window) * channels)
    }

    /// Samples per channel of what was played last that ``conceal(history:count:into:)`` looks at: 40 ms. With less it makes silence.
    package var historyCount: Int { 2 * analysis.lagMax + analysis.window }
    /// The most that ``merge(_:count:)`` puts before real sound, samples per channel: 15 ms.
    package var mergedMax: Int { analysis.lagMax }
    package var isConcealing: Bool { hasBegun }

    /// Makes the next `count` samples per channel.
    ///
    /// - Parameter history: interleaved, the last that was played; looked at only by the first call after real sound.
    package mutating func conceal(history: Span<Float>, count: Int, into samples: inout MutableSpan<Float>) {
        precondition(count >= 0 && count <= samples.count / analysis.channels, "room for what is made")
        if !hasBegun { begin(history) }
        proceed(into: &samples, count: count)
    }

    /// Joins real sound to the concealment: shifts it by up to one period, so that the waves meet, and goes over into it.
    ///
    /// - Parameters:
    ///   - samples: interleaved real sound, at the front, with room for `count` + ``mergedMax`` per channel.
    ///   - count: samples per channel that are there.
    /// - Returns: how many samples per channel there are more than `count`; the concealment is over.
    package mutating func merge(_ samples: inout MutableSpan<Float>, count: Int) -> Int {
        let channels = analysis.channels
        precondition(count >= 0 && count <= samples.count / channels - mergedMax, "room for one period more")
        guard hasBegun else { return 0 }
        defer { reset() }
        let overlap = min(analysis.window, count)
        guard overlap > 0 else { return 0 }
        make(count: analysis.lagMax + overlap)
        let (shift, likeness) = alignment(samples.span, overlap: overlap)
        StretchKernels.move(&samples, from: 0, to: shift * channels, count: count * channels)
        for place in 0..<shift * channels { samples[place] = continuation[place] }
        let alike = Crossfade.bounded(likeness)
        for frame in shift..<shift + overlap {
            let weight = Crossfade.weight(frame - shift, of: overlap)
            let gain = Crossfade.gain(weight, similarity: alike)
            for place in frame * channels..<(frame + 1) * channels {
                samples[place] = gain * ((1 - weight) * continuation[place] + weight * samples[place])
            }
        }
        return shift
    }

    /// Forgets; the next concealment looks at the history again.
    package mutating func reset() {
        hasBegun = false
        concealedCount = 0
        place = 0
    }

    // MARK: Beginning

    private mutating func begin(_ history: Span<Float>) {
        hasBegun = true
        concealedCount = 0
        place = 0
        let channels = analysis.channels
        let available = history.count / channels
        guard available >= historyCount else {
            periodLength = 0
            return
        }
        // Likeness looks forward: the last window is compared with those before it by anchoring at each.
        let lag = periodBefore(history, end: available)
        periodLength = lag.length
        voicing = min(max((lag.likeness - 0.3) / 0.4, 0), 1)
        takePeriod(history, end: available)
        let begin = available - analysis.window
        noise.learn(history, first: begin, count: analysis.window, kept: 0)
        for channel in 0..<channels {
            var sum: Float = 0
            for frame in begin..<available { sum += history[frame * channels + channel] * history[frame * channels + channel] }
            let power = sum / Float(analysis.window)
            noiseLevel[channel] = power.isFinite ? min(power, 1).squareRoot() : 0
        }
    }

    /// The lag by which the last window is most like what came before it.
    private func periodBefore(_ history: Span<Float>, end: Int) -> StretchAnalysis.Lag {
        let window = analysis.window
        var best = StretchAnalysis.Lag(length: analysis.lagMax, likeness: -1)
        let coarse = max(analysis.sampleRate / 8_000, 1)
        for length in stride(from: analysis.lagMin, through: analysis.lagMax, by: coarse) {
            let likeness = analysis.likeness(history, end - window - length, end - window, count: window)
            if likeness > best.likeness { best = StretchAnalysis.Lag(length: length, likeness: likeness) }
        }
        for length in max(best.length - coarse, analysis.lagMin)...min(best.length + coarse, analysis.lagMax) {
            let likeness = analysis.likeness(history, end - window - length, end - window, count: window)
            if likeness > best.likeness { best = StretchAnalysis.Lag(length: length, likeness: likeness) }
        }
        return best
    }

    private mutating func takePeriod(_ history: Span<Float>, end: Int) {
        let channels = analysis.channels
        let first = (end - periodLength) * channels
        for sample in 0..<periodLength * channels { period[sample] = finite(history[first + sample]) }
        // Its end goes over into what came before its beginning.
        let overlap = min(periodLength / 2, analysis.sampleRate / 200)
        let before = first - overlap * channels
        let tail = (periodLength - overlap) * channels
        for frame in 0..<overlap {
            let weight = Crossfade.weight(frame, of: overlap)
            for sample in frame * channels..<(frame + 1) * channels {
                period[tail + sample] = (1 - weight) * period[tail + sample] + weight * finite(history[before + sample])
            }
        }
        for channel in 0..<channels {
            step[channel] = finite(history[(end - 1) * channels + channel]) - finite(history[first - channels + channel])
        }
    }

    private func finite(_ sample: Float) -> Float { sample.magnitude < 64 ? sample : 0 }

    // MARK: Going on

    private mutating func proceed(into samples: inout MutableSpan<Float>, count: Int) {
        for frame in 0..<count {
            let level = level
            let spread = spread
            for channel in 0..<analysis.channels {
                samples[frame * analysis.channels + channel] = sample(channel, level: level, spread: spread)
            }
            advance()
        }
    }

    private mutating func make(count: Int) {
        for frame in 0..<count {
            let level = level
            let spread = spread
            for channel in 0..<analysis.channels {
                continuation[frame * analysis.channels + channel] = sample(channel, level: level, spread: spread)
            }
            advance()
        }
    }

    private mutating func advance() {
        concealedCount += 1
        place += 1
        if place >= periodLength { place = 0 }
    }

    /// 1 for the first 20 ms, then down to 0 at 120 ms.
    private var level: Float {
        let full = analysis.sampleRate * Self.fullMilliseconds / 1_000
        let end = analysis.sampleRate * Self.endMilliseconds / 1_000
        if concealedCount <= full { return 1 }
        if concealedCount >= end { return 0 }
        let left = Float(end - concealedCount) / Float(end - full)
        return left * left
    }

    private var spread: Float {
        let over = analysis.sampleRate / 400
        return concealedCount < over ? 1 - Crossfade.weight(concealedCount, of: over) : 0
    }

    private mutating func sample(_ channel: Int, level: Float, spread: Float) -> Float {
        guard periodLength > 0, level > 0 else { return 0 }
        let repeated = period[place * analysis.channels + channel] + spread * step[channel]
        // Noise comes in over 2.5 ms: at once it would be a step.
        let noisy = (1 - voicing) * (1 - spread)
        guard noisy > 0 else { return level * repeated }
        let voiced = (1 - noisy * noisy).squareRoot()
        return level * (voiced * repeated + noisy * noiseLevel[channel] * noise.next(channel: channel))
    }

    // MARK: Coming back

    /// By how much real sound is best shifted against the continuation.
    private func alignment(_ samples: Span<Float>, overlap: Int) -> (shift: Int, likeness: Float) {
        let channels = analysis.channels
        let count = overlap * channels
        let energy = StretchKernels.energy(samples, 0, count: count)
        var best = (shift: 0, likeness: Float(0))
        var bestScore: Float = 0.3
        guard energy > StretchAnalysis.powerMin * Float(count) else { return (0, 0) }
        let coarse = max(analysis.sampleRate / 16_000, 1)
        // Against the correlation alone, not the likeness: the concealment is quieter by now.
        for shift in stride(from: 0, through: min(periodLength, analysis.lagMax), by: coarse) {
            let own = StretchKernels.energy(continuation.span, shift * channels, count: count)
            guard own > StretchAnalysis.powerMin * Float(count) else { continue }
            let product = StretchKernels.dotProduct(continuation.span, shift * channels, samples, 0, count: count)
            let likeness = product / (own * energy).squareRoot()
            // Of periods that fit alike the first: a shift is delay.
            let score = likeness - 0.05 * Float(shift) / Float(analysis.lagMax)
            if score > bestScore {
                best = (shift, likeness)
                bestScore = score
            }
        }
        return best
    }
}
