/// How late packets come, measured against the fastest of the last few seconds.
///
/// Neither clock is known, so a delay is the difference of arrival and media time, less the least such difference: that of the *reference*, the packet that came
/// fastest. The least is taken over a sliding window. A clock that runs faster or slower than the other one moves it along, and so does another path.
///
/// All times are in microseconds.
package struct ArrivalStatistics: Sendable {
    private struct Bucket: Sendable {
        var number: Int64 = .min
        var least: Int64 = .max
        var at: Int64 = 0
    }

    /// Of the window: the last so many that have packets, of half a second each.
    private static var bucketsMax: Int { 8 }
    private static var bucketMicroseconds: Int64 { 500_000 }
    private static var recentCount: Int { 4 }
    /// Older than that, a bucket says nothing, however few came since.
    private static var ageMicrosecondsMax: Int64 { 60_000_000 }
    /// The reference moves by drift and chance; what is more is another path.
    private static var stepMicrosecondsMin: Int64 { 5_000 }

    private var buckets = Array(repeating: Bucket(), count: ArrivalStatistics.bucketsMax)
    private var newest = 0
    private var last = Array(repeating: Int64.max, count: ArrivalStatistics.recentCount)
    private var lastPlace = 0
    private var lastArrival: Int64?
    private var drift = DriftEstimator()
    /// Arrival minus media time of the fastest; `nil` before the first packet.
    package private(set) var reference: Int64?
    /// By how much the fastest of the last second was later than the reference.
    package private(set) var edge: Int64 = 0
    /// By how much the fastest of the last few packets was later than the reference: what comes next will hardly be faster.
    package private(set) var recent: Int64 = 0
    /// From the packet before to the last.
    package private(set) var gap: Int64 = 0
    /// What the reference rose by in the last ``observe(media:arrival:)``, where that is another path; else 0.
    package private(set) var step: Int64 = 0

    package init() {}

    /// Takes a packet.
    ///
    /// - Returns: how much later than the fastest it came, at least 0.
    package mutating func observe(media: Int64, arrival: Int64) -> Int64 {
        let difference = arrival - media
        let number = arrival / Self.bucketMicroseconds
        if buckets[newest].number != number {
            if buckets[newest].number != .min { drift.take(at: buckets[newest].at, difference: buckets[newest].least) }
            newest = newest + 1 < Self.bucketsMax ? newest + 1 : 0
            buckets[newest] = Bucket(number: number, least: difference, at: arrival)
        } else if difference < buckets[newest].least {
            buckets[newest].least = difference
            buckets[newest].at = arrival
        }
        gap = arrival - (lastArrival ?? arrival)
        lastArrival = arrival
        last[lastPlace] = difference
        lastPlace = lastPlace + 1 < Self.recentCount ? lastPlace + 1 : 0
        update(now: arrival)
        let reference = reference ?? difference
        var fastest = last[0]
        for place in 1..<Self.recentCount { fastest = min(fastest, last[place]) }
        // Before there are as many, they say nothing.
        recent = last[lastPlace] == .max ? 0 : max(fastest - reference, 0)
        return max(difference - reference, 0)
    }

    private mutating func update(now: Int64) {
        var least = Int64.max
        for bucket in buckets where bucket.number != .min && now - bucket.at <= Self.ageMicrosecondsMax {
            least = min(least, drifted(bucket, to: now))
        }
        if least == .max { least = drifted(buckets[newest], to: now) }
        let rise = least - (reference ?? least)
        step = rise >= Self.stepMicrosecondsMin ? rise : 0
        reference = least
        let before = buckets[newest > 0 ? newest - 1 : Self.bucketsMax - 1]
        let recent = min(drifted(buckets[newest], to: now), before.number == .min ? .max : drifted(before, to: now))
        edge = max(recent - least, 0)
    }

    /// Where the fastest of a bucket would be now.
    private func drifted(_ bucket: Bucket, to now: Int64) -> Int64 {
        bucket.least - Int64(drift.partsPerMillion * Float(now - bucket.at) / 1_000_000)
    }

    /// How much later than the fastest would have been something of media time `media` is at `now`; 0 before the first packet.
    package func delay(media: Int64, now: Int64) -> Int64 {
        guard let reference else { return 0 }
        return now - media - reference
    }

    /// The sender's clock against this one; positive: the sender is faster. 0 until it is known.
    package var driftPartsPerMillion: Float { drift.partsPerMillion }

    /// A new timeline: differences of before say nothing. What is known of the clocks stays.
    package mutating func reset() {
        for place in buckets.indices { buckets[place] = Bucket() }
        reference = nil
        edge = 0
        recent = 0
        gap = 0
        step = 0
        lastArrival = nil
        for place in last.indices { last[place] = .max }
        drift.restart()
    }
}
