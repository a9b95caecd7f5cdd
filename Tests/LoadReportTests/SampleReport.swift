import LoadReport

/// A report of one generator process that has something of everything, from seeded data.
///
/// - Parameter part: of three, from 0.
func sampleReport(seed: UInt64 = 1, part: Int = 0, name: String = "conference") -> LoadReport {
    var generator = SeededGenerator(state: seed)
    var report = LoadReport(
        scenario: LoadReport.Scenario(name: name, text: "Ten speak, all listen.", parameters: [LoadReport.Parameter("clients", "40")]))
    report.startedUnixMilliseconds = 1_796_000_000_000 + Int64(part) * 150
    report.wallSeconds = 20
    report.machine = "2 cores, Linux"
    report.clients.wanted = 40
    report.clients.connected = 39
    report.clients.failedByReason = ["refused": 1]
    report.handshakes.count = 39
    report.handshakes.seconds = 0.5
    report.frames.sent = 10_000
    report.frames.due = 390_000
    report.frames.delivered = 389_900
    report.frames.droppedByReason = ["expired": 90, "superseded": 10]
    var audio = LatencyRecording()
    var video = LatencyRecording()
    for _ in 0..<4_000 {
        audio.record(microseconds: Int.random(in: 200...3_000, using: &generator))
        video.record(microseconds: Int.random(in: 400...9_000, using: &generator))
        report.joinToFirstFrame.record(microseconds: Int.random(in: 5_000...60_000, using: &generator))
        report.handshakes.latency.record(microseconds: Int.random(in: 1_000...30_000, using: &generator))
    }
    report.latencyByKind = ["audio": audio, "video": video]
    for client in 0..<39 {
        report.jitter.record(microseconds: Int.random(in: 50...400, using: &generator))
        var latency = LatencyRecording(precision: .percent)
        for _ in 0..<200 { latency.record(microseconds: Int.random(in: 200...(3_000 + client), using: &generator)) }
        report.fairness.add(latency, due: 1_000, delivered: 1_000 - client)
    }
    for second in 0..<20 {
        var one = LoadReport.TimelineSecond(unixSecond: report.startedUnixMilliseconds / 1_000 + Int64(second))
        one.clientsConnected = min(39, second * 10)
        one.framesSent = 500
        one.framesDelivered = 19_500
        for _ in 0..<300 { one.latency.record(microseconds: Int.random(in: 200...9_000, using: &generator)) }
        if part == 0 {
            one.relayCPUSeconds = 0.31
            one.relayRSSBytes = 30_000_000 + second * 1_000
        }
        report.timeline.append(one)
    }
    if part == 0 {
        var relay = LoadReport.RelayFigures()
        relay.cpuSeconds = 6.2
        relay.rssBytes = 31_000_000
        relay.rssBytesPerConnection = 22_000
        relay.voluntarySwitches = 12_000
        relay.loopIterationP999Milliseconds = 1
        report.relay = relay
    }
    report.demands.audioLatencyP99Milliseconds = 5
    report.demands.deliveredShareMin = 0.999
    report.demands.failedClientsMax = 2
    report.part = RunPart(number: part + 1, count: 3)
    report.judge()
    return report
}
