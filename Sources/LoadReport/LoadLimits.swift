/// What a scenario demands. Every bound is optional; one whose value was not measured is broken.
package struct LoadLimits: Codable, Sendable, Equatable {
    package var audioLatencyP50Milliseconds: Double?
    package var audioLatencyP99Milliseconds: Double?
    package var videoLatencyP99Milliseconds: Double?
    package var dataLatencyP99Milliseconds: Double?
    package var jitterP99Milliseconds: Double?
    package var joinToFirstFrameP99Milliseconds: Double?
    package var handshakeP99Milliseconds: Double?
    package var handshakesPerSecondMin: Double?
    /// Of what was due, 0 … 1.
    package var deliveredShareMin: Double?
    /// The worst client's share of what was due to it, over the median client's.
    package var deliveredFairnessMin: Double?
    /// The worst client's latency p99 over the median client's.
    package var fairnessMax: Double?
    package var failedClientsMax: Double?
    package var cpuSecondsPerMillionFramesMax: Double?
    package var rssKiBPerConnectionMax: Double?
    package var loopIterationP999Milliseconds: Double?

    package init() {}

    /// Refuses members that are no limits: a misspelt one would never be held to.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: AnyName.self)
        for name in values.allKeys {
            guard let limit = LimitName(rawValue: name.stringValue) else {
                throw DecodingError.dataCorruptedError(forKey: name, in: values, debugDescription: "no such limit: \(name.stringValue)")
            }
            guard let bound = try values.decodeIfPresent(Double.self, forKey: name) else { continue }
            guard bound.isFinite, bound >= 0 else {
                throw DecodingError.dataCorruptedError(forKey: name, in: values, debugDescription: "\(name.stringValue) is not 0 or more")
            }
            self[keyPath: limit.bound] = bound
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: AnyName.self)
        for limit in LimitName.allCases {
            if let bound = self[keyPath: limit.bound] { try values.encode(bound, forKey: AnyName(stringValue: limit.rawValue)) }
        }
    }

    /// One outcome for each limit that is stated.
    package func judge(_ report: LoadReport) -> [LimitOutcome] {
        LimitName.allCases.compactMap { name in
            guard let bound = self[keyPath: name.bound] else { return nil }
            let measured = name.measured(report)
            let holds = measured.map { name.isLowest ? $0 >= bound : $0 <= bound } ?? false
            return LimitOutcome(name: name.rawValue, measured: measured, bound: bound, isLowest: name.isLowest, holds: holds)
        }
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// The names that limits have in scenario files.
package enum LimitName: String, CaseIterable, Sendable {
    case audioLatencyP50Milliseconds
    case audioLatencyP99Milliseconds
    case videoLatencyP99Milliseconds
    case dataLatencyP99Milliseconds
    case jitterP99Milliseconds
    case joinToFirstFrameP99Milliseconds
    case handshakeP99Milliseconds
    case handshakesPerSecondMin
    case deliveredShareMin
    case deliveredFairnessMin
    case fairnessMax
    case failedClientsMax
    case cpuSecondsPerMillionFramesMax
    case rssKiBPerConnectionMax
    case loopIterationP999Milliseconds

    /// Whether the bound is the least that is demanded, not the most.
    package var isLowest: Bool {
        switch self {
        case .handshakesPerSecondMin, .deliveredShareMin, .deliveredFairnessMin: true
        case .audioLatencyP50Milliseconds, .audioLatencyP99Milliseconds, .videoLatencyP99Milliseconds, .dataLatencyP99Milliseconds,
            .jitterP99Milliseconds, .joinToFirstFrameP99Milliseconds, .handshakeP99Milliseconds, .fairnessMax, .failedClientsMax,
            .cpuSecondsPerMillionFramesMax, .rssKiBPerConnectionMax, .loopIterationP999Milliseconds:
            false
        }
    }

    package var bound: WritableKeyPath<LoadLimits, Double?> {
        switch self {
        case .audioLatencyP50Milliseconds: \.audioLatencyP50Milliseconds
        case .audioLatencyP99Milliseconds: \.audioLatencyP99Milliseconds
        case .videoLatencyP99Milliseconds: \.videoLatencyP99Milliseconds
        case .dataLatencyP99Milliseconds: \.dataLatencyP99Milliseconds
        case .jitterP99Milliseconds: \.jitterP99Milliseconds
        case .joinToFirstFrameP99Milliseconds: \.joinToFirstFrameP99Milliseconds
        case .handshakeP99Milliseconds: \.handshakeP99Milliseconds
        case .handshakesPerSecondMin: \.handshakesPerSecondMin
        case .deliveredShareMin: \.deliveredShareMin
        case .deliveredFairnessMin: \.deliveredFairnessMin
        case .fairnessMax: \.fairnessMax
        case .failedClientsMax: \.failedClientsMax
        case .cpuSecondsPerMillionFramesMax: \.cpuSecondsPerMillionFramesMax
        case .rssKiBPerConnectionMax: \.rssKiBPerConnectionMax
        case .loopIterationP999Milliseconds: \.loopIterationP999Milliseconds
        }
    }

    /// In the limit's unit; `nil` where the run had nothing of it.
    func measured(_ report: LoadReport) -> Double? {
        func milliseconds(_ recording: LatencyRecording?, _ quantile: Double) -> Double? {
            guard let recording, !recording.isEmpty else { return nil }
            return Double(recording.quantile(quantile)) / 1_000
        }
        return switch self {
        case .audioLatencyP50Milliseconds: milliseconds(report.latencyByKind["audio"], 0.5)
        case .audioLatencyP99Milliseconds: milliseconds(report.latencyByKind["audio"], 0.99)
        case .videoLatencyP99Milliseconds: milliseconds(report.latencyByKind["video"], 0.99)
        case .dataLatencyP99Milliseconds: milliseconds(report.latencyByKind["data"], 0.99)
        case .jitterP99Milliseconds: milliseconds(report.jitter, 0.99)
        case .joinToFirstFrameP99Milliseconds: milliseconds(report.joinToFirstFrame, 0.99)
        case .handshakeP99Milliseconds: milliseconds(report.handshakes.latency, 0.99)
        case .handshakesPerSecondMin: report.handshakes.perSecond
        case .deliveredShareMin: report.frames.deliveredShare
        case .deliveredFairnessMin: report.fairness.deliveredRatio
        case .fairnessMax: report.fairness.latencyRatio
        case .failedClientsMax: Double(report.clients.failed)
        case .cpuSecondsPerMillionFramesMax: report.cpuSecondsPerMillionFrames
        case .rssKiBPerConnectionMax: report.relay?.rssBytesPerConnection.map { $0 / 1_024 }
        case .loopIterationP999Milliseconds: report.relay?.loopIterationP999Milliseconds
        }
    }
}

/// How a run stands to one limit.
package struct LimitOutcome: Codable, Sendable, Equatable {
    package var name: String
    /// `nil`: nothing was measured, and the limit is broken.
    package var measured: Double?
    package var bound: Double
    /// At least the bound is demanded, otherwise at most.
    package var isLowest: Bool
    package var holds: Bool

    package init(name: String, measured: Double?, bound: Double, isLowest: Bool, holds: Bool) {
        self.name = name
        self.measured = measured
        self.bound = bound
        self.isLowest = isLowest
        self.holds = holds
    }
}
