import BenchmarkSupport
import Reactor
import RelayClient

/// The relay's resident memory while sessions come and go: it must not grow by how many there were.
struct ChurnBenchmark {
    private static let sessionsAtOnce = 500

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        var rows: [[String]] = []
        var points: [(count: Double, bytes: Double)] = []
        let step = max(options.churn / 5, ChurnBenchmark.sessionsAtOnce)
        var done = 0
        while done < options.churn {
            let target = min(done + step, options.churn)
            while done < target {
                let some = try sessions.open(min(ChurnBenchmark.sessionsAtOnce, target - done))
                done += some.count
                try sessions.end(some)
            }
            try sessions.pass(seconds: 1)
            let bytes = try relay.residentBytes()
            points.append((Double(done), bytes))
            rows.append([Text.thousands(Double(done)), Text.thousands(bytes / 1_024)])
        }
        Text.out("\nResident memory of the relay with no session left, after so many WebSocket sessions over TLS with client certificates")
        Text.out(Text.table(["sessions so far", "KiB"], rows))
        let slope = ChurnBenchmark.slope(points)
        Text.out("slope: \(Text.fixed(slope, 2)) bytes per session")
        guard !options.asserts || slope <= 4 else { throw BenchmarkFault("does not hold: memory is flat over a churn of sessions") }
    }

    /// Least squares.
    static func slope(_ points: [(count: Double, bytes: Double)]) -> Double {
        let count = points.reduce(0) { $0 + $1.count } / Double(points.count)
        let bytes = points.reduce(0) { $0 + $1.bytes } / Double(points.count)
        let over = points.reduce(0) { $0 + ($1.count - count) * ($1.bytes - bytes) }
        let under = points.reduce(0) { $0 + ($1.count - count) * ($1.count - count) }
        return under > 0 ? over / under : 0
    }
}
