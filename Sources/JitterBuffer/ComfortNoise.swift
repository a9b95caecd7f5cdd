/// Sounds like the background when nothing else is sent: learns level and colour in the quiet stretches of what is played, and makes noise of that kind.
///
/// What is quiet is found as in NetEQ's class of buffers: the least power of late is the background's; the bound creeps up, so that a background that gets louder is
/// believed after some seconds. Nothing is made before something was learned. Deterministic by its seed; allocates nothing after `init`.
package struct ComfortNoise: ~Copyable {
    private let sampleRate: Int
    private let channels: Int
    private var noise: StretchNoise
    /// Power per sample of each channel.
    private var power: [Float]
    /// Power below which a stretch counts as background.
    private var powerBound: Float
    /// How far the noise has been let in: 0 … 1.
    private var presence: Float = 0
    package private(set) var hasLearned = false

    /// Background louder than this (−42 dBFS) is no background.
    private static var powerMax: Float { 6.3e-5 }
    /// A stretch may have this much more power than the least so far, and be background.
    private static var tolerance: Float { 2 }
    /// The bound's growth per 10 ms: it doubles in 3.5 s.
    private static var boundGrowth: Float { 1.002 }
    private static var boundMin: Float { 1e-12 }
    /// Of the last stretches' colour and level, how much stays at each.
    private static var kept: Double { 0.875 }

    /// - Parameters:
    ///   - sampleRate: 8,000 to 48,000 hertz.
    ///   - channels: 1 or 2.
    package init(sampleRate: Int, channels: Int, seed: UInt64) {
        precondition((8_000...48_000).contains(sampleRate) && (1...2).contains(channels), "8 to 48 kHz, mono or stereo")
        self.sampleRate = sampleRate
        self.channels = channels
        noise = StretchNoise(channels: channels, seed: seed)
        power = Array(repeating: 0, count: channels)
        powerBound = Self.powerMax
    }

    /// The level that is made, as the root of the mean power of all channels; 0 before anything was learned.
    package var level: Float {
        var sum: Float = 0
        for channel in 0..<channels { sum += power[channel] }
        return (sum / Float(channels)).squareRoot()
    }

    /// Looks at 10 ms (or so) that were really sent; most of it is not background, and costs one sum.
    ///
    /// - Parameter count: samples per channel.
    package mutating func learn(_ samples: Span<Float>, count: Int) {
        precondition(count >= 0 && count <= samples.count / channels, "more samples than there are")
        presence = 0
        guard count > StretchNoise.order else { return }
        let mean = StretchKernels.energy(samples, 0, count: count * channels) / Float(count * channels)
        powerBound = min(powerBound * Self.boundGrowth, Self.powerMax)
        guard mean <= powerBound else { return }
        powerBound = min(powerBound, max(mean * Self.tolerance, Self.boundMin))
        let kept = hasLearned ? Self.kept : 0
        noise.learn(samples, first: 0, count: count, kept: kept)
        for channel in 0..<channels {
            var sum: Float = 0
            for frame in 0..<count {
                let sample = samples[frame * channels + channel]
                sum += sample * sample
            }
            power[channel] = Float(kept) * power[channel] + Float(1 - kept) * sum / Float(count)
        }
        hasLearned = true
    }

    /// Writes noise; silence before anything was learned. After real sound it comes in over 10 ms.
    package mutating func generate(into samples: inout MutableSpan<Float>, count: Int) {
        for place in 0..<count * channels { samples[place] = 0 }
        add(to: &samples, count: count)
    }

    /// Adds noise to what is there, as under a concealment that dies away.
    package mutating func add(to samples: inout MutableSpan<Float>, count: Int) {
        precondition(count >= 0 && count <= samples.count / channels, "more samples than there are")
        guard hasLearned else { return }
        let step = 100 / Float(sampleRate)
        for frame in 0..<count {
            presence = min(presence + step, 1)
            for channel in 0..<channels {
                samples[frame * channels + channel] += presence * power[channel].squareRoot() * noise.next(channel: channel)
            }
        }
    }

    /// Forgets what was learned; the generator goes on.
    package mutating func reset() {
        hasLearned = false
        presence = 0
        powerBound = Self.powerMax
        for channel in 0..<channels { power[channel] = 0 }
    }
}
