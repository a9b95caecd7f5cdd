import JitterBuffer
import RelayBase
import Testing

@Suite("How late packets come")
struct ArrivalStatisticsTests {
    @Test("against the fastest of the window, whatever the clocks' distance", arguments: [-3_600_000_000, 0, 40_000, 7_200_000_000] as [Int64])
    func relative(offset: Int64) {
        var statistics = ArrivalStatistics()
        let delays: [Int64] = [30_000, 10_000, 25_000, 10_000, 90_000]
        var found: [Int64] = []
        for (place, delay) in delays.enumerated() {
            let media = Int64(place) * 20_000
            found.append(statistics.observe(media: media, arrival: media + 8_000_000_000 + offset + delay))
        }
        #expect(found == [0, 0, 15_000, 0, 80_000])
        #expect(statistics.delay(media: 0, now: 8_000_000_000 + offset + 50_000) == 40_000)
    }

    @Test("a path that is longer from now on is the new measure within five seconds, and says so once")
    func step() {
        var statistics = ArrivalStatistics()
        var steps: [(Int64, Int64)] = []
        var last: Int64 = -1
        for place in 0..<1_000 as Range<Int64> {
            let media = place * 20_000
            last = statistics.observe(media: media, arrival: media + (media < 10_000_000 ? 20_000 : 140_000))
            if statistics.step > 0 { steps.append((media, statistics.step)) }
        }
        #expect(last == 0)
        #expect(steps.count == 1)
        #expect((steps.first?.0 ?? 0) <= 15_000_000 && steps.first?.1 == 120_000)
    }

    @Test("the edge is what the fastest of the last second was late by")
    func edge() {
        var statistics = ArrivalStatistics()
        for place in 0..<500 as Range<Int64> {
            let media = place * 20_000
            _ = statistics.observe(media: media, arrival: media + (media < 8_000_000 ? 20_000 : 140_000))
        }
        #expect(statistics.edge == 120_000)
    }

    @Test(
        "drift is found within 25 ppm in two minutes, stalls or not", arguments: [0, 20, -100, 500, -500, 1_500, -1_500] as [Double], [false, true])
    func drift(ppm: Double, hasStalls: Bool) {
        var statistics = ArrivalStatistics()
        let trace =
            hasStalls
            ? TracePattern.stalls(seconds: 150, everySeconds: 3, milliseconds: 100...400) : TracePattern.gaussian(seconds: 150, milliseconds: 4)
        for packet in trace.packets {
            guard let arrival = packet.arrival else { continue }
            // The sender's clock is fast: what it says of time is ahead.
            let media = Int64(Double(packet.sent) * (1 + ppm / 1e6))
            _ = statistics.observe(media: media, arrival: arrival)
        }
        #expect(abs(Double(statistics.driftPartsPerMillion) - ppm) < 25)
    }

    @Test("a clock that is off by more than any clock is bounded")
    func driftBound() {
        var statistics = ArrivalStatistics()
        for place in 0..<5_000 as Range<Int64> { _ = statistics.observe(media: place * 20_000, arrival: place * 20_200) }
        #expect(statistics.driftPartsPerMillion == -1_500)
    }
}
