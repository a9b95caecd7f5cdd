/// Keeps a sum of voices below full scale without clipping: a gain that looks ahead.
///
/// Samples come out 2.5 ms later. In each piece of 2.5 ms the gain goes linearly to what this piece and the next need, so no sample is ever louder than
/// ``ceiling``, and the gain has no step. Up to ``threshold`` samples come out as they went in, bit by bit; above, peaks are pressed together. The gain comes back within
/// some tenths of a second.
@safe
package struct SoftLimiter: ~Copyable {
    /// −3 dBFS.
    package static let threshold: Float = 0.707_945_8
    /// −2 dBFS, as programmes are mastered for lossy codecs: Opus has added 1.05 dB to a peak of eight tones, and what is decoded of a mix is to stay below full scale.
    package static let ceiling: Float = 0.794_328_2
    /// How much of what is missing the gain comes back by in a piece: a time constant of 100 ms.
    private static let release: Float = 0.025

    package let channels: Int
    /// Samples per channel that look-ahead takes.
    package let delay: Int
    /// Without the knee: nothing is changed below the ceiling.
    package let isHard: Bool
    private let held: UnsafeMutablePointer<Float>
    /// At the end of what came out.
    private var gain: Float = 1
    /// What is held needs no less than this.
    private var heldGain: Float = 1

    /// - Parameter isHard: only what would clip is touched.
    package init(sampleRate: Int, channels: Int, isHard: Bool = false) {
        self.channels = channels
        self.isHard = isHard
        delay = sampleRate / 400
        unsafe held = .allocate(capacity: delay * channels)
        unsafe held.initialize(repeating: 0, count: delay * channels)
    }

    deinit { unsafe held.deallocate() }

    /// - Parameter samples: interleaved, whole pieces of 2.5 ms.
    package mutating func process(_ samples: inout MutableSpan<Float>) {
        let count = samples.count
        unsafe samples.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress { unsafe process(base, count: count) }
        }
    }

    @unsafe
    mutating func process(_ samples: UnsafeMutablePointer<Float>, count: Int) {
        let piece = delay * channels
        precondition(count % piece == 0, "whole pieces of 2.5 ms")
        for start in stride(from: 0, to: count, by: piece) { unsafe processPiece(samples + start) }
    }

    /// Goes on where another is.
    mutating func resume(from other: borrowing SoftLimiter) {
        unsafe held.update(from: other.held, count: delay * channels)
        gain = other.gain
        heldGain = other.heldGain
    }

    mutating func reset() {
        unsafe held.update(repeating: 0, count: delay * channels)
        gain = 1
        heldGain = 1
    }

    private mutating func processPiece(_ samples: UnsafeMutablePointer<Float>) {
        let piece = delay * channels
        let needed = unsafe needs(peak: MixKernel.peak(samples, count: piece))
        let end = min(heldGain, needed, gain + (1 - gain) * Self.release + 1e-4)
        if gain == 1, end == 1 {
            for index in 0..<piece { unsafe swap(&samples[index], &held[index]) }
        } else {
            let step = (end - gain) / Float(delay)
            for frame in 0..<delay {
                let current = gain + step * Float(frame)
                for index in frame * channels..<(frame + 1) * channels {
                    let out = unsafe held[index] * current
                    unsafe held[index] = samples[index]
                    unsafe samples[index] = out
                }
            }
        }
        gain = end
        heldGain = needed
    }

    private func needs(peak: Float) -> Float {
        let threshold = isHard ? Self.ceiling : Self.threshold
        guard peak > threshold else { return 1 }
        guard !isHard else { return Self.ceiling / peak }
        let room = Self.ceiling - threshold
        let above = (peak - threshold) / room
        // Between threshold and ceiling, with the slope of 1 at the threshold.
        return (threshold + room * above / (1 + above)) / peak
    }
}
