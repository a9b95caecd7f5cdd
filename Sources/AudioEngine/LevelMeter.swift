internal import Glibc
package import MediaProtocol

/// Measures how loud sound is, as RFC 6464 §3 says it: the root of the mean square, in dB below overload; and guesses whether it is speech.
package struct LevelMeter: Sendable {
    /// What lies this far above the background is taken for a voice.
    private static let voiceAboveBackground: Float = 9
    /// Quieter sound is nobody's voice, in dBov.
    private static let voiceMin: Float = -60
    /// How fast the background follows what stays louder, in dB a second. It follows what is quieter at once.
    private static let backgroundRise: Float = 2

    /// The background's level in dBov.
    private var background: Float = -60

    package init() {}

    /// - Parameters:
    ///   - samples: of any number of channels.
    ///   - milliseconds: how long they play.
    package mutating func measure(_ samples: Span<Float>, milliseconds: Float) -> MeasuredLevel {
        let decibels = Self.decibels(meanSquare: Self.meanSquare(samples))
        background = min(max(decibels, -96), background + Self.backgroundRise * milliseconds / 1_000)
        return MeasuredLevel(decibels: decibels, isVoice: decibels >= max(Self.voiceMin, background + Self.voiceAboveBackground))
    }

    static func meanSquare(_ samples: Span<Float>) -> Float {
        guard samples.count > 0 else { return 0 }
        // Eight sums, which the compiler may add up side by side.
        var sums = SIMD8<Float>.zero
        var index = 0
        while index + 8 <= samples.count {
            var values = SIMD8<Float>.zero
            for lane in 0..<8 { values[lane] = samples[index + lane] }
            sums += values * values
            index += 8
        }
        var sum = sums.sum()
        while index < samples.count {
            sum += samples[index] * samples[index]
            index += 1
        }
        return sum / Float(samples.count)
    }

    /// In dBov; digital silence, and what is no number, are −127.
    static func decibels(meanSquare: Float) -> Float {
        guard meanSquare > 0, meanSquare.isFinite else { return -127 }
        return max(10 * log10f(meanSquare), -127)
    }
}

package struct MeasuredLevel: Sendable, Hashable {
    /// −127…0 dBov, and above where samples are beyond full scale.
    package let decibels: Float
    package let isVoice: Bool

    package static let silent = MeasuredLevel(decibels: -127, isVoice: false)

    package init(decibels: Float, isVoice: Bool) {
        self.decibels = decibels
        self.isVoice = isVoice
    }

    /// As a media header has it.
    package var audioLevel: AudioLevel {
        AudioLevel(voice: isVoice, minusDecibelsOverload: UInt8((-decibels).rounded().clamped(to: 0...127)))
    }
}
