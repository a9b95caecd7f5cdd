import FoundationEssentials
import LoadReport
import Testing

@Suite("Reports of load")
struct LoadReportTests {
    @Test("JSON gives back the same report")
    func roundTrip() throws {
        let report = sampleReport()
        #expect(try LoadReport(json: report.json()) == report)
    }

    @Test("a report of another version, and one cut short, are refused")
    func refused() {
        let text = String(decoding: sampleReport().json(), as: UTF8.self)
        #expect(throws: DecodingError.self) {
            try LoadReport(json: Array(text.replacing("\"version\":1", with: "\"version\":2").utf8))
        }
        #expect(throws: DecodingError.self) { try LoadReport(json: Array(text.utf8.dropLast(10))) }
    }

    @Test("a joined report adds up, second by second, and keeps the relay's figures of the part that has them")
    func joined() throws {
        let parts = [sampleReport(seed: 1), sampleReport(seed: 2, part: 1), sampleReport(seed: 3, part: 2)]
        let joined = try LoadReport.joined(parts)
        #expect(joined.parts == 3)
        #expect(joined.clients.wanted == 120)
        #expect(joined.clients.failedByReason == ["refused": 3])
        #expect(joined.frames.due == 1_170_000)
        #expect(joined.frames.delivered == parts.map(\.frames.delivered).reduce(0, +))
        // One relay said this to each of them.
        #expect(joined.frames.droppedByReason == ["expired": 90, "superseded": 10])
        #expect(joined.latencyByKind["audio"]?.count == 12_000)
        #expect(joined.latencyByKind["audio"]?.max == parts.compactMap { $0.latencyByKind["audio"]?.max }.max())
        #expect(joined.fairness.latencyP99.count == 117)
        #expect(joined.startedUnixMilliseconds == parts[0].startedUnixMilliseconds)
        #expect(abs(joined.wallSeconds - 20.3) < 0.001)
        #expect(joined.relay == parts[0].relay)
        #expect(joined.timeline.count == 20)
        #expect(joined.timeline.map(\.framesDelivered).reduce(0, +) == 3 * 20 * 19_500)
        #expect(joined.timeline[5].clientsConnected == 117)
        #expect(joined.timeline[5].latency.count == 900)
        #expect(joined.timeline[5].relayCPUSeconds == 0.31)
    }

    @Test("joining is associative, and one report joined is itself")
    func associative() throws {
        let parts = [sampleReport(seed: 1), sampleReport(seed: 2, part: 1), sampleReport(seed: 3, part: 2)]
        let left = try LoadReport.joined([LoadReport.joined([parts[0], parts[1]]), parts[2]])
        #expect(left == (try LoadReport.joined([parts[0], LoadReport.joined([parts[1], parts[2]])])))
        #expect(left == (try LoadReport.joined(parts)))
        #expect(try LoadReport.joined([parts[0]]) == parts[0])
    }

    @Test("limits are judged anew when reports are joined")
    func judgedAnew() throws {
        let parts = [sampleReport(seed: 1), sampleReport(seed: 2, part: 1), sampleReport(seed: 3, part: 2)]
        let outcomes = parts.map { $0.limits.first { $0.name == "failedClientsMax" }?.holds }
        #expect(outcomes == [true, true, true])
        #expect(try LoadReport.joined(parts).limits.first { $0.name == "failedClientsMax" }?.holds == false)
    }

    @Test("what is of another run is not joined")
    func unlike() {
        var later = sampleReport(part: 1)
        later.startedUnixMilliseconds += 60_000
        var others = sampleReport(part: 1)
        others.scenario.parameters = []
        var stricter = sampleReport(part: 1)
        stricter.demands.fairnessMax = 1
        #expect(throws: JoiningError.nothing) { try LoadReport.joined([]) }
        #expect(throws: JoiningError.unlike("the scenario")) { try LoadReport.joined([sampleReport(), sampleReport(name: "talk")]) }
        #expect(throws: JoiningError.unlike("the scenario's parameters")) { try LoadReport.joined([sampleReport(), others]) }
        #expect(throws: JoiningError.unlike("the limits")) { try LoadReport.joined([sampleReport(), stricter]) }
        #expect(throws: JoiningError.apart) { try LoadReport.joined([sampleReport(), later]) }
    }

    @Test("fairness is the worst client over the median one")
    func fairness() {
        var fairness = LoadReport.Fairness()
        for (p99, delivered) in [(1_000, 100), (2_000, 100), (2_000, 100), (2_000, 90), (5_000, 50)] {
            var latency = LatencyRecording()
            latency.recordMany(microseconds: p99, count: 50)
            fairness.add(latency, due: 100, delivered: delivered)
        }
        #expect(fairness.latencyRatio == 2.5)
        #expect(fairness.deliveredRatio.map { abs($0 - 0.5) < 0.001 } == true)
        #expect(LoadReport.Fairness().latencyRatio == nil)
    }

    @Test("the text tells everything in aligned tables and ends with the verdict")
    func text() {
        let text = sampleReport().text()
        for expected in ["conference: Ten speak", "p99.9", "relay: expired", "worst client", "CPU-seconds per million frames", "holds"] {
            #expect(text.contains(expected), "\(expected)")
        }
        #expect(text.hasSuffix("All 3 limits hold.\n"))
        var broken = sampleReport(name: "\u{1B}[31mred")
        broken.demands.fairnessMax = 0.5
        broken.judge()
        #expect(broken.text().hasSuffix("Broken: fairnessMax.\n"))
        #expect(!broken.text().contains("\u{1B}"))
        for table in text.components(separatedBy: "\n\n") where table.hasPrefix("|") {
            #expect(Set(table.split(separator: "\n").map(\.count)).count == 1)
        }
    }

    @Test(
        "RFC 3550 §6.4.1 jitter is the smoothed change of the transit time",
        arguments: [([1_000, 1_000, 1_000], 0), ([1_000, 2_600], 100), ([1_000, 2_600, 2_600], 93), ([500], 0)])
    func jitter(transits: [Int], expected: Int) {
        var jitter = ReceiverJitter()
        #expect(jitter.microseconds == nil)
        for transit in transits { jitter.arrived(transitMicroseconds: transit) }
        #expect(jitter.microseconds == expected)
    }

    @Test(
        "numbers read well",
        arguments: [(0.0, "0"), (0.0123, "0.012"), (1.234, "1.23"), (12.34, "12.3"), (1_234.5, "1,235"), (-2.5, "-2.50"), (.nan, "none")])
    func numbers(value: Double, text: String) {
        #expect(Numbers.significant(value) == text)
    }

    @Test(
        "dates are of the civil calendar",
        arguments: [
            (0, "1970-01-01 00:00:00 UTC"), (1_796_083_199_000, "2026-11-30 23:59:59 UTC"), (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (-1, "at an unknown time"),
        ])
    func dates(milliseconds: Int64, text: String) {
        #expect(Numbers.date(unixMilliseconds: milliseconds) == text)
    }
}
