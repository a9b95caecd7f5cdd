import LoadReport
import Reactor
import RelayBase
import Signalling

/// The report of what the loops have measured.
extension LoadRun {
    /// Later than this with what was due, the generator itself is part of what it measured.
    private static let latenessMicrosecondsMax = 5_000

    static func figure(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }

    static func describe(_ scenario: LoadScenario) -> LoadReport.Scenario {
        var parameters: [LoadReport.Parameter] = scenario.groups.map { group in
            var words: [String] = []
            for plan in group.publishes {
                let bytes = plan.layers.map { "\($0.bytes)" }.joined(separator: "/")
                let turns = plan.turns.map { ", \($0.speaking) at once" } ?? ""
                words.append("\(plan.kind.rawValue) \(figure(plan.framesPerSecond))/s of \(bytes) bytes\(turns)")
            }
            if group.subscribes { words.append("hear everybody") }
            if !group.joins { words.append("idle") }
            return .init(group.name, "\(group.count): " + (words.isEmpty ? "in the room" : words.joined(separator: "; ")))
        }
        if let perRoom = scenario.clientsPerRoom { parameters.append(.init("clients in a room", "\(perRoom)")) }
        parameters.append(.init("clients begin", "\(figure(scenario.rampPerSecond)) a second"))
        parameters.append(.init("measured", "\(figure(scenario.seconds)) s"))
        return LoadReport.Scenario(name: scenario.name, text: scenario.text, parameters: parameters)
    }

    static func fill(_ report: inout LoadReport, _ tallies: [LoopTally], _ window: Range<UInt64>, _ part: (number: Int, count: Int)) {
        var all = LoopTally()
        for tally in tallies { all.add(tally) }
        report.clients.connected = all.reached
        report.clients.failedByReason = all.failedByReason
        report.handshakes.count = all.handshakes
        report.handshakes.resumed = all.handshakesResumed
        if let time = all.handshakesTime { report.handshakes.seconds = Double(time.upperBound - time.lowerBound) / 1e9 }
        report.handshakes.latency = all.handshakeLatency
        report.joinToFirstFrame = all.joinToFirstFrame
        report.jitter = all.jitter
        report.frames.sent = all.sent
        report.frames.delivered = all.delivered
        report.frames.due = all.due
        for (place, name) in LoopTally.kindNames.enumerated() where !all.latency[place].isEmpty { report.latencyByKind[name] = all.latency[place] }
        if !all.lateByAbsence.isEmpty { report.latencyByKind["held up by their reader"] = all.lateByAbsence }
        if !all.comebacks.isEmpty { report.latencyByKind["cut off to first frame"] = all.comebacks }
        report.frames.excused = all.missingByAbsence.values.reduce(0, +)
        account(&report, all, window, part)
        report.counts = counts(all)
        let late = all.lateness.quantile(0.99)
        if late > latenessMicrosecondsMax {
            report.notes.append("The generator itself was late with what was due. Latencies have that in them.")
            report.latencyByKind["the generator's own lateness"] = all.lateness
        }
    }

    /// What was due to each client and of which nothing has told yet: the last of streams, and streams of which nothing came at all.
    private static func account(_ report: inout LoadReport, _ all: LoopTally, _ window: Range<UInt64>, _ part: (number: Int, count: Int)) {
        let epoch = Double(WallClock.now()) - Double(MonotonicClock.now().nanoseconds) / 1e6
        let streams = all.published.map { RunPart.Stream($0, $1, epoch: epoch) }
        let rooms = Dictionary(grouping: streams, by: \.room)
        var open = RunPart(number: part.number, count: part.count)
        for client in all.clients {
            var listener = RunPart.Listener(client, window, epoch: epoch)
            let missing = rooms[client.room, default: []].reduce(0) { $0 + listener.missing(of: $1) }
            report.frames.due += missing
            listener.due += missing
            if let latency = client.latency { report.fairness.add(latency) }
            if part.count > 1 { open.listeners.append(listener) } else { report.fairness.add(due: listener.due, delivered: listener.delivered) }
        }
        guard part.count > 1 else { return }
        open.streams = streams
        report.part = open
    }

    private static func counts(_ all: LoopTally) -> [String: Int] {
        var counts = all.events
        counts["frames due and not sent, since their publisher's connection took nothing more"] = all.notSent
        counts["frames due and not sent, since their publisher was lost"] = all.notSentByLost
        for (reason, count) in all.missingByAbsence { counts["missing frames that fell due while their reader was \(reason)"] = count }
        counts["frames that no load generator had sent"] = all.foreign
        counts["frames sent in the whole run"] = all.sentInAll
        counts["frames received in the whole run"] = all.receivedInAll
        counts["CPU time of the generator, ms"] = Int(all.processorSeconds * 1_000)
        return counts.filter { $0.value > 0 }
    }
}

extension LoopTally {
    /// Two loops' tallies in one.
    mutating func add(_ other: LoopTally) {
        reached += other.reached
        failedByReason.merge(other.failedByReason, uniquingKeysWith: +)
        handshakes += other.handshakes
        handshakesResumed += other.handshakesResumed
        if let theirs = other.handshakesTime {
            let ours = handshakesTime ?? theirs
            handshakesTime = min(ours.lowerBound, theirs.lowerBound)..<max(ours.upperBound, theirs.upperBound)
        }
        handshakeLatency.merge(other.handshakeLatency)
        joinToFirstFrame.merge(other.joinToFirstFrame)
        sent += other.sent
        due += other.due
        delivered += other.delivered
        notSent += other.notSent
        notSentByLost += other.notSentByLost
        missingByAbsence.merge(other.missingByAbsence, uniquingKeysWith: +)
        sentInAll += other.sentInAll
        receivedInAll += other.receivedInAll
        foreign += other.foreign
        for place in latency.indices { latency[place].merge(other.latency[place]) }
        lateByAbsence.merge(other.lateByAbsence)
        jitter.merge(other.jitter)
        lateness.merge(other.lateness)
        comebacks.merge(other.comebacks)
        events.merge(other.events, uniquingKeysWith: +)
        published.merge(other.published) { first, _ in first }
        clients += other.clients
        processorSeconds += other.processorSeconds
    }
}
