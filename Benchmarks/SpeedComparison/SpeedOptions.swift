import BenchmarkSupport

/// What to measure, and for how long.
struct SpeedOptions {
    static let help = """
        Usage: Deploy/dev bench speed [OPTIONS]

        Drives the relay, a floor in C and, where one is named, a peer with the same messages in turns, and prints frames delivered per CPU-second of each,
        their ratios, and what is demanded. Exit status 1: a demand is not met.

          --load NAME,…    one-1, one-16, one-64 (1 publisher, 200 subscribers, so many frames outstanding), conference (40 publishers, 50 frames a
                           second each, 50 subscribers), conference-h2, loops (one loop and two); each but loops also with -1200: frames of 1,200
                           bytes instead of 160. All of them.
          --peer BINARY    another server, started as BINARY PORT CERTIFICATE KEY AUTHORITY: TLS 1.3 with client certificates, a WebSocket at
                           /ROOM?role=publish|subscribe, each binary message of a publisher to all subscribers (SEGUE_PEER)
          --runs N         interleaved runs, of which the median counts (7)
          --seconds S      length of each measured window (1; of conferences twice that)
          --only SERVER,…  relay, floor, peer: leave the others out
          --keep           puts the table into Sources/PERFORMANCE.md
        """

    var loads = SpeedLoad.all
    var runs = 7
    var seconds = 1.0
    var servers = Set(ServerKind.allCases)
    var keeps = false
    var wantsHelp = false
    /// Set by the script.
    var peer = ""
    var relay = ""
    var floor = ""
    var folder = ""
    var serverCore = 0
    var generatorCore = 1

    init(_ arguments: [String]) throws(BenchmarkFault) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": wantsHelp = true
            case "--keep": keeps = true
            default:
                guard let value = rest.popFirst() else { throw BenchmarkFault("\(argument) is unknown or lacks its value; see --help") }
                try take(argument, value)
            }
        }
        guard wantsHelp || !folder.isEmpty else { throw BenchmarkFault("start it by Deploy/dev bench speed") }
        if peer.isEmpty { servers.remove(.peer) }
    }

    private mutating func take(_ option: String, _ value: String) throws(BenchmarkFault) {
        switch option {
        case "--runs": runs = try OptionValue.number(option, value, 1...1_000)
        case "--server-core": serverCore = try OptionValue.number(option, value, 0...1_023)
        case "--generator-core": generatorCore = try OptionValue.number(option, value, 0...1_023)
        case "--peer": peer = value
        case "--relay": relay = value
        case "--floor": floor = value
        case "--folder": folder = value
        case "--seconds":
            guard let number = Double(value), number >= 0.1, number <= 60 else { throw BenchmarkFault("--seconds: 0.1 to 60") }
            seconds = number
        case "--load":
            loads = try value.split(separator: ",").map { name throws(BenchmarkFault) in
                guard let load = SpeedLoad.all.first(where: { $0.name == name }) else {
                    throw BenchmarkFault("--load: \(name) is unknown; see --help")
                }
                return load
            }
        case "--only":
            servers = Set(
                try value.split(separator: ",").map { name throws(BenchmarkFault) in
                    guard let kind = ServerKind(rawValue: String(name)) else { throw BenchmarkFault("--only: relay, floor, peer") }
                    return kind
                })
        default: throw BenchmarkFault("\(option) is unknown; see --help")
        }
    }
}
