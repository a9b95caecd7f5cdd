/// The tables of a report, once for the text and the page.
struct ReportTable {
    let title: String
    let header: [String]
    let rows: [[String]]
    /// What explains it.
    var note = ""
}

extension LoadReport {
    /// The parts that the run had something of.
    var tables: [ReportTable] {
        [limitsTable, clientsTable, framesTable, latencyTable, fairnessTable, relayTable, countsTable].compactMap(\.self)
    }

    private var limitsTable: ReportTable? {
        guard !limits.isEmpty else { return nil }
        return ReportTable(
            title: "Limits", header: ["limit", "measured", "demanded", ""],
            rows: limits.map { outcome in
                [
                    outcome.name, outcome.measured.map(Self.limited) ?? "not measured",
                    "\(outcome.isLowest ? "≥" : "≤") \(Self.limited(outcome.bound))", outcome.holds ? "holds" : "BROKEN",
                ]
            })
    }

    /// Shares lie close to 1, and a limit may lie closer.
    private static func limited(_ value: Double) -> String {
        value > 0.9 && value < 1.001 ? Numbers.fixed(value, 5) : Numbers.significant(value)
    }

    private var clientsTable: ReportTable {
        var rows = [
            ["clients wanted", Numbers.thousands(clients.wanted)], ["connected", Numbers.thousands(clients.connected)],
            ["failed", Numbers.thousands(clients.failed)],
        ]
        rows += clients.failedByReason.sorted { $0.key < $1.key }.map { ["failed: \($0.key)", Numbers.thousands($0.value)] }
        rows.append(["handshakes", Numbers.thousands(handshakes.count)])
        if handshakes.resumed > 0 { rows.append(["of these resumed", Numbers.thousands(handshakes.resumed)]) }
        if let rate = handshakes.perSecond { rows.append(["handshakes per second", Numbers.significant(rate)]) }
        return ReportTable(title: "Clients", header: ["", "count"], rows: rows)
    }

    private var framesTable: ReportTable? {
        guard frames.sent > 0 || frames.due > 0 else { return nil }
        var rows = [
            ["sent", Numbers.thousands(frames.sent), ""], ["due to subscribers", Numbers.thousands(frames.due), ""],
            ["delivered", Numbers.thousands(frames.delivered), frames.deliveredShare.map { Numbers.percent($0, 3) } ?? ""],
            [
                "due but missing", Numbers.thousands(max(0, frames.missing - frames.excused)),
                frames.deliveredShare.map { Numbers.percent(max(0, 1 - $0), 3) } ?? "",
            ],
        ]
        if frames.excused > 0 { rows.append(["fell due while their reader did not read, or was away", Numbers.thousands(frames.excused), ""]) }
        for (reason, count) in frames.droppedByReason.sorted(by: { $0.key < $1.key }) where count > 0 {
            rows.append(["relay: \(reason)", Numbers.thousands(count), ""])
        }
        if wallSeconds > 0 { rows.append(["delivered per second", Numbers.fixed(Double(frames.delivered) / wallSeconds), ""]) }
        return ReportTable(title: "Frames", header: ["", "count", "of those due"], rows: rows)
    }

    private var latencyTable: ReportTable? {
        let rows = recordings.map { name, recording in
            [name] + [0.5, 0.95, 0.99, 0.999].map { Numbers.milliseconds(recording.quantile($0)) }
                + [Numbers.milliseconds(recording.max), Numbers.significant(recording.mean / 1_000), Numbers.thousands(recording.count)]
        }
        guard !rows.isEmpty else { return nil }
        return ReportTable(
            title: "Latency, ms", header: ["", "p50", "p95", "p99", "p99.9", "max", "mean", "of"], rows: rows,
            note: "Frames: one way, from the instant at which a frame was due. Jitter: RFC 3550, one value for each receiver and stream.")
    }

    /// All recordings that are not empty, with their names.
    var recordings: [(name: String, recording: LatencyRecording)] {
        var all = latencyByKind.sorted { $0.key < $1.key }.map { (name: $0.key, recording: $0.value) }
        all += [(name: "jitter", jitter), (name: "join to first frame", joinToFirstFrame), (name: "handshake", handshakes.latency)]
        return all.filter { !$0.recording.isEmpty }
    }

    private var fairnessTable: ReportTable? {
        var rows: [[String]] = []
        if let ratio = fairness.latencyRatio {
            let of = fairness.latencyP99
            rows.append([
                "latency p99, ms", Numbers.milliseconds(of.quantile(0.5)), Numbers.milliseconds(of.max), Numbers.fixed(ratio, 2),
                Numbers.thousands(of.count),
            ])
        }
        if let ratio = fairness.deliveredRatio {
            let of = fairness.deliveredMillionths
            rows.append([
                "delivered of what was due", Numbers.percent(Double(of.quantile(0.5)) / 1e6, 3), Numbers.percent(Double(of.min) / 1e6, 3),
                Numbers.fixed(ratio, 3), Numbers.thousands(of.count),
            ])
        }
        guard !rows.isEmpty else { return nil }
        return ReportTable(title: "Fairness", header: ["", "median client", "worst client", "worst ÷ median", "clients"], rows: rows)
    }

    private var countsTable: ReportTable? {
        guard !counts.isEmpty else { return nil }
        return ReportTable(
            title: "Counts", header: ["", "count"], rows: counts.sorted { $0.key < $1.key }.map { [$0.key, Numbers.thousands($0.value)] })
    }

    private var relayTable: ReportTable? {
        guard let relay else { return nil }
        var rows: [[String]] = []
        func row(_ name: String, _ value: String?) { if let value { rows.append([name, value]) } }
        row("CPU-seconds", relay.cpuSeconds.map { Numbers.fixed($0, 2) })
        if wallSeconds > 0 { row("share of one core", relay.cpuSeconds.map { Numbers.percent($0 / wallSeconds) }) }
        row("CPU-seconds per million frames", cpuSecondsPerMillionFrames.map(Numbers.significant))
        row("frames per CPU-second", cpuSecondsPerMillionFrames.flatMap { $0 > 0 ? Numbers.fixed(1e6 / $0) : nil })
        row("resident memory", relay.rssBytes.map { Numbers.bytes(Double($0)) })
        row("of it per connection", relay.rssBytesPerConnection.map(Numbers.bytes))
        row("context switches, voluntary", relay.voluntarySwitches.map(Numbers.thousands))
        row("context switches, involuntary", relay.involuntarySwitches.map(Numbers.thousands))
        row("turns of loops", relay.loopIterations.map(Numbers.thousands))
        row("turns over 2 ms", relay.loopIterationsOver2Milliseconds.map(Numbers.thousands))
        row("turns, p99.9", relay.loopIterationP999Milliseconds.map { "≤ \(Numbers.significant($0)) ms" })
        row("sends", relay.sends.map(Numbers.thousands))
        if let sends = relay.sends, let delivered = relay.framesDelivered, sends > 0 {
            row("frames per send", Numbers.significant(Double(delivered) / Double(sends)))
        }
        rows += relay.further.map { [$0.name, $0.value] }
        return rows.isEmpty ? nil : ReportTable(title: "Relay", header: ["", "measured"], rows: rows)
    }

    /// One line: when, how long, how many processes, on what.
    var circumstances: String {
        let processes = parts == 1 ? "one generator process" : "\(parts) generator processes"
        let start = Numbers.date(unixMilliseconds: startedUnixMilliseconds)
        return "\(start), \(Numbers.significant(wallSeconds)) s, \(processes)" + (machine.isEmpty ? "" : ", \(machine)")
    }

    /// What is said of the limits in one line.
    var verdict: String {
        let broken = limits.filter { !$0.holds }.map(\.name)
        if limits.isEmpty { return "No limits are stated." }
        return broken.isEmpty ? "All \(limits.count) limits hold." : "Broken: \(broken.joined(separator: ", "))."
    }
}
