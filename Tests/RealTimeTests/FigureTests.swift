import MediaProtocol
import RelayBase
import Testing

@testable import real_time

@Suite("Figures of the real-time table")
struct FigureTests {
    @Test(
        "a percentile is the smallest value that so many do not exceed",
        arguments: [(0.0, 10), (0.5, 50), (0.9, 90), (0.95, 100), (0.99, 100), (1, 100)] as [(Double, UInt64)])
    func percentiles(share: Double, expected: UInt64) {
        var samples = Samples((1...10).reversed().map { UInt64($0) * 10 })
        #expect(samples.percentile(share) == expected)
    }

    @Test("of nothing there is no percentile, and it fails every bound")
    func nothing() {
        var samples = Samples()
        #expect(samples.percentile(0.5) == nil)
        #expect(Outcome(.stall, "", "", milliseconds: samples.milliseconds(0.99), atMost: 500).verdict == .fails)
    }

    @Test(
        "numbers are rounded for people",
        arguments: [
            (1.005, 1, "1.0"), (1.06, 1, "1.1"), (-0.04, 1, "0.0"), (-2.5, 0, "-3"), (99.96, 1, "100.0"), (.nan, 1, "none"), (0.125, 2, "0.13"),
        ])
    func rounding(value: Double, digits: Int, expected: String) {
        #expect(Text.fixed(value, digits) == expected)
    }

    @Test("a table is Markdown with columns of one width")
    func table() {
        #expect(Text.table(["a", "bc"], [["1", "2"], ["123", ""]]) == "| a   | bc |\n| --- | -- |\n| 1   | 2  |\n| 123 |    |")
    }

    // MARK: Receptions

    /// An audio frame that was sent at one millisecond and came at another.
    private static func frame(sent: UInt64, received: UInt64, sequence: UInt32 = 3) -> Reception? {
        var bytes = [UInt8](repeating: 0, count: MediaHeader.byteCount + 100)
        let header = MediaHeader(kind: .audio, stream: StreamID(7), sequence: sequence, timestamp: 0)
        unsafe bytes.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        let stamp = sent * 1_000_000
        for place in 0..<8 { bytes[MediaHeader.byteCount + place] = UInt8(truncatingIfNeeded: stamp >> UInt64(56 - 8 * place)) }
        return unsafe Reception(bytes.span.bytes, received: MonotonicInstant(nanoseconds: received * 1_000_000))
    }

    @Test("a frame tells when it was published")
    func stamp() {
        let reception = Self.frame(sent: 1_000_000, received: 1_000_123)
        #expect(reception?.latency == 123_000_000)
        #expect(reception?.stream == 7)
        #expect(reception?.sequence == 3)
        #expect(reception?.byteCount == MediaHeader.byteCount + 100)
    }

    @Test("configurations and what is too short for a stamp are no receptions")
    func others() {
        for (kind, count) in [(MediaKind.configuration, 24), (.audio, 23), (.audio, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            unsafe bytes.withUnsafeMutableBytes { unsafe MediaHeader(kind: kind, stream: StreamID(1), sequence: 0, timestamp: 0).write(into: $0) }
            #expect(unsafe Reception(bytes.span.bytes, received: .zero) == nil)
        }
    }

    @Test(
        "delay is normal again with the first frame that leads a normal second",
        arguments: [
            // Latencies of frames that come every 20 ms from 1,000 ms on, and when it is normal again.
            ([UInt64](repeating: 25, count: 100), 0.0),
            ([UInt64](repeating: 900, count: 10) + [UInt64](repeating: 25, count: 100), 200),
            // One slow frame now and then is no backlog; a quarter of them is.
            ((0..<200).map { $0.isMultiple(of: 40) ? 900 : 25 }, 20),
            ((0..<200).map { $0.isMultiple(of: 4) ? 900 : 25 }, nil),
            ([UInt64](repeating: 900, count: 100), nil),
        ] as [([UInt64], Double?)])
    func recovery(latencies: [UInt64], expected: Double?) {
        let receptions = latencies.enumerated().compactMap { place, latency in
            Self.frame(sent: 1_000 + 20 * UInt64(place) - latency, received: 1_000 + 20 * UInt64(place))
        }
        let begin = MonotonicInstant(nanoseconds: 1_000_000_000)
        let result = Recovery.milliseconds(of: receptions, after: begin, normal: 50_000_000)
        if latencies.last == 25, latencies.count == 200, expected == nil {
            // Nothing follows the last frames, so that they look normal: what counts is that none before them does.
            #expect((result ?? .infinity) > 3_900)
        } else {
            #expect(result == expected)
        }
    }

    @Test(
        "a lost frame was dropped too soon when the one behind it came before its deadline",
        arguments: [
            // Frames 0, 5: four lost, published at 20, 40, 60, 80 ms; the way takes 30 ms, the deadline is 200.
            (comes: 130, beforeDeadline: 4), (249, 4), (250, 3), (300, 1), (310, 0), (900, 0),
        ] as [(UInt64, Int)])
    func losses(comes: UInt64, beforeDeadline: Int) {
        let receptions = [Self.frame(sent: 0, received: 30, sequence: 0), Self.frame(sent: 100, received: comes, sequence: 5)].compactMap { $0 }
        let losses = Losses(of: receptions, deadline: 200_000_000, transit: 30_000_000)
        #expect(losses.count == 4)
        #expect(losses.beforeDeadline == beforeDeadline)
    }
}
