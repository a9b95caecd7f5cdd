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

    @Test("the order of the parts does not matter, and a report of a whole run joined is itself")
    func anyOrder() throws {
        let parts = [sampleReport(seed: 1), sampleReport(seed: 2, part: 1), sampleReport(seed: 3, part: 2)]
        #expect(try LoadReport.joined([parts[2], parts[0], parts[1]]).frames == LoadReport.joined(parts).frames)
        #expect(try LoadReport.joined([parts[1], parts[2], parts[0]]).fairness == LoadReport.joined(parts).fairness)
        var whole = parts[0]
        whole.part = nil
        #expect(try LoadReport.joined([whole]) == whole)
    }

    @Test("all parts are joined, each once, and no whole run")
    func complete() {
        let parts = [sampleReport(seed: 1), sampleReport(seed: 2, part: 1), sampleReport(seed: 3, part: 2)]
        #expect(throws: JoiningError.twice(part: 1)) { try LoadReport.joined([parts[0], parts[1], parts[0]]) }
        #expect(throws: JoiningError.missing(parts: [2, 3])) { try LoadReport.joined([parts[0]]) }
        var whole = parts[1]
        whole.part = nil
        #expect(throws: JoiningError.whole) { try LoadReport.joined([parts[0], whole]) }
        #expect(throws: JoiningError.whole) { try LoadReport.joined([whole, whole]) }
        var others = parts[1]
        others.part?.count = 4
        #expect(throws: JoiningError.unlike("the number of parts")) { try LoadReport.joined([parts[0], others, parts[2]]) }
        var hostile = parts[0]
        hostile.part?.count = .max
        #expect(throws: JoiningError.unlike("the number of parts")) { try LoadReport.joined([hostile]) }
    }

    /// A stream of 50 frames a second, from 1,000 ms on, as its publisher's part has it.
    private static func stream(_ total: UInt32) -> RunPart.Stream {
        let marks = stride(from: UInt32(0), to: total, by: 10).map { RunPart.Mark(time: 1_000 + Double($0) * 20, number: $0) }
        return RunPart.Stream(room: 0, stream: 7, seat: 1, total: total, lastDue: 1_000 + Double(total - 1) * 20, marks: marks)
    }

    @Test(
        "what a client of one part should have had of another's stream is missing when it did not come",
        arguments: [
            // Nothing came; of it what was due while it heard and was measured.
            (since: 1_000.0, until: 9_000.0, waitsFor: UInt32?.none, heard: false, missing: 200),
            (since: 2_000.0, until: 9_000.0, waitsFor: nil, heard: false, missing: 150),
            (since: 1_000.0, until: 3_000.0, waitsFor: nil, heard: false, missing: 100),
            (since: 6_000.0, until: 9_000.0, waitsFor: nil, heard: false, missing: 0),
            // The last ones did not come, as far as they were due before its own end.
            (since: 1_000.0, until: 9_000.0, waitsFor: 190, heard: true, missing: 10),
            (since: 1_000.0, until: 3_000.0, waitsFor: 98, heard: true, missing: 2),
            (since: 1_000.0, until: 3_000.0, waitsFor: 150, heard: true, missing: 0),
            // It has heard the end.
            (since: 1_000.0, until: 9_000.0, waitsFor: nil, heard: true, missing: 0),
        ])
    func missingBetweenParts(_ case: (since: Double, until: Double, waitsFor: UInt32?, heard: Bool, missing: Int)) {
        let waitsFor: [UInt32: UInt32?] = `case`.heard ? [7: `case`.waitsFor] : [:]
        let listener = RunPart.Listener(room: 0, seat: 2, since: `case`.since, until: `case`.until, due: 0, delivered: 0, waitsFor: waitsFor)
        #expect(listener.missing(of: Self.stream(200)) == `case`.missing)
        #expect(RunPart.Listener(room: 1, seat: 2, since: 0, until: 9_000, due: 0, delivered: 0, waitsFor: [:]).missing(of: Self.stream(200)) == 0)
        #expect(RunPart.Listener(room: 0, seat: 1, since: 0, until: 9_000, due: 0, delivered: 0, waitsFor: [:]).missing(of: Self.stream(200)) == 0)
        #expect(RunPart.Listener(room: 0, seat: 2, since: nil, until: 9_000, due: 0, delivered: 0, waitsFor: [:]).missing(of: Self.stream(200)) == 0)
    }

    @Test("a joined report counts what listeners of one part did not get of another's publishers, in the share and in the fairness")
    func deafPart() throws {
        var speaking = sampleReport(seed: 1)
        var deaf = sampleReport(seed: 2, part: 1)
        speaking.part = RunPart(number: 1, count: 2)
        speaking.part?.streams = [Self.stream(200)]
        deaf.part = RunPart(number: 2, count: 2)
        deaf.part?.listeners = [RunPart.Listener(room: 0, seat: 2, since: 1_000, until: 9_000, due: 0, delivered: 0, waitsFor: [:])]
        let joined = try LoadReport.joined([speaking, deaf])
        #expect(joined.frames.due == speaking.frames.due + deaf.frames.due + 200)
        #expect(joined.fairness.deliveredMillionths.min == 0)
        #expect(joined.part == nil)
    }

    @Test("what fell due while the scenario had its reader away is no part of what is judged")
    func excused() {
        var frames = LoadReport.Frames()
        frames.due = 100
        frames.delivered = 80
        frames.excused = 20
        #expect(frames.deliveredShare == 1 && frames.missing == 20)
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
