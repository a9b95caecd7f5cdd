/// Why reports cannot be joined.
package enum JoiningError: Error, Equatable, CustomStringConvertible {
    case nothing
    /// Of several scenarios, or of one with other parameters or limits.
    case unlike(String)
    /// They do not overlap in time: the run of one was over before another began.
    case apart

    package var description: String {
        switch self {
        case .nothing: "there is no report to join"
        case .unlike(let what): "the reports differ in \(what): they are not parts of one run"
        case .apart: "the reports do not overlap in time: they are not parts of one run"
        }
    }
}

extension LoadReport {
    /// One report of what several generator processes measured of one run at one time. Counts add up, recordings are merged, seconds are matched by the
    /// clock, and the limits are judged anew. The relay's figures are those of the part that has the most: several parts that looked at the relay saw
    /// the same one.
    /// - Tag: LoadReportJoining
    package static func joined(_ reports: [LoadReport]) throws(JoiningError) -> LoadReport {
        guard var result = reports.first else { throw .nothing }
        for other in reports.dropFirst() {
            guard other.scenario.name == result.scenario.name else { throw .unlike("the scenario") }
            guard other.scenario.parameters == result.scenario.parameters else { throw .unlike("the scenario's parameters") }
            guard other.demands == result.demands else { throw .unlike("the limits") }
            guard result.overlaps(other) else { throw .apart }
            result.add(other)
        }
        result.judge()
        return result
    }

    private var endedUnixMilliseconds: Double { Double(startedUnixMilliseconds) + max(0, wallSeconds) * 1_000 }

    private func overlaps(_ other: LoadReport) -> Bool {
        Double(startedUnixMilliseconds) <= other.endedUnixMilliseconds && Double(other.startedUnixMilliseconds) <= endedUnixMilliseconds
    }

    private mutating func add(_ other: LoadReport) {
        let ended = max(endedUnixMilliseconds, other.endedUnixMilliseconds)
        startedUnixMilliseconds = min(startedUnixMilliseconds, other.startedUnixMilliseconds)
        wallSeconds = (ended - Double(startedUnixMilliseconds)) / 1_000
        parts.add(other.parts)
        notes += other.notes.filter { !notes.contains($0) }
        counts.add(other.counts)
        clients.wanted.add(other.clients.wanted)
        clients.connected.add(other.clients.connected)
        clients.failedByReason.add(other.clients.failedByReason)
        handshakes.count.add(other.handshakes.count)
        handshakes.resumed.add(other.handshakes.resumed)
        handshakes.seconds = max(handshakes.seconds, other.handshakes.seconds)
        handshakes.latency.merge(other.handshakes.latency)
        joinToFirstFrame.merge(other.joinToFirstFrame)
        frames.sent.add(other.frames.sent)
        frames.due.add(other.frames.due)
        frames.delivered.add(other.frames.delivered)
        jitter.merge(other.jitter)
        fairness.latencyP99.merge(other.fairness.latencyP99)
        fairness.deliveredMillionths.merge(other.fairness.deliveredMillionths)
        for (kind, recording) in other.latencyByKind { latencyByKind[kind, default: LatencyRecording()].merge(recording) }
        takeFromRelay(other)
        joinTimeline(other.timeline)
    }

    /// The relay's own words are of the whole relay: they are not added up.
    private mutating func takeFromRelay(_ other: LoadReport) {
        for (reason, count) in other.frames.droppedByReason {
            frames.droppedByReason[reason] = max(frames.droppedByReason[reason] ?? 0, count)
        }
        guard let theirs = other.relay else { return }
        guard let ours = relay, (ours.cpuSeconds ?? 0) >= (theirs.cpuSeconds ?? 0) else {
            relay = theirs
            return
        }
    }

    private mutating func joinTimeline(_ other: [TimelineSecond]) {
        var seconds: [Int64: TimelineSecond] = [:]
        for second in timeline + other {
            guard var known = seconds[second.unixSecond] else {
                seconds[second.unixSecond] = second
                continue
            }
            known.clientsConnected.add(second.clientsConnected)
            known.framesSent.add(second.framesSent)
            known.framesDelivered.add(second.framesDelivered)
            known.latency.merge(second.latency)
            known.relayCPUSeconds = [known.relayCPUSeconds, second.relayCPUSeconds].compactMap(\.self).max()
            known.relayRSSBytes = [known.relayRSSBytes, second.relayRSSBytes].compactMap(\.self).max()
            seconds[second.unixSecond] = known
        }
        timeline = seconds.values.sorted { $0.unixSecond < $1.unixSecond }
    }
}

extension [String: Int] {
    /// Adds the counts of each name.
    mutating func add(_ other: [String: Int]) {
        for (name, count) in other { self[name, default: 0].add(count) }
    }
}
