/// Durations in nanoseconds, kept whole: percentiles are those of the values themselves.
struct Samples {
    private var values: [UInt64] = []
    private var isSorted = true

    init() {}

    init(_ values: some Sequence<UInt64>) {
        self.values = Array(values)
        isSorted = false
    }

    var count: Int { values.count }
    var isEmpty: Bool { values.isEmpty }

    mutating func add(_ nanoseconds: UInt64) {
        values.append(nanoseconds)
        isSorted = false
    }

    mutating func add(_ others: Samples) {
        values += others.values
        isSorted = false
    }

    /// The smallest value that at least `share` (0…1) of all do not exceed; `nil` when there are none.
    mutating func percentile(_ share: Double) -> UInt64? {
        guard !values.isEmpty else { return nil }
        if !isSorted {
            values.sort()
            isSorted = true
        }
        let rank = Int((share * Double(values.count)).rounded(.up))
        return values[min(max(rank, 1), values.count) - 1]
    }

    /// In milliseconds; not a number when there are no values.
    mutating func milliseconds(_ share: Double) -> Double {
        percentile(share).map { Double($0) / 1e6 } ?? .nan
    }
}
