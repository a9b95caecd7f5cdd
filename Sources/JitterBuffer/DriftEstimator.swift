/// How fast one clock runs against the other, by the fastest packets of each two seconds over two minutes: the median of slopes over half that span (Theil 1950,
/// with the pairs of half the span as Cunningham 1952 took them), so a quarter of them may be off by anything.
struct DriftEstimator: Sendable {
    /// What no clock is off by; an estimate stays within.
    static var partsPerMillionMax: Float { 1_500 }
    private static var pointsMax: Int { 64 }
    private static var pointsForEstimate: Int { 10 }
    private static var pointMicroseconds: Int64 { 2_000_000 }

    private struct Point: Sendable {
        var at: Int64 = 0
        var difference: Int64 = 0
    }

    private var points = Array(repeating: Point(), count: DriftEstimator.pointsMax)
    private var head = 0
    private var count = 0
    private var slopes = Array(repeating: Float(0), count: DriftEstimator.pointsMax / 2)
    private var least = Point()
    private var number = Int64.min

    /// Positive: the sender is faster. 0 until there are 20 s to tell.
    private(set) var partsPerMillion: Float = 0

    /// Takes the least difference of arrival and media time of some stretch, and when it was.
    mutating func take(at: Int64, difference: Int64) {
        let number = at / Self.pointMicroseconds
        if number != self.number {
            if self.number != .min { append(least) }
            self.number = number
            least = Point(at: at, difference: difference)
        } else if difference < least.difference {
            least = Point(at: at, difference: difference)
        }
    }

    /// Forgets the points, not what they said.
    mutating func restart() {
        count = 0
        number = .min
    }

    private subscript(place: Int) -> Point {
        let index = head + place
        return points[index < Self.pointsMax ? index : index - Self.pointsMax]
    }

    private mutating func append(_ point: Point) {
        if count == Self.pointsMax {
            head = head + 1 < Self.pointsMax ? head + 1 : 0
            count -= 1
        }
        let index = head + count
        points[index < Self.pointsMax ? index : index - Self.pointsMax] = point
        count += 1
        if count >= Self.pointsForEstimate { estimate() }
    }

    private mutating func estimate() {
        let half = count / 2
        var known = 0
        for place in 0..<half {
            let early = self[place]
            let late = self[place + count - half]
            guard late.at > early.at else { continue }
            let slope = -Float(late.difference - early.difference) * 1_000_000 / Float(late.at - early.at)
            var behind = known
            while behind > 0, slopes[behind - 1] > slope {
                slopes[behind] = slopes[behind - 1]
                behind -= 1
            }
            slopes[behind] = slope
            known += 1
        }
        guard known > 0 else { return }
        partsPerMillion = min(max(slopes[known / 2], -Self.partsPerMillionMax), Self.partsPerMillionMax)
    }
}
