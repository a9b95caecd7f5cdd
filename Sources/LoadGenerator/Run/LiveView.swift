package import LoadReport

/// What can be seen of a run while it goes on. Pure.
package struct LiveView: Sendable {
    package enum Phase: String, Sendable {
        case beginning
        case measuring
        case ending
    }

    package let scenario: String
    package let wanted: Int
    package internal(set) var phase = Phase.beginning
    package internal(set) var reached = 0
    package internal(set) var failed = 0
    package internal(set) var connected = 0
    package internal(set) var framesSent = 0
    package internal(set) var framesReceived = 0
    /// The newest whole second.
    package internal(set) var second: LoadReport.TimelineSecond?
    package internal(set) var relayCPU: Double?
    package internal(set) var relayRSSBytes: Int?
    var measuredFrom: UInt64 = 0
    var measuredSeconds = 0.0
    private var measured = 0.0

    init(scenario: String, wanted: Int) {
        self.scenario = scenario
        self.wanted = wanted
    }

    mutating func take(_ statuses: [LoopStatus], now: UInt64, seconds: [Int64: LoadReport.TimelineSecond]) {
        reached = statuses.reduce(0) { $0 + $1.reached }
        failed = statuses.reduce(0) { $0 + $1.failed }
        connected = statuses.reduce(0) { $0 + $1.connected }
        framesSent = statuses.reduce(0) { $0 + $1.framesSent }
        framesReceived = statuses.reduce(0) { $0 + $1.framesReceived }
        if let newest = seconds.filter({ $0.value.framesDelivered > 0 || $0.value.clientsConnected > 0 }).keys.max() { second = seconds[newest] }
        measured = measuredFrom > 0 && now > measuredFrom ? Double(now - measuredFrom) / 1e9 : 0
    }

    private var time: String {
        switch phase {
        case .beginning: "beginning"
        case .measuring: "\(Int(measured)) of \(Int(measuredSeconds.rounded(.up))) s"
        case .ending: "ending"
        }
    }

    private var latency: String? {
        guard let recording = second?.latency, !recording.isEmpty else { return nil }
        return "p50 \(LiveView.milliseconds(recording.quantile(0.5))), p99 \(LiveView.milliseconds(recording.quantile(0.99))), "
            + "max \(LiveView.milliseconds(recording.max))"
    }

    private var relay: String? {
        guard let relayCPU else { return nil }
        let memory = relayRSSBytes.map { ", \($0 >> 20) MiB" } ?? ""
        return "\(Int((relayCPU * 100).rounded())) % of a core\(memory)"
    }

    /// One line, for logs.
    package var line: String {
        var parts = ["\(scenario): \(time)", "\(connected) of \(wanted) clients"]
        if failed > 0 { parts.append("\(failed) failed") }
        if let second { parts.append("\(second.framesSent)/s sent, \(second.framesDelivered)/s delivered") }
        if let latency { parts.append(latency) }
        if let relay { parts.append("relay \(relay)") }
        return parts.joined(separator: "; ")
    }

    /// For a terminal, which is written over.
    package var block: [String] {
        [
            "\(scenario): \(time)",
            "  clients    \(connected) connected of \(wanted)" + (failed > 0 ? ", \(failed) failed" : ""),
            "  frames     " + (second.map { "\($0.framesSent)/s sent, \($0.framesDelivered)/s delivered" } ?? "none yet")
                + "; in all \(framesSent) and \(framesReceived)",
            "  latency    " + (latency ?? "none yet"),
            "  relay      " + (relay ?? "not looked at"),
        ]
    }

    static func milliseconds(_ microseconds: Int) -> String {
        let tenths = (microseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
