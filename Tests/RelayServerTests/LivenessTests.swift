import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Heartbeats and what operators see of them")
struct LivenessTests {
    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: 1_000_000 + milliseconds) }

    @Test("pings keep their beat: one that goes out late does not move those after it, and missed ones are not made good")
    func beat() {
        var liveness = ChannelLiveness(pingMilliseconds: 15_000, now: at(0))
        #expect(liveness.nextPing == at(1_000))
        liveness.pinged(pingMilliseconds: 15_000, now: at(1_400))
        #expect(liveness.nextPing == at(16_000))
        liveness.pinged(pingMilliseconds: 15_000, now: at(16_000))
        #expect(liveness.nextPing == at(31_000))
        liveness.pinged(pingMilliseconds: 15_000, now: at(100_000))
        #expect(liveness.nextPing == at(115_000))
        #expect(ChannelLiveness(pingMilliseconds: 200, now: at(0)).nextPing == at(200))
    }

    @Test("a keep-alive message is due when nothing was said for as long as the client wishes, and never without the wish")
    func keepAlive() {
        var liveness = ChannelLiveness(pingMilliseconds: 15_000, now: at(0))
        #expect(liveness.keepAliveDue == .distantFuture)
        liveness.keepAliveMilliseconds = 2_000
        liveness.lastSaid = at(500)
        #expect(liveness.keepAliveDue == at(2_500))
    }

    @Test("a histogram counts each value once, by the least bound that it does not exceed")
    func histogram() {
        var histogram = Histogram(bounds: [0, 1, 10])
        for value in [0, 0.5, 1, 2, 10, 11, 1e9] { histogram.observe(value) }
        #expect(histogram.counts == [1, 2, 2])
        #expect(histogram.total == 7)
        var sum = Histogram(bounds: [0, 1, 10])
        sum.add(histogram)
        sum.add(histogram)
        #expect(sum.counts == [2, 4, 4] && sum.total == 14 && sum.sum == histogram.sum * 2)
    }

    @Test("the metrics' histograms are cumulative and end with everything")
    func histogramText() {
        var counters = LoopCounters()
        var table = ReceptionTable()
        var totals = ReceiverTotals()
        (totals.played, totals.concealed, totals.bufferMilliseconds) = (97, 3, 50)
        counters.liveness.observe(table.take(1, totals, now: at(0)))
        counters.liveness.observe(table.take(2, ReceiverTotals(), now: at(0)))
        let text = PrometheusText.render([counters, counters], audio: [], readiness: DrainState(), auditLost: 0, uptimeSeconds: 1)
        for line in [
            "# TYPE segue_receiver_concealed_ratio histogram", #"segue_receiver_concealed_ratio_bucket{le="0"} 2"#,
            #"segue_receiver_concealed_ratio_bucket{le="0.02"} 2"#, #"segue_receiver_concealed_ratio_bucket{le="0.05"} 4"#,
            #"segue_receiver_concealed_ratio_bucket{le="+Inf"} 4"#, "segue_receiver_concealed_ratio_sum 0.06",
            "segue_receiver_concealed_ratio_count 4",
            #"segue_receiver_buffer_seconds_bucket{le="0.06"} 2"#, "segue_receiver_buffer_seconds_count 2",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test(
        "a TCP_USER_TIMEOUT that would end readers before the relay's own bound is a fault",
        arguments: [(35_000, 30_000, true), (30_000, 30_000, true), (29_999, 30_000, false), (0, 30_000, true), (35_000, 60_000, false)])
    func userTimeout(timeout: Int, stall: Int, isGood: Bool) {
        let text = Array(#"{"limits": {"tcpUserTimeoutMilliseconds": \#(timeout), "stallMillisecondsMax": \#(stall)}}"#.utf8)
        let faults = ServerConfiguration.examine(text: text, environment: [:], defaults: ServerConfiguration(), certificatesRequired: false).faults
        #expect(faults.map(\.path) == (isGood ? [] : ["limits.tcpUserTimeoutMilliseconds"]))
    }
}
