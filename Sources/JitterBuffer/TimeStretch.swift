/// Makes sound shorter or longer by whole periods of it, so that its pitch stays: waveform similarity overlap-add (Verhelst and Roelands, ICASSP 1993), one
/// period at a time, as buffers for conversation do it.
///
/// Taking a period out goes from a piece over into the like piece one period later; putting one in goes from a piece over into the like piece one period
/// earlier. Every sample that either touches lies in a piece that was compared, so nothing is lost or doubled that was not there twice. Where no two pieces are
/// alike enough (an onset, a click, a consonant) nothing is done, and the caller tries again with what comes next.
///
/// Allocates nothing after `init`. Any sample value is taken, also what is no number: that is never like anything.
package struct TimeStretch: ~Copyable {
    private var analysis: StretchAnalysis
    private var faded: [Float]

    /// Least likeness of two pieces (see ``StretchAnalysis``); when the delay must come down fast, a roughness is the lesser evil.
    private static var likenessMin: Float { 0.9 }
    private static var fastLikenessMin: Float { 0.5 }
    /// The greatest difference of two samples that lie over one another, against the greatest sample: a click in a vowel hardly changes the likeness, but this.
    private static var differenceMax: Float { 0.6 }
    /// Sound quieter than this throughout is silence: −50 dBFS, with peaks of −34 dBFS.
    private static var silentPowerMax: Float { 1e-5 }
    private static var silentPeakMax: Float { 0.02 }

    /// - Parameters:
    ///   - sampleRate: 8,000 to 48,000 hertz.
    ///   - channels: 1 or 2; both are stretched alike.
    package init(sampleRate: Int, channels: Int) {
        analysis = StretchAnalysis(sampleRate: sampleRate, channels: channels)
        faded = Array(repeating: 0, count: analysis.lagMax * channels)
    }

    /// Samples per channel that are needed for either: 30 ms.
    package var neededCount: Int { 2 * analysis.lagMax }
    /// The most that ``preemptiveExpand(_:count:insertingAtMost:)`` inserts, samples per channel: 15 ms.
    package var insertedMax: Int { analysis.lagMax }

    /// Removes one period (2.5 to 15 ms) where that is inaudible; what is left stands at the front of `samples`.
    ///
    /// - Parameters:
    ///   - samples: interleaved.
    ///   - count: samples per channel that are there; with less than ``neededCount`` nothing is done.
    ///   - isFast: several periods while more than ``neededCount`` is left, and pieces that are less alike; in silence all but 15 ms.
    ///   - removingAtMost: samples per channel.
    /// - Returns: samples per channel removed; 0: it would be heard.
    package mutating func accelerate(
        _ samples: inout MutableSpan<Float>, count: Int, isFast: Bool, removingAtMost: Int = .max
    ) -> Int {
        precondition(count >= 0 && count <= samples.count / analysis.channels, "more samples than there are")
        var removed = 0
        while count - removed >= neededCount, removingAtMost - removed >= analysis.lagMin {
            let left = count - removed
            guard let splice = splice(samples.span, count: left, longest: removingAtMost - removed, isFast: isFast, isShortening: true) else { break }
            remove(splice, from: &samples, count: left)
            removed += splice.lag
            if !isFast || splice.isSilent { break }
        }
        return removed
    }

    /// Inserts one period (2.5 to 15 ms) where that is inaudible.
    ///
    /// - Parameters:
    ///   - samples: interleaved, with room for `count` + ``insertedMax`` per channel.
    ///   - count: samples per channel that are there; with less than ``neededCount`` nothing is done.
    ///   - insertingAtMost: samples per channel.
    /// - Returns: samples per channel inserted; 0: it would be heard.
    package mutating func preemptiveExpand(_ samples: inout MutableSpan<Float>, count: Int, insertingAtMost: Int = .max) -> Int {
        precondition(count >= 0 && count <= samples.count / analysis.channels - insertedMax, "room for one period more")
        guard count >= neededCount, insertingAtMost >= analysis.lagMin,
            let splice = splice(samples.span, count: count, longest: insertingAtMost, isFast: false, isShortening: false)
        else { return 0 }
        insert(splice, into: &samples, count: count)
        return splice.lag
    }

    /// Where two pieces of `overlap` samples per channel lie, `lag` apart.
    private struct Splice {
        var anchor: Int
        var lag: Int
        var overlap: Int
        var likeness: Float
        var isSilent = false
    }

    private mutating func splice(_ samples: Span<Float>, count: Int, longest: Int, isFast: Bool, isShortening: Bool) -> Splice? {
        if isSilent(samples, count: count) {
            // Noise of the background: any length goes. Nothing is like anything there, so powers add.
            let overlap = analysis.sampleRate / 200
            let most = isFast && isShortening ? count - analysis.lagMax : analysis.lagMax
            let lag = min(most, longest, count - overlap)
            return Splice(
                anchor: 0, lag: lag, overlap: overlap, likeness: analysis.likeness(samples, 0, lag, count: overlap), isSilent: true)
        }
        // The beginning, the end and between them: an onset may spoil one and leave the others.
        let room = count - neededCount
        let step = max(room / 2, analysis.sampleRate / 200)
        var anchor = 0
        while anchor <= room {
            if let found = splice(samples, anchor: anchor, longest: min(longest, analysis.lagMax), isFast: isFast) { return found }
            anchor += step
        }
        return nil
    }

    private mutating func splice(_ samples: Span<Float>, anchor: Int, longest: Int, isFast: Bool) -> Splice? {
        let lag = analysis.bestLag(samples, anchor: anchor, longest: longest, prefersLong: isFast)
        let enough = isFast ? Self.fastLikenessMin : Self.likenessMin
        guard lag.likeness >= enough else { return nil }
        // Not shorter than the lag: all that is left out, or comes twice, has been compared.
        let overlap = max(lag.length, analysis.sampleRate / 200)
        let likeness = analysis.likeness(samples, anchor, anchor + lag.length, count: overlap)
        guard likeness >= enough else { return nil }
        if !isFast {
            let (first, second) = (anchor * analysis.channels, (anchor + lag.length) * analysis.channels)
            let peak = StretchKernels.peak(samples, first, count: (overlap + lag.length) * analysis.channels)
            let difference = StretchKernels.peakDifference(samples, first, second, count: overlap * analysis.channels)
            guard difference <= Self.differenceMax * peak else { return nil }
        }
        return Splice(anchor: anchor, lag: lag.length, overlap: overlap, likeness: likeness)
    }

    private func isSilent(_ samples: Span<Float>, count: Int) -> Bool {
        let all = count * analysis.channels
        return StretchKernels.energy(samples, 0, count: all) < Self.silentPowerMax * Float(all)
            && StretchKernels.peak(samples, 0, count: all) < Self.silentPeakMax
    }

    private func remove(_ splice: Splice, from samples: inout MutableSpan<Float>, count: Int) {
        let channels = analysis.channels
        let alike = Crossfade.bounded(splice.likeness)
        let distance = splice.lag * channels
        for frame in 0..<splice.overlap {
            let weight = Crossfade.weight(frame, of: splice.overlap)
            let gain = Crossfade.gain(weight, similarity: alike)
            let first = (splice.anchor + frame) * channels
            for place in first..<first + channels {
                samples[place] = gain * ((1 - weight) * samples[place] + weight * samples[place + distance])
            }
        }
        let end = splice.anchor + splice.overlap
        StretchKernels.move(
            &samples, from: (end + splice.lag) * channels, to: end * channels, count: (count - end - splice.lag) * channels)
    }

    private mutating func insert(_ splice: Splice, into samples: inout MutableSpan<Float>, count: Int) {
        let channels = analysis.channels
        let alike = Crossfade.bounded(splice.likeness)
        let later = (splice.anchor + splice.lag) * channels
        let earlier = splice.anchor * channels
        for frame in 0..<splice.overlap {
            let weight = Crossfade.weight(frame, of: splice.overlap)
            let gain = Crossfade.gain(weight, similarity: alike)
            for place in frame * channels..<(frame + 1) * channels {
                faded[place] = gain * ((1 - weight) * samples[later + place] + weight * samples[earlier + place])
            }
        }
        let end = (splice.anchor + splice.overlap) * channels
        StretchKernels.move(&samples, from: end, to: end + splice.lag * channels, count: count * channels - end)
        for place in 0..<splice.overlap * channels { samples[later + place] = faded[place] }
    }
}
