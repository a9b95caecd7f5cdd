/// Decides what is done about the difference between how long sound waits and how long it should.
///
/// Small differences are stretched away now and then, larger ones all the time. What is far above the target is skipped, and so is what stretching does not bring down
/// in time: from the moment an excess is seen, what may be left of it falls on a straight line, and reaches nothing after ``shrinkMilliseconds``. All times are in
/// microseconds.
package struct PlayoutControl: Sendable {
    /// **The shrink guarantee**: so long after a spike the delay is within ``toleranceMicroseconds`` of the target again, or within one packet of it where
    /// packets are longer, whatever the sound is like.
    package static let shrinkMilliseconds: Int64 = 3_000
    package static let toleranceMicroseconds: Int64 = 20_000

    /// Between stretches that nobody needs at once.
    private static let restMicroseconds: Int64 = 40_000
    private static let pullMicroseconds: Int64 = 10_000
    /// So much less than the target will do.
    static let slackMicroseconds: Int64 = 1_000
    private static let stretchMicrosecondsMin: Int64 = 2_500
    private static let expandThresholdMin: Int64 = 2_000
    /// What is put in may be so much at least, since the period of a voice is.
    private static let expandedMicroseconds: Int64 = 8_000
    private static let thresholdMin: Int64 = 8_000
    /// What one fast stretch may take out of sound that is not silence: twice the speed.
    private static let fastMicrosecondsMax: Int64 = 10_000
    private static let fastThreshold: Int64 = 30_000
    private static let fastExpandThreshold: Int64 = 12_000

    package enum Advice: Sendable, Hashable {
        case keep
        /// Take out one period, at most so much.
        case accelerate(Int64)
        /// Take out as much as can be, at most so much.
        case fastAccelerate(Int64)
        case expand(Int64)
    }

    private var restUntil: Int64 = 0
    private var excessSince: Int64 = 0
    private var excessAtFirst: Int64 = 0

    package init() {}

    /// - Parameters:
    ///   - excess: by how much sound waits longer than it should, over and above `lead`; negative: less.
    ///   - lead: by how much packets are needed before they play, because they begin in the midst of a pull; less than a pull.
    ///   - isQuiet: what plays is silence, so that nothing is heard of a stretch, and any length can be had.
    package func advise(excess: Int64, target: Int64, lead: Int64, isQuiet: Bool, now: Int64) -> Advice {
        if isQuiet {
            // Such that packets begin with pulls, and wait for nothing: what is over the target comes in whole pulls then.
            let over = excess + Self.slackMicroseconds
            let pulls = over >= 0 ? over / Self.pullMicroseconds : (over + 1) / Self.pullMicroseconds - 1
            let removed = lead + pulls * Self.pullMicroseconds
            if removed >= Self.stretchMicrosecondsMin { return .fastAccelerate(removed) }
            return removed <= -Self.stretchMicrosecondsMin ? .expand(-removed) : .keep
        }
        if excess > Self.fastThreshold { return .fastAccelerate(min(excess, Self.fastMicrosecondsMax)) }
        // A queue grows on the way faster than stretches with rests between them can follow.
        if -excess > Self.fastExpandThreshold { return .expand(-excess) }
        guard now >= restUntil else { return .keep }
        if excess > max(Self.thresholdMin, target / 8) { return .accelerate(excess) }
        if -excess > max(Self.expandThresholdMin, target / 16) { return .expand(max(-excess, Self.expandedMicroseconds)) }
        return .keep
    }

    /// Something was stretched.
    package mutating func stretched(now: Int64) {
        restUntil = now + Self.restMicroseconds
    }

    /// How much of the excess is more than may be left: to be skipped.
    ///
    /// - Parameter excessMax: from where on sound is skipped at once.
    package mutating func beyond(excess: Int64, excessMax: Int64, now: Int64) -> Int64 {
        guard excess > Self.toleranceMicroseconds else {
            excessAtFirst = 0
            return 0
        }
        if excessAtFirst == 0 || excess > excessAtFirst {
            excessSince = now
            excessAtFirst = min(excess, excessMax)
        }
        let left = Self.shrinkMilliseconds * 1000 - (now - excessSince)
        let allowed = left > 0 ? excessAtFirst * left / (Self.shrinkMilliseconds * 1000) : 0
        return max(excess - max(allowed, Self.toleranceMicroseconds), 0)
    }

    /// Nothing plays: what was above the target is no more.
    package mutating func reset() {
        excessAtFirst = 0
        restUntil = 0
    }
}
