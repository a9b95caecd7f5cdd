/// How many connections there are by estimated bit rate. Kept as estimates change: nobody walks over connections to count them.
struct BitRateClasses: Sendable, Equatable {
    /// The upper bounds of the classes, bit/s; one more class is without bound.
    static let bounds = [100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 50_000_000, 250_000_000]

    private(set) var counts = Array(repeating: 0, count: BitRateClasses.bounds.count + 1)

    /// - Returns: the class that the connection is counted in from now on.
    mutating func move(_ before: Int?, to bitsPerSecond: Int?) -> Int? {
        let after = bitsPerSecond.map { rate in BitRateClasses.bounds.firstIndex { rate <= $0 } ?? BitRateClasses.bounds.count }
        guard after != before else { return after }
        if let before { counts[before] -= 1 }
        if let after { counts[after] += 1 }
        return after
    }

    mutating func remove(_ place: Int?) {
        if let place { counts[place] -= 1 }
    }

    mutating func add(_ other: BitRateClasses) {
        for place in counts.indices { counts[place] += other.counts[place] }
    }
}
