/// What one load generator measured, or several of them together ([joining](x-source-tag://LoadReportJoining)).
///
/// Latencies are in microseconds, one-way, from the instant at which a frame was *due* (not: sent), so a generator or a relay that stalls is not
/// spared the frames that it held up (coordinated omission). Both ends read one clock: latencies between machines have no meaning.
package struct LoadReport: Codable, Sendable, Equatable {
    /// Of the JSON form. Others are refused.
    package static let formatVersion = 1

    package private(set) var version = LoadReport.formatVersion
    package var scenario: Scenario
    /// Milliseconds since 1970.
    package var startedUnixMilliseconds: Int64 = 0
    /// Of the measured window.
    package var wallSeconds = 0.0
    /// How many generator processes this is of.
    package var parts = 1
    /// Of one of several processes: which, until it is joined.
    package var part: RunPart?
    /// What it ran on, in words: cores, kernel.
    package var machine = ""
    /// What the reader should know: that it was ended early, that the generator was too slow, …
    package var notes: [String] = []
    /// What happened, and what else was counted, by name.
    package var counts: [String: Int] = [:]
    package var clients = Clients()
    package var handshakes = Handshakes()
    /// From the sending of `join` to the first frame.
    package var joinToFirstFrame = LatencyRecording()
    package var frames = Frames()
    /// By kind of medium: `audio`, `video`, `data`.
    package var latencyByKind: [String: LatencyRecording] = [:]
    /// Of each receiver and stream one value, at its end (RFC 3550 §6.4.1).
    package var jitter = LatencyRecording()
    package var fairness = Fairness()
    /// In order of time.
    package var timeline: [TimelineSecond] = []
    /// Where the relay could be looked at.
    package var relay: RelayFigures?
    /// What the scenario demands.
    package var demands = LoadLimits()
    /// How it went with that: filled by ``judge()``.
    package var limits: [LimitOutcome] = []

    package init(scenario: Scenario) {
        self.scenario = scenario
    }

    package struct Scenario: Codable, Sendable, Equatable {
        package var name: String
        /// One paragraph for people.
        package var text: String
        /// In the order in which they are to be shown.
        package var parameters: [Parameter]

        package init(name: String, text: String, parameters: [Parameter] = []) {
            self.name = name
            self.text = text
            self.parameters = parameters
        }
    }

    package struct Parameter: Codable, Sendable, Equatable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package struct Clients: Codable, Sendable, Equatable {
        package var wanted = 0
        /// Reached their room at least once.
        package var connected = 0
        /// Did not, or were lost without being meant to, by reason in words.
        package var failedByReason: [String: Int] = [:]

        package init() {}

        package var failed: Int { failedByReason.values.reduce(into: 0) { $0.add($1) } }
    }

    package struct Handshakes: Codable, Sendable, Equatable {
        package var count = 0
        package var resumed = 0
        /// From the first one's beginning to the last one's end.
        package var seconds = 0.0
        /// From connect to the end of the TLS handshake.
        package var latency = LatencyRecording()

        package init() {}

        package var perSecond: Double? { seconds > 0 ? Double(count) / seconds : nil }
    }

    package struct Frames: Codable, Sendable, Equatable {
        /// By publishers.
        package var sent = 0
        /// What subscribers ought to have had: each frame once for each subscriber of its stream.
        package var due = 0
        /// Of these, those that came.
        package var delivered = 0
        /// Of those that did not come, what fell due while the scenario had their reader not read, or away.
        package var excused = 0
        /// What the relay says became of the others, by its own word for it (`expired`, `superseded`, …).
        package var droppedByReason: [String: Int] = [:]

        package init() {}

        package var missing: Int { max(0, due - delivered) }
        /// Of what was due to clients that were there for it.
        package var deliveredShare: Double? { due > excused ? Double(delivered) / Double(due - excused) : nil }
    }

    /// How alike clients fare. Distributions over clients, so that reports can be joined.
    package struct Fairness: Codable, Sendable, Equatable {
        /// Each client's p99 of latency.
        package var latencyP99 = LatencyRecording()
        /// Each client's share of what was due to it, in millionths.
        package var deliveredMillionths = LatencyRecording()

        package init() {}

        /// Takes one client: what it had to get, what it got, how late that was.
        package mutating func add(_ latency: LatencyRecording, due: Int, delivered: Int) {
            add(latency)
            add(due: due, delivered: delivered)
        }

        package mutating func add(_ latency: LatencyRecording) {
            if !latency.isEmpty { latencyP99.record(microseconds: latency.quantile(0.99)) }
        }

        package mutating func add(due: Int, delivered: Int) {
            if due > 0 { deliveredMillionths.record(microseconds: Int(Double(max(0, delivered)) / Double(due) * 1e6)) }
        }

        /// The worst client's p99 over the median client's.
        package var latencyRatio: Double? {
            let median = latencyP99.quantile(0.5)
            return median > 0 ? Double(latencyP99.max) / Double(median) : nil
        }

        /// The worst client's share over the median client's.
        package var deliveredRatio: Double? {
            let median = deliveredMillionths.quantile(0.5)
            return median > 0 ? Double(deliveredMillionths.min) / Double(median) : nil
        }
    }

    /// One second of the run, for plots.
    package struct TimelineSecond: Codable, Sendable, Equatable {
        /// Seconds since 1970: what reports are joined by.
        package var unixSecond: Int64
        package var clientsConnected = 0
        package var framesSent = 0
        package var framesDelivered = 0
        /// Of what came in this second.
        package var latency = LatencyRecording(precision: .percent)
        /// CPU-seconds that the relay used in this second.
        package var relayCPUSeconds: Double?
        package var relayRSSBytes: Int?

        package init(unixSecond: Int64) {
            self.unixSecond = unixSecond
        }
    }

    /// The relay's own figures over the measured window.
    package struct RelayFigures: Codable, Sendable, Equatable {
        package var cpuSeconds: Double?
        /// At the end, with all connections open.
        package var rssBytes: Int?
        /// What it grew by from before the first connection, over the connections.
        package var rssBytesPerConnection: Double?
        package var voluntarySwitches: Int?
        package var involuntarySwitches: Int?
        package var loopIterations: Int?
        package var loopIterationsOver2Milliseconds: Int?
        /// What 99.9 % of the loops' turns did not exceed: the bound of the histogram's bucket.
        package var loopIterationP999Milliseconds: Double?
        package var sends: Int?
        /// Between the same two looks at it as ``sends``.
        package var framesDelivered: Int?
        /// Further figures from its metrics, as they are to be shown.
        package var further: [Parameter] = []

        package init() {}
    }

    /// CPU-seconds of the relay for a million frames delivered.
    package var cpuSecondsPerMillionFrames: Double? {
        guard let cpu = relay?.cpuSeconds, frames.delivered > 0 else { return nil }
        return cpu / Double(frames.delivered) * 1e6
    }

    /// Fills ``limits`` from ``demands``.
    package mutating func judge() {
        limits = demands.judge(self)
    }

    package var allLimitsHold: Bool { limits.allSatisfy(\.holds) }
}
