/// The inner loops of mixing, over raw memory: callers have checked that it is there.
enum MixKernel {
    /// Adds a source to a mix, each sample with its gain. One channel goes to both; of two, one gets the mean.
    @unsafe
    static func add(
        _ source: UnsafePointer<Float>, channels: Int, to mix: UnsafeMutablePointer<Float>, mixChannels: Int, gains: UnsafePointer<Float>, count: Int,
        pan: Float
    ) {
        let left = min(1, 1 - pan)
        let right = min(1, 1 + pan)
        switch (channels, mixChannels) {
        case (1, 1):
            for index in 0..<count { unsafe mix[index] += source[index] * gains[index] }
        case (1, _):
            for index in 0..<count {
                let sample = unsafe source[index] * gains[index]
                unsafe mix[2 * index] += sample * left
                unsafe mix[2 * index + 1] += sample * right
            }
        case (_, 1):
            for index in 0..<count { unsafe mix[index] += (source[2 * index] + source[2 * index + 1]) * 0.5 * gains[index] }
        default:
            for index in 0..<count {
                unsafe mix[2 * index] += source[2 * index] * gains[index] * left
                unsafe mix[2 * index + 1] += source[2 * index + 1] * gains[index] * right
            }
        }
    }

    /// Gains of a fade that is over after `fadeCount` samples.
    @unsafe
    static func fade(_ gains: UnsafeMutablePointer<Float>, from start: Float, to end: Float, fadeCount: Int, count: Int) {
        for index in 0..<min(fadeCount, count) { unsafe gains[index] = start + (end - start) * Float(index) / Float(fadeCount) }
        for index in min(fadeCount, count)..<count { unsafe gains[index] = end }
    }

    /// Multiplies interleaved samples by a ramp.
    @unsafe
    static func multiply(_ samples: UnsafeMutablePointer<Float>, channels: Int, count: Int, by ramp: MixRamp, clock: UInt64) {
        if ramp.isOver(at: clock) {
            let gain = ramp.gain(at: clock)
            guard gain != 1 else { return }
            for index in 0..<count * channels { unsafe samples[index] *= gain }
        } else {
            for index in 0..<count {
                let gain = ramp.gain(at: clock &+ UInt64(index))
                for channel in 0..<channels { unsafe samples[index * channels + channel] *= gain }
            }
        }
    }

    /// The greatest magnitude.
    @unsafe
    static func peak(_ samples: UnsafePointer<Float>, count: Int) -> Float {
        var peaks = SIMD8<Float>.zero
        var index = 0
        while index + 8 <= count {
            let values = unsafe UnsafeRawPointer(samples + index).loadUnaligned(as: SIMD8<Float>.self)
            peaks = pointwiseMax(peaks, pointwiseMax(values, -values))
            index += 8
        }
        var peak = peaks.max()
        while index < count {
            unsafe peak = max(peak, abs(samples[index]))
            index += 1
        }
        return peak
    }
}
