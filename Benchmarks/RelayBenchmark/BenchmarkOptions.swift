import BenchmarkSupport

/// What to measure, and for how long.
struct BenchmarkOptions {
    enum Part: String, CaseIterable {
        case allocations
        case memory
        case speed
        case handshakes
        case churn
        case storm
        /// What single acts cost, for the model of capacity.
        case figures
        /// Not a measurement: load for a profiler.
        case hold
    }

    static let help = """
        Usage: Benchmarks/run [PART…] [OPTIONS]

          allocations   C-library allocations of the relay per relayed frame, steady state
          memory        resident bytes per idle TLS WebSocket connection, and per further WebSocket on one HTTP/2 connection
          handshakes    mutual handshakes per CPU-second of the relay, full and resumed, beside the TLS library alone
          churn         resident memory while sessions come and go
          storm         delay of media in a conference while others shake hands without end, beside the same without
          speed         frames delivered per CPU-second of the relay, beside the floor: sealing and sending alone
          figures       what single acts cost, for `Deploy/dev bench capacity`
          hold          keep one room busy for --seconds, for a profiler
        Without a part: allocations, memory and speed.

          --runs N          interleaved runs of speed, of which the median counts (5)
          --seconds S       length of each measured window (1)
          --outstanding W,… frames under way per publisher (1,4,16,64)
          --shape SHAPE     of hold: 1x50, 10x10 (everybody speaks and listens), 10+10 (ten speak, ten others listen)
          --sessions N      idle connections of memory (5000, then 10000)
          --handshakes N    of each kind in a run (400)
          --churn N         sessions that come and go (100000)
          --assert          fail when a bound does not hold: memory, handshakes, churn
          --figures FILE    of figures: keep them there, as JSON
          --trace           allocations: print call sites even when there are none to blame
        """

    var parts: [Part] = []
    var runs = 5
    var seconds = 1.0
    var outstanding = [1, 4, 16, 64]
    var shape = RoomShape.oneToFifty
    var idleSessions: Int?
    var handshakes = 400
    var churn = 100_000
    var asserts = false
    /// Set by the benchmark for a process of its own: the relay's port, and for how long to shake hands.
    var stormPort: Int?
    var traces = false
    var figures: String?
    var wantsHelp = false
    /// Set by the script.
    var relay = ".build/release/segue"
    var counter = ""
    var folder = ""
    var relayCore = 0

    init(_ arguments: [String]) throws(BenchmarkFault) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if let part = Part(rawValue: argument) {
                parts.append(part)
                continue
            }
            switch argument {
            case "--help", "-h":
                wantsHelp = true
                continue
            case "--trace":
                traces = true
                continue
            case "--assert":
                asserts = true
                continue
            default: break
            }
            guard let value = rest.popFirst() else { throw BenchmarkFault("\(argument) is unknown or lacks its value; see --help") }
            try take(argument, value)
        }
        if parts.isEmpty { parts = [.allocations, .memory, .speed] }
        guard wantsHelp || !folder.isEmpty else { throw BenchmarkFault("start it by Benchmarks/run") }
    }

    private mutating func take(_ option: String, _ value: String) throws(BenchmarkFault) {
        switch option {
        case "--runs": runs = try OptionValue.number(option, value, 1...1_000)
        case "--sessions": idleSessions = try OptionValue.number(option, value, 1...15_000)
        case "--handshakes": handshakes = try OptionValue.number(option, value, 1...4_000)
        case "--churn": churn = try OptionValue.number(option, value, 1...10_000_000)
        case "--storm-port": stormPort = try OptionValue.number(option, value, 1...65_535)
        case "--relay-core": relayCore = try OptionValue.number(option, value, 0...1_023)
        case "--relay": relay = value
        case "--counter": counter = value
        case "--folder": folder = value
        case "--figures": figures = value
        case "--seconds":
            guard let number = Double(value), number > 0, number <= 600 else { throw BenchmarkFault("--seconds: over 0, at most 600") }
            seconds = number
        case "--outstanding":
            outstanding = try value.split(separator: ",").map { part throws(BenchmarkFault) in
                try OptionValue.number(option, String(part), 1...4_096)
            }
            guard !outstanding.isEmpty else { throw BenchmarkFault("--outstanding names no number") }
        case "--shape":
            guard let named = RoomShape.all.first(where: { $0.description == value }) else { throw BenchmarkFault("--shape: 1x50, 10x10 or 10+10") }
            shape = named
        default: throw BenchmarkFault("\(option) is unknown; see --help")
        }
    }
}
