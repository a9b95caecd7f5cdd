import FoundationEssentials
import LoadReport
import RelayBase
import Testing

/// A small generator whose seed makes the data the same everywhere (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Latencies over all sizes: from a microsecond to an hour, each order of magnitude alike.
func latencies(seed: UInt64, count: Int) -> [Int] {
    var generator = SeededGenerator(state: seed)
    return (0..<count).map { _ in
        let bits = Int.random(in: 0...31, using: &generator)
        return min(Int.random(in: 0...(1 << bits), using: &generator), LatencyRecording.microsecondsMax)
    }
}

func recording(_ values: some Sequence<Int>, _ precision: LatencyRecording.Precision = .thousandth) -> LatencyRecording {
    var recording = LatencyRecording(precision: precision)
    for value in values { recording.record(microseconds: value) }
    return recording
}

@Suite("Recordings of latencies")
struct LatencyRecordingTests {
    @Test(
        "a quantile lies within the precision of the value of that rank",
        arguments: [1, 2, 3, 4].flatMap { [($0, LatencyRecording.Precision.thousandth, 0.001), ($0, .percent, 0.016)] })
    func error(seed: UInt64, precision: LatencyRecording.Precision, bound: Double) {
        let values = latencies(seed: seed, count: 5_000)
        let sorted = values.sorted()
        let recorded = recording(values, precision)
        for quantile in [0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1] {
            let rank = max(1, Int((Double(sorted.count) * quantile).rounded(.up)))
            let exact = sorted[rank - 1]
            let off = abs(recorded.quantile(quantile) - exact)
            #expect(Double(off) <= Double(exact) * bound + 0.5, "quantile \(quantile): \(recorded.quantile(quantile)), not \(exact)")
        }
    }

    @Test("count, lowest, highest and mean are exact")
    func exact() {
        let values = latencies(seed: 9, count: 3_000)
        let recorded = recording(values)
        #expect(recorded.count == 3_000)
        #expect(recorded.min == values.min())
        #expect(recorded.max == values.max())
        #expect(recorded.quantile(1) == values.max())
        #expect(abs(recorded.mean - Double(values.reduce(0, +)) / 3_000) < 0.001)
    }

    @Test("each value up to 2,047 µs is told exactly, and every bucket's neighbours differ", arguments: [0, 1, 2, 1_023, 1_024, 2_046, 2_047])
    func small(value: Int) {
        #expect(recording([value]).quantile(0.5) == value)
        var other = recording([value])
        other.record(microseconds: value + 1)
        #expect(other.quantile(0.5) == value)
    }

    @Test("values outside are taken as the nearer end", arguments: [(-5, 0), (Int.min, 0), (Int.max, 3_600_000_000), (3_600_000_001, 3_600_000_000)])
    func ends(value: Int, taken: Int) {
        let recorded = recording([value])
        #expect(recorded.min == taken)
        #expect(recorded.max == taken)
        #expect(recorded.quantile(0.99) == taken)
    }

    @Test("an empty recording says 0")
    func empty() {
        let recorded = LatencyRecording()
        #expect(recorded.isEmpty)
        #expect([recorded.min, recorded.max, recorded.quantile(0.5), recorded.count] == [0, 0, 0, 0])
        #expect(recorded.mean == 0)
    }

    @Test("a value many times is that value so often")
    func many() {
        var recorded = LatencyRecording()
        recorded.recordMany(microseconds: 250, count: 1_000)
        recorded.recordMany(microseconds: 9_000, count: 10)
        recorded.recordMany(microseconds: 7, count: 0)
        recorded.recordMany(microseconds: 7, count: -3)
        #expect(recorded == recording(Array(repeating: 250, count: 1_000) + Array(repeating: 9_000, count: 10)))
    }

    @Test(
        "merging is associative, commutative, and the same as recording everything in one",
        arguments: [LatencyRecording.Precision.thousandth, .percent])
    func merging(precision: LatencyRecording.Precision) {
        let values = (1...3).map { latencies(seed: $0, count: 700) }
        let parts = values.map { recording($0, precision) }
        func merged(_ first: LatencyRecording, _ second: LatencyRecording) -> LatencyRecording {
            var result = first
            result.merge(second)
            return result
        }
        let left = merged(merged(parts[0], parts[1]), parts[2])
        #expect(left == merged(parts[0], merged(parts[1], parts[2])))
        #expect(left == merged(merged(parts[2], parts[1]), parts[0]))
        #expect(left == recording(values.flatMap(\.self), precision))
        #expect(left == merged(left, LatencyRecording(precision: precision)))
    }

    @Test("a finer recording can be merged into a coarser one")
    func unlike() {
        let values = latencies(seed: 5, count: 2_000)
        var coarse = LatencyRecording(precision: .percent)
        coarse.merge(recording(values))
        let sorted = values.sorted()
        #expect(coarse.count == 2_000)
        #expect(coarse.max == sorted.last)
        #expect(Double(abs(coarse.quantile(0.9) - sorted[1_799])) <= Double(sorted[1_799]) * 0.017)
    }

    @Test("JSON gives back the same recording, and is sparse", arguments: [LatencyRecording.Precision.thousandth, .percent])
    func roundTrip(precision: LatencyRecording.Precision) throws {
        for recorded in [recording(latencies(seed: 3, count: 900), precision), LatencyRecording(precision: precision)] {
            let json = try JSONEncoder().encode(recorded)
            #expect(try JSONDecoder().decode(LatencyRecording.self, from: json) == recorded)
            #expect(json.count < 16_000)
        }
    }

    @Test(
        "a recording from a file that cannot be is refused",
        arguments: [
            #"{"precision":"percent","sum":1,"min":1,"max":1,"counts":[[-1,1]]}"#,
            #"{"precision":"percent","sum":1,"min":1,"max":1,"counts":[[99999,1]]}"#,
            #"{"precision":"percent","sum":1,"min":1,"max":1,"counts":[[1,-4]]}"#, #"{"precision":"percent","sum":1,"min":1,"max":1,"counts":[[1]]}"#,
            #"{"precision":"percent","sum":-1,"min":1,"max":1,"counts":[[1,1]]}"#,
            #"{"precision":"percent","sum":1,"min":2,"max":1,"counts":[[1,1]]}"#,
            #"{"precision":"percent","sum":1,"min":1,"max":9000000000,"counts":[[1,1]]}"#,
            #"{"precision":"tenth","sum":1,"min":1,"max":1,"counts":[]}"#,
        ])
    func hostile(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(LatencyRecording.self, from: Data(json.utf8)) }
    }

    @Test("counts of any size do not overflow")
    func overflow() throws {
        let json = #"{"precision":"percent","sum":9223372036854775807,"min":1,"max":1,"counts":[[1,9223372036854775807]]}"#
        var recorded = try JSONDecoder().decode(LatencyRecording.self, from: Data(json.utf8))
        recorded.merge(recorded)
        recorded.recordMany(microseconds: 3_600_000_000, count: .max)
        #expect(recorded.count == .max)
        #expect(recorded.quantile(0.5) >= 0)
    }
}
