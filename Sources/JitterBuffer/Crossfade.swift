/// How one sound goes over into another without a step, and without getting louder or quieter on the way.
package enum Crossfade {
    /// How much of the new sound there is at `place` of `count`: a smooth step (3t² − 2t³), above 0 at the first place and below 1 at the last.
    @inline(__always)
    package static func weight(_ place: Int, of count: Int) -> Float {
        let t = Float(place + 1) / Float(count + 1)
        return t * t * (3 - 2 * t)
    }

    /// What both are multiplied by, so that the power stays: sounds that are alike add as amplitudes, sounds that are not add as powers.
    ///
    /// - Parameter similarity: the normalized correlation of the two, at most 1; below 0 it counts as 0, since sounds that cancel out cannot be helped by gain.
    @inline(__always)
    package static func gain(_ weight: Float, similarity: Float) -> Float {
        let kept = 1 - weight
        let power = kept * kept + weight * weight + 2 * similarity * kept * weight
        return 1 / power.squareRoot()
    }

    /// Goes from `old` over into `samples`, in place, over the first `count` samples per channel of both.
    ///
    /// - Parameter similarity: see ``gain(_:similarity:)``.
    package static func mix(from old: Span<Float>, into samples: inout MutableSpan<Float>, count: Int, channels: Int, similarity: Float) {
        let alike = bounded(similarity)
        for frame in 0..<count {
            let weight = weight(frame, of: count)
            let gain = gain(weight, similarity: alike)
            for place in frame * channels..<(frame + 1) * channels {
                samples[place] = gain * ((1 - weight) * old[place] + weight * samples[place])
            }
        }
    }

    /// In 0 … 1; what is no number is 0.
    @inline(__always)
    package static func bounded(_ similarity: Float) -> Float {
        similarity > 0 ? min(similarity, 1) : 0
    }
}
