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
    private static let quietThreshold: Int64 = 3_000
    private static let thresholdMin: Int64 = 8_000
    /// What one fast stretch may take out of sound that is not silence: twice the speed.
    private static let fastMicrosecondsMax: Int64 = 10_000
    private static let fastThreshold: Int64 = 30_000

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
    ///   - excess: by how much sound waits longer than it should; negative: less.
    ///   - isQuiet: what plays is silence, so that nothing is heard of a stretch.
    package func advise(excess: Int64, target: Int64, isQuiet: Bool, now: Int64) -> Advice {
        if excess > Self.fastThreshold { return .fastAccelerate(isQuiet ? excess : min(excess, Self.fastMicrosecondsMax)) }
        guard isQuiet || now >= restUntil else { return .keep }
        if excess > (isQuiet ? Self.quietThreshold : max(Self.thresholdMin, target / 8)) { return .accelerate(excess) }
        if -excess > (isQuiet ? Self.quietThreshold : max(Self.thresholdMin, target / 4)) { return .expand(-excess) }
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
