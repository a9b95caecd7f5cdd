/// Counts pictures that stand still, by WebRTC's rule for `freezeCount`: an interval longer than three times the mean of the last 30, and than that mean + 150 ms.
struct VideoFreezeCounter: Sendable {
    private var intervals: [Int64]
    private var next = 0
    private var known = 0
    private var last: Int64?

    private static var intervalsMax: Int { 30 }
    /// With fewer there is no mean to speak of.
    private static var intervalsMin: Int { 5 }
    private static var excessMicroseconds: Int64 { 150_000 }

    init() {
        intervals = Array(repeating: 0, count: Self.intervalsMax)
    }

    /// Microseconds since the last picture was shown; `nil` before the first.
    func sinceLast(_ now: Int64) -> Int64? {
        last.map { now - $0 }
    }

    /// A new picture is shown.
    ///
    /// - Returns: how long the one before it stood still, when that was a freeze.
    mutating func show(at now: Int64) -> Int64? {
        defer { last = max(last ?? now, now) }
        guard let last, now > last else { return nil }
        let interval = now - last
        if known >= Self.intervalsMin {
            var sum: Int64 = 0
            for place in 0..<known { sum += intervals[place] }
            let mean = sum / Int64(known)
            if interval > max(3 * mean, mean + Self.excessMicroseconds) { return interval }
        }
        intervals[next] = interval
        next = next + 1 < Self.intervalsMax ? next + 1 : 0
        known = min(known + 1, Self.intervalsMax)
        return nil
    }

    /// What comes next does not go on from what was shown: a stop is no freeze.
    mutating func interrupt() {
        last = nil
    }
}
