/// Why reports cannot be joined.
package enum JoiningError: Error, Equatable, CustomStringConvertible {
    case nothing
    /// Of several scenarios, or of one with other parameters or limits.
    case unlike(String)
    /// They do not overlap in time: the run of one was over before another began.
    case apart
    /// A report of a whole run, beside others.
    case whole
    case twice(part: Int)
    case missing(parts: [Int])

    package var description: String {
        switch self {
        case .nothing: "there is no report to join"
        case .unlike(let what): "the reports differ in \(what): they are not parts of one run"
        case .apart: "the reports do not overlap in time: they are not parts of one run"
        case .whole: "one of the reports is of a whole run: it has no other parts"
        case .twice(let part): "part \(part) is there twice"
        case .missing(let parts): "part \(parts.map { "\($0)" }.joined(separator: ", ")) is missing"
        }
    }
}

extension LoadReport {
    /// One report of what several generator processes measured of one run at one time: of all its parts, each once. Counts add up, recordings are merged,
    /// seconds are matched by the clock, what clients of one part should have had of another's streams is found, and the limits are judged anew. The relay's
    /// figures are those of the part that has the most: several parts that looked at the relay saw the same one.
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
        let parts = reports.compactMap(\.part)
        guard let count = parts.first?.count else {
            guard reports.count == 1 else { throw .whole }
            return result
        }
        try check(parts, of: count, reports.count)
        result.settle(parts)
        result.part = nil
        result.judge()
        return result
    }

    /// More processes than any run has.
    private static let partsMax = 1_000

    private static func check(_ parts: [RunPart], of count: Int, _ reports: Int) throws(JoiningError) {
        guard parts.count == reports else { throw .whole }
        guard (1...partsMax).contains(count), parts.allSatisfy({ $0.count == count }) else { throw .unlike("the number of parts") }
        var seen: Set<Int> = []
        for part in parts where !seen.insert(part.number).inserted { throw .twice(part: part.number) }
        let missing = (1...count).filter { !seen.contains($0) }
        guard missing.isEmpty else { throw .missing(parts: missing) }
    }

    /// What was due between the parts, and how each client fared with all of it.
    private mutating func settle(_ parts: [RunPart]) {
        for part in parts {
            let others = Dictionary(grouping: parts.filter { $0.number != part.number }.flatMap(\.streams), by: \.room)
            for listener in part.listeners {
                let missing = others[listener.room, default: []].reduce(into: 0) { $0.add(listener.missing(of: $1)) }
                frames.due.add(missing)
                var due = listener.due
                due.add(missing)
                fairness.add(due: due, delivered: listener.delivered)
            }
        }
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
        frames.excused.add(other.frames.excused)
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
