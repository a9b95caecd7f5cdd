import FoundationEssentials
import LoadGenerator
import LoadReport
import RelayServer
import TLSTransport

/// `segue load SCENARIO`, and `segue load join REPORT…`.
enum LoadCommand {
    static var command: Command { Command(spec, run: run) }

    private static let partsMax = 256
    private static let loopsMax = 16
    private static let identitiesMax = 10_000
    /// More than any report: thousands of seconds with their latencies.
    private static let reportBytesMax = 256 << 20

    private static let spec = CommandSpec(
        name: "load",
        summary: "put a relay under load, and report what it did",
        text: [
            "Plays a scenario: clients with real connections that publish, hear, come, go and fail as the file says. The files under LoadTests/Scenarios are to be "
                + "read and changed; LoadTests/run starts a relay for one and plays it by several processes.",
            "Latency is counted from when a frame was due, on the machine's clock: whatever stalls, this program included, shows in it. Without a word of its "
                + "own the scenario says how many clients there are, for how long, and what is demanded.",
            "'segue load join A.json B.json' makes one report of those of several processes that played parts of one run at the same time.",
            "Exit code 0: every limit of the scenario holds; 1: one does not, and is named. Ctrl-C ends early, in order and with a report; again, at once.",
        ],
        options: [
            .option("--target", "URL", "The relay, as wss://HOST:PORT; 127.0.0.1:8443 by default."),
            .option("--clients", "N", "So many clients in place of the scenario's; groups that are 'fixed' stay as they are."),
            .option("--seconds", "S", "Measure for so long."),
            .option("--ramp", "N", "So many clients begin in a second."),
            .option("--loops", "N", "Event loops, each a thread; 1 by default."),
            .option("--part", "K/N", "Play the K-th of N parts; others play the rest at the same time. The limits are for 'join' to judge."),
            .option("--room", "NAME", "What rooms are named with, before their number."),
            .option("--identities", "N", "Be the clients load-1 to load-N of the state folder, by turns, in place of one for all."),
            .option(
                "--clock", "WHICH", "By which clock frames are stamped: the machine's, or the relay's where parts are on several machines.",
                choices: ["machine", "relay"]),
            .option("--relay-pid", "PID", "The relay's process, where it is on this machine: its CPU time and memory go into the report."),
            .option("--report", "FILE", "Write the report as JSON.", completion: .file),
            .option("--html", "FILE", "Write the report as a page with plots.", completion: .file),
            .flag("--quiet", "Show nothing while it runs, and no report but the limits that are broken."),
        ] + ClientConnect.options.filter { $0.name != "--connect" },
        operand: OperandSpec(
            name: "SCENARIO", help: "A scenario file; or 'join' and reports.", minimum: 1, maximum: 1 + partsMax, completion: .file),
        examples: [
            .init("segue load LoadTests/Scenarios/talk.json5", "One publishes, many hear it: at the development relay."),
            .init("segue load LoadTests/Scenarios/churn.json5 --clients 50 --seconds 5 --html churn.html", "Smaller and shorter, with a page."),
            .init("segue load join part-1.json part-2.json --html all.html", "Two processes' reports in one."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        if arguments.operands.first == "join" { return try join(arguments) }
        guard arguments.operands.count == 1, let path = arguments.operands.first else {
            throw UsageFault.unexpectedOperand(arguments.operands.dropFirst().first ?? "")
        }
        let scenario = try scenario(path, arguments)
        var options = LoadRun.Options()
        (options.part, options.parts) = try part(arguments)
        options.loops = try arguments.integer("--loops", in: 1...loopsMax) ?? 1
        options.relayPID = try arguments.integer("--relay-pid", in: 1...Int(Int32.max)).map { Int32($0) }
        let run = LoadRun(scenario, try target(arguments), options)
        if options.parts > 1, arguments.string("--report") == nil { throw UsageFault.conflict("--part is of no use without --report") }
        let report = try LoadTerminal(isQuiet: arguments.has("--quiet")).play(run)
        if report.clients.wanted > 0, report.clients.connected == 0 {
            try keep(report, arguments)
            let reason = report.clients.failedByReason.max { $0.value < $1.value }?.key ?? "ended before"
            throw CommandFailure(code: .connection, message: "no client got in: \(Console.plain(reason))")
        }
        guard options.parts > 1 else { return try tell(report, arguments) }
        // What is demanded is demanded of all parts together: joining judges.
        try keep(report, arguments)
        return .ok
    }

    private static func scenario(_ path: String, _ arguments: Arguments) throws -> LoadScenario {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw CommandFailure(code: .configuration, message: "\(path) cannot be read")
        }
        var scenario: LoadScenario
        do {
            scenario = try LoadScenario(text: [UInt8](data))
        } catch {
            throw CommandFailure(code: .configuration, message: error.faults.map { "\(path): \(Console.plain($0.text))" }.joined(separator: "\n"))
        }
        if let clients = try arguments.integer("--clients", in: 1...LoadScenario.clientsMax) {
            guard let scaled = scenario.scaled(toClients: clients) else {
                throw CommandFailure(code: .usage, message: "--clients \(clients): too few for the groups of \(path)")
            }
            scenario = scaled
        }
        if let seconds = try arguments.positive("--seconds", max: LoadScenario.secondsMax) { scenario.seconds = seconds }
        if let rate = try arguments.positive("--ramp", max: 10_000) { scenario.rampPerSecond = rate }
        return scenario
    }

    private static func part(_ arguments: Arguments) throws -> (Int, Int) {
        guard let text = arguments.string("--part") else { return (1, 1) }
        let words = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard words.count == 2, let part = words[0], let parts = words[1], (1...partsMax).contains(parts), (1...parts).contains(part) else {
            throw UsageFault.badChoice(option: "--part", value: text, choices: ["K/N with 1 ≤ K ≤ N ≤ \(partsMax)"])
        }
        return (part, parts)
    }

    private static func target(_ arguments: Arguments) throws -> LoadTarget {
        let text = arguments.string("--target") ?? "wss://\(ClientConnect.defaultEndpoint)"
        guard let endpoint = endpoint(text) else { throw UsageFault.badChoice(option: "--target", value: text, choices: ["wss://HOST:PORT"]) }
        let count = try arguments.integer("--identities", in: 1...identitiesMax)
        if count != nil, arguments.string("--as") != nil || arguments.string("--cert") != nil {
            throw UsageFault.conflict("either --identities, or --as or --cert")
        }
        let names = count.map { (1...$0).map { "load-\($0)" } } ?? ["alice"]
        let connections = try names.map { try ClientConnect(arguments, defaultName: $0, endpoint: endpoint) }
        return LoadTarget(
            options: connections[0].template, identities: connections.map(\.context), roomPrefix: arguments.string("--room") ?? "load",
            usesRelayClock: arguments.string("--clock") == "relay")
    }

    /// `wss://HOST:PORT`, with or without the path that there is; or `HOST:PORT`.
    static func endpoint(_ text: String) -> RelayEndpoint? {
        var rest = Substring(text)
        for scheme in ["wss://", "https://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        for path in ["/v1/session", "/"] where rest.hasSuffix(path) { rest = rest.dropLast(path.count) }
        let hasPort = rest.last != "]" && rest.split(separator: "]").last?.contains(":") == true
        return RelayEndpoint(hasPort ? String(rest) : "\(rest):443")
    }

    // MARK: Reports

    private static func join(_ arguments: Arguments) throws -> ExitCode {
        let paths = arguments.operands.dropFirst()
        guard !paths.isEmpty else { throw UsageFault.missingOperand("REPORT") }
        var reports: [LoadReport] = []
        for path in paths {
            guard let data = try? Data(contentsOf: URL(filePath: path)), data.count <= reportBytesMax else {
                throw CommandFailure(code: .configuration, message: "\(path) cannot be read")
            }
            guard let report = try? JSONDecoder().decode(LoadReport.self, from: data) else {
                throw CommandFailure(code: .configuration, message: "\(path) is no report of `segue load`")
            }
            reports.append(report)
        }
        do {
            return try tell(try LoadReport.joined(reports), arguments)
        } catch let error as JoiningError {
            throw CommandFailure(code: .configuration, message: "\(error)")
        }
    }

    private static func tell(_ report: LoadReport, _ arguments: Arguments) throws -> ExitCode {
        try keep(report, arguments)
        if !arguments.has("--quiet") { Console.text(report.text()) }
        for outcome in report.limits where !outcome.holds {
            let measured = outcome.measured.map { "\(rounded($0))" } ?? "not measured"
            Console.error(
                "segue load: \(outcome.name) does not hold: \(measured), \(outcome.isLowest ? "at least" : "at most") \(rounded(outcome.bound))")
        }
        return report.allLimitsHold ? .ok : .failure
    }

    private static func keep(_ report: LoadReport, _ arguments: Arguments) throws(CommandFailure) {
        if let path = arguments.string("--report") { try write(report.json(), path) }
        if let path = arguments.string("--html") { try write(Array(report.html().utf8), path) }
    }

    private static func rounded(_ value: Double) -> Double { value.magnitude < 1e9 ? (value * 10_000).rounded() / 10_000 : value }

    private static func write(_ bytes: [UInt8], _ path: String) throws(CommandFailure) {
        do {
            try Data(bytes).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw CommandFailure(code: .failure, message: "\(path) cannot be written")
        }
    }
}
