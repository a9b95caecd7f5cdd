import LoadReport

/// The relay's own figures over the measured window: what the kernel says of its process, and what its metrics say.
struct RelayWatch {
    private static let loopHistogram = "segue_loop_iteration_seconds"

    private let pid: Int32?
    private let look: RelayLook?
    private var atStart: ProcessSample?
    private var atBegin: ProcessSample?
    private var atEnd: ProcessSample?
    private var metricsAtBegin: PrometheusSamples?
    private var metricsAtEnd: PrometheusSamples?
    private var last: ProcessSample?

    /// Before the first connection.
    init(pid: Int32?, look: RelayLook?) {
        self.pid = pid
        self.look = look
        atStart = pid.flatMap { try? ProcessSample.of(pid: $0, walksPages: true) }
    }

    /// The window begins.
    mutating func begin() {
        metricsAtBegin = look?.metrics()
        atBegin = sample()
        last = atBegin
    }

    /// The window is over; everything is still connected.
    mutating func end() {
        atEnd = sample()
    }

    /// What was to come has come.
    mutating func settled() {
        metricsAtEnd = look?.metrics()
    }

    private func sample() -> ProcessSample? { pid.flatMap { try? ProcessSample.of(pid: $0) } }

    /// CPU-seconds since the last call, and resident memory.
    mutating func second() -> (cpuSeconds: Double, rssBytes: Int)? {
        guard let now = sample() else { return nil }
        defer { last = now }
        return last.map { (now.since($0).cpuSeconds, now.rssBytes) }
    }

    /// - Parameter connections: that there were at the end.
    func figures(connections: Int) -> LoadReport.RelayFigures? {
        guard atEnd != nil || metricsAtEnd != nil else { return nil }
        var figures = LoadReport.RelayFigures()
        if let atBegin, let atEnd {
            let used = atEnd.since(atBegin)
            figures.cpuSeconds = used.cpuSeconds
            figures.voluntarySwitches = used.voluntarySwitches
            figures.involuntarySwitches = used.involuntarySwitches
        }
        if let atEnd {
            figures.rssBytes = atEnd.rssBytes
            if let atStart, connections > 0 { figures.rssBytesPerConnection = Double(atEnd.rssBytes - atStart.rssBytes) / Double(connections) }
        }
        guard let metricsAtBegin, let metricsAtEnd else { return figures }
        func grown(_ name: String) -> Int? {
            guard let before = metricsAtBegin[name], let after = metricsAtEnd[name] else { return nil }
            return Int(max(0, min(after - before, 1e15)))
        }
        figures.loopIterations = grown("segue_loop_iterations_total")
        figures.sends = grown("segue_sends_total")
        figures.framesDelivered = delivered(since: metricsAtBegin, until: metricsAtEnd)
        let turns = metricsAtEnd.histogram(Self.loopHistogram, since: metricsAtBegin)
        if let seconds = PrometheusSamples.quantile(0.999, of: turns) { figures.loopIterationP999Milliseconds = seconds * 1_000 }
        if let all = turns.last?.count, let below = turns.last(where: { $0.bound <= 0.002_000_1 })?.count {
            figures.loopIterationsOver2Milliseconds = Int(max(0, all - below))
        }
        for (name, what) in [
            ("segue_frames_received_total", "frames received from publishers"), ("segue_frames_entered_total", "frames due to subscribers"),
        ] {
            if let count = grown(name) { figures.further.append(.init(what, "\(count)")) }
        }
        if let pending = metricsAtEnd["segue_frames_pending"] {
            figures.further.append(.init("frames still queued", "\(Int(max(0, min(pending, 1e15))))"))
        }
        return figures
    }

    private func delivered(since before: PrometheusSamples, until after: PrometheusSamples) -> Int? {
        let name = "segue_frames_total"
        guard let now = after.byLabel(name, "end")["delivered"] else { return nil }
        return Int(max(0, min(now - (before.byLabel(name, "end")["delivered"] ?? 0), 1e15)))
    }

    /// What became of frames that were not delivered, by the relay's word for it.
    var droppedByReason: [String: Int] {
        guard let metricsAtBegin, let metricsAtEnd else { return [:] }
        let before = metricsAtBegin.byLabel("segue_frames_total", "end")
        return metricsAtEnd.byLabel("segue_frames_total", "end").reduce(into: [:]) { dropped, entry in
            let count = Int(max(0, min(entry.value - (before[entry.key] ?? 0), 1e15)))
            if entry.key != "delivered", count > 0 { dropped[entry.key] = count }
        }
    }
}
