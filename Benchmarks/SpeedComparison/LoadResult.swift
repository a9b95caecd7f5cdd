import BenchmarkSupport

/// What a load's runs gave.
struct LoadResult {
    struct Server {
        var messagesPerSecond = Samples()
        /// Milliseconds from the instant at which a frame was due, of paced loads.
        var median = Samples()
        var high = Samples()
        var serverShare = Samples()
        var generatorShare = Samples()
        var delivered = 0
        var due = 0

        mutating func append(_ window: Generator.Window) {
            messagesPerSecond.append(window.messagesPerSecond)
            serverShare.append(window.serverSeconds / window.wallSeconds)
            generatorShare.append(window.generatorSeconds / window.wallSeconds)
            delivered += window.messages
            due += window.due
            guard let latency = window.latency else { return }
            median.append(latency.quantile(0.5))
            high.append(latency.quantile(0.99))
        }
    }

    let load: SpeedLoad
    private(set) var servers: [ServerKind: Server] = [:]
    private(set) var twoLoops = Server()
    /// The relay's figures for the same load over HTTP/1.1.
    var own: Samples?

    init(_ load: SpeedLoad) {
        self.load = load
    }

    mutating func append(_ window: Generator.Window, of kind: ServerKind) {
        servers[kind, default: Server()].append(window)
    }

    mutating func appendTwoLoops(_ window: Generator.Window) {
        twoLoops.append(window)
    }

    // MARK: What was measured

    private static let header = [
        "load", "server", "frames per CPU-s", "lowest", "highest", "p50 ms", "p99 ms", "server's core", "generator's core", "delivered",
    ]

    private var rows: [[String]] {
        var named = ServerKind.allCases.compactMap { kind in servers[kind].map { (kind.rawValue, $0) } }
        if !twoLoops.messagesPerSecond.isEmpty { named.append(("relay, two loops", twoLoops)) }
        return named.map { name, server in
            let rate = server.messagesPerSecond
            let isPaced = !server.median.isEmpty
            return [
                load.text, name, Text.short(rate.median), Text.short(rate.lowest), Text.short(rate.highest),
                isPaced ? Text.fixed(server.median.median, 2) : "", isPaced ? Text.fixed(server.high.median, 2) : "",
                Self.percent(server.serverShare), Self.percent(server.generatorShare),
                "\(Text.fixed(100 * Double(server.delivered) / Double(max(server.due, 1)), 1)) %",
            ]
        }
    }

    private static func percent(_ shares: Samples) -> String { "\(Text.fixed(shares.median * 100, 0)) %" }

    /// Lines for who watches.
    var details: String { Text.table(Self.header, rows, leftColumns: 2) }

    static func table(_ results: [LoadResult]) -> String {
        Text.table(header, results.flatMap(\.rows), leftColumns: 2)
    }

    // MARK: What is demanded

    var verdicts: [Verdict] {
        guard let relay = servers[.relay] else { return [] }
        var list: [Verdict] = []
        func compare(_ what: String, _ other: Samples?, _ bound: Double?) {
            guard let bound else { return }
            list.append(Verdict(load: load.text, what: what, ratios: other.map { relay.messagesPerSecond.divided(by: $0) }, atLeast: bound))
        }
        compare("against the peer", servers[.peer]?.messagesPerSecond, load.peerRatioMin)
        compare("against the floor", servers[.floor]?.messagesPerSecond, load.floorRatioMin)
        compare("against our own HTTP/1.1", own, load.ownRatioMin)
        if let bound = load.medianMillisecondsMax {
            list.append(Verdict(load: load.text, what: "p50, ms", value: relay.median.median, atMost: bound))
            list.append(
                Verdict(
                    load: load.text, what: "p99 against the peer's, ms", value: relay.high.median, atMost: servers[.peer]?.high.median))
        }
        if let bound = load.loopsRatioMin {
            // Twice, because two loops have two cores.
            let ratios = Samples(twoLoops.messagesPerSecond.divided(by: relay.messagesPerSecond).values.map { 2 * $0 })
            list.append(Verdict(load: load.text, what: "against one loop", ratios: ratios, atLeast: bound))
        }
        if relay.delivered < relay.due {
            list.append(Verdict(load: load.text, what: "frames that did not come", value: Double(relay.due - relay.delivered), atMost: 0))
        }
        return list
    }
}

/// One line of the table: measured, demanded, holds.
struct Verdict {
    let load: String
    let what: String
    let measured: String
    let bound: String
    /// `nil`: there is nothing to compare with.
    let holds: Bool?

    init(load: String, what: String, ratios: Samples?, atLeast bound: Double) {
        self.load = load
        self.what = what
        self.bound = "≥ \(Text.fixed(bound, 2))"
        measured = ratios.map { "\(Text.fixed($0.median, 2)) (\(Text.fixed($0.lowest, 2))–\(Text.fixed($0.highest, 2)))" } ?? "not measured"
        holds = ratios.map { $0.median >= bound }
    }

    init(load: String, what: String, value: Double, atMost bound: Double?) {
        self.load = load
        self.what = what
        self.bound = bound.map { "≤ \(Text.fixed($0, 2))" } ?? ""
        measured = Text.fixed(value, 2)
        holds = bound.map { value <= $0 }
    }

    static func table(_ verdicts: [Verdict]) -> String {
        Text.table(
            ["load", "frames per CPU-second", "measured", "demanded", "holds"],
            verdicts.map { [$0.load, $0.what, $0.measured, $0.bound, $0.holds.map { $0 ? "yes" : "no" } ?? "–"] }, leftColumns: 2)
    }
}
