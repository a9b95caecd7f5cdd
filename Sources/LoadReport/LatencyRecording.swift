/// How often each latency occurred, in memory that does not grow: buckets whose width follows their value, after HdrHistogram.
///
/// Values are whole microseconds from 0 to one hour; what is outside counts as the nearer end. Recording allocates nothing (as long as the
/// recording is not shared with a copy) and costs some shifts and one addition. `min`, `max`, `mean` and `count` are exact.
package struct LatencyRecording: Sendable, Equatable {
    /// How far a quantile may lie from the value that was recorded.
    package enum Precision: String, Sendable, Codable {
        /// Off by at most 0.05 %: 184 KiB.
        case thousandth
        /// Off by at most 1.6 %: 7 KiB. For many of them: one each client, one each second.
        case percent

        /// So many bits of a value are kept.
        fileprivate var bits: Int {
            switch self {
            case .thousandth: 11
            case .percent: 6
            }
        }

        fileprivate var buckets: Int { bucket(of: LatencyRecording.microsecondsMax) + 1 }

        fileprivate func bucket(of value: Int) -> Int {
            let shift = Int.bitWidth - value.leadingZeroBitCount - bits
            return shift <= 0 ? value : shift << (bits - 1) + value >> shift
        }

        /// The middle of what a bucket stands for.
        fileprivate func value(of bucket: Int) -> Int {
            let shift = bucket >> (bits - 1) - 1
            guard shift > 0 else { return bucket }
            return (bucket - shift << (bits - 1)) << shift + (1 << shift - 1) / 2
        }
    }

    package static let microsecondsMax = 3_600_000_000

    package let precision: Precision
    /// How many values there are.
    package private(set) var count = 0
    private var sum = 0
    private var lowest = LatencyRecording.microsecondsMax
    private var highest = 0
    private var counts: [Int]

    package init(precision: Precision = .thousandth) {
        self.precision = precision
        counts = [Int](repeating: 0, count: precision.buckets)
    }

    package mutating func record(microseconds: Int) {
        recordMany(microseconds: microseconds, count: 1)
    }

    /// Records a value so many times; nothing if that is not above 0.
    package mutating func recordMany(microseconds: Int, count times: Int) {
        guard times > 0 else { return }
        let value = Swift.min(Swift.max(microseconds, 0), LatencyRecording.microsecondsMax)
        counts[precision.bucket(of: value)].add(times)
        count.add(times)
        let (product, isTooLarge) = value.multipliedReportingOverflow(by: times)
        sum.add(isTooLarge ? Int.max : product)
        lowest = Swift.min(lowest, value)
        highest = Swift.max(highest, value)
    }

    /// Adds what another recording has. Of another precision, its values are taken as its quantiles would tell them.
    package mutating func merge(_ other: LatencyRecording) {
        guard other.count > 0 else { return }
        for (bucket, times) in other.counts.enumerated() where times > 0 {
            counts[precision == other.precision ? bucket : precision.bucket(of: other.precision.value(of: bucket))].add(times)
        }
        count.add(other.count)
        sum.add(other.sum)
        lowest = Swift.min(lowest, other.lowest)
        highest = Swift.max(highest, other.highest)
    }

    package var isEmpty: Bool { count == 0 }
    /// Microseconds; 0 where nothing was recorded, like all that follow.
    package var min: Int { count == 0 ? 0 : lowest }
    package var max: Int { highest }
    package var mean: Double { count == 0 ? 0 : Double(sum) / Double(count) }

    /// The value that a share `quantile` (0 … 1) of all do not exceed, in microseconds: the nearest rank, so 1 is the highest.
    package func quantile(_ quantile: Double) -> Int {
        guard count > 0 else { return 0 }
        let wanted = (Double(count) * Swift.min(Swift.max(quantile, 0), 1)).rounded(.up)
        guard wanted < Double(count) else { return highest }
        var seen = 0.0
        for (bucket, times) in counts.enumerated() where times > 0 {
            seen += Double(times)
            if seen >= wanted { return Swift.min(Swift.max(precision.value(of: bucket), lowest), highest) }
        }
        return highest
    }
}

extension LatencyRecording: Codable {
    private enum CodingKeys: String, CodingKey {
        case precision
        case sum
        case min
        case max
        /// `[bucket, count]` of each bucket that is not empty.
        case counts
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(precision: try values.decode(Precision.self, forKey: .precision))
        for pair in try values.decode([[Int]].self, forKey: .counts) {
            guard pair.count == 2, counts.indices.contains(pair[0]), pair[1] > 0 else {
                throw DecodingError.dataCorruptedError(forKey: .counts, in: values, debugDescription: "not a bucket and its count")
            }
            counts[pair[0]].add(pair[1])
            count.add(pair[1])
        }
        guard count > 0 else { return }
        sum = try values.decode(Int.self, forKey: .sum)
        lowest = try values.decode(Int.self, forKey: .min)
        highest = try values.decode(Int.self, forKey: .max)
        guard sum >= 0, lowest >= 0, lowest <= highest, highest <= LatencyRecording.microsecondsMax else {
            throw DecodingError.dataCorruptedError(forKey: .max, in: values, debugDescription: "out of range")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(precision, forKey: .precision)
        try values.encode(sum, forKey: .sum)
        try values.encode(min, forKey: .min)
        try values.encode(max, forKey: .max)
        try values.encode(counts.enumerated().filter { $0.element > 0 }.map { [$0.offset, $0.element] }, forKey: .counts)
    }
}

extension Int {
    /// Adds without overflow: what is too large stays the largest. Files bring numbers of any size.
    mutating func add(_ other: Int) {
        let (result, isTooLarge) = addingReportingOverflow(other)
        self = isTooLarge ? (other > 0 ? Int.max : Int.min) : result
    }
}
