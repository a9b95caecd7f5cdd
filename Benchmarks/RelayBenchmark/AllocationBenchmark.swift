import BenchmarkSupport
import Reactor
import RelayBase

/// Allocations, reference counting and locks of the relay per relayed frame, counted by a preloaded library, once everything has its size.
struct AllocationBenchmark {
    /// Deliveries that a window has at least.
    private static let deliveriesMin = 100_000
    private static let sitesShown = 12
    private static let framesShown = 6

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        var rows: [[String]] = []
        var references: [[String]] = []
        var reports: [String] = []
        for shape in RoomShape.all {
            let relay = try RelayProcess(options, counting: true)
            defer { relay.stop() }
            guard let file = relay.allocationFile else { throw BenchmarkFault("no allocation counter") }
            let counts = try AllocationCounts(file)
            let sessions = try BenchmarkSessions(options, relay)
            let room = try BenchmarkRoom(shape, sessions)
            try room.warmUp()
            let quiet = try measureQuiet(sessions, counts)
            if options.traces {
                counts.startTracing()
                try sessions.pass(seconds: 3)
                counts.stopTracing()
                reports.append(AllocationBenchmark.report(counts, relay, "\(shape), idle for 3 s"))
            }
            for outstanding in [1, 16] {
                let (row, reference, allocations) = try measure(room, outstanding, counts, quiet)
                rows.append(row)
                references.append(reference)
                if allocations > 0 || options.traces {
                    try reports.append(trace(room, outstanding, counts, relay))
                }
                if options.traces { try reports.append(trace(room, outstanding, counts, relay, .references)) }
            }
        }
        Text.out("\nAllocations of the relay (malloc, calloc, realloc, aligned), steady state")
        Text.out(
            Text.table(
                ["room", "W", "frames in", "delivered", "allocations", "of them by time alone", "frees", "per delivered frame", "beyond time alone"],
                rows))
        Text.out("'By time alone' is what an idle relay with the same sessions allocates in the time that the window took (timers, statistics).")
        Text.out("\nReference counting and locks of the relay: calls per delivered frame")
        Text.out(Text.table(["room", "W", "swift_retain and its like", "swift_release", "pthread_mutex_lock"], references))
        for report in reports { Text.out(report) }
    }

    /// Allocations per second when nothing is relayed.
    private func measureQuiet(_ sessions: BenchmarkSessions, _ counts: AllocationCounts) throws -> Double {
        try sessions.pass(seconds: 0.5)
        let before = counts.snapshot
        let start = MonotonicClock.now()
        try sessions.pass(seconds: 3)
        return Double((counts.snapshot - before).allocations) / (Double(MonotonicClock.now().nanoseconds(since: start)) / 1e9)
    }

    private func measure(_ room: BenchmarkRoom, _ outstanding: Int, _ counts: AllocationCounts, _ quiet: Double) throws
        -> (row: [String], references: [String], allocations: UInt64)
    {
        _ = try room.run(outstanding: outstanding, seconds: 0.5)
        let before = counts.snapshot
        let result = try room.rounds(outstanding: outstanding, seconds: 1, deliveries: AllocationBenchmark.deliveriesMin)
        let used = counts.snapshot - before
        let framesIn = result.rounds * outstanding * room.shape.publishers
        let row = [
            "\(room.shape)", "\(outstanding)", Text.thousands(Double(framesIn)), Text.thousands(Double(result.deliveries)), "\(used.allocations)",
            Text.fixed(quiet * result.wallSeconds, 1), "\(used.frees)", Text.fixed(Double(used.allocations) / Double(result.deliveries), 6),
            Text.fixed(max(0, Double(used.allocations) - quiet * result.wallSeconds) / Double(result.deliveries), 6),
        ]
        let references =
            ["\(room.shape)", "\(outstanding)"]
            + [used.retains, used.releases, used.locks].map { Text.fixed(Double($0) / Double(result.deliveries), 4) }
        return (row, references, used.allocations)
    }

    /// The same once more, with the call sites noted.
    private func trace(
        _ room: BenchmarkRoom, _ outstanding: Int, _ counts: AllocationCounts, _ relay: RelayProcess,
        _ traced: AllocationCounts.Traced = .allocations
    ) throws -> String {
        counts.startTracing(traced)
        let result = try room.rounds(outstanding: outstanding, seconds: 1, deliveries: AllocationBenchmark.deliveriesMin)
        counts.stopTracing()
        let title = "\(traced), \(room.shape), W=\(outstanding), \(Text.thousands(Double(result.deliveries))) deliveries"
        return AllocationBenchmark.report(counts, relay, title)
    }

    /// Call sites by their innermost functions: what lies further out is the same for most.
    private static func report(_ counts: AllocationCounts, _ relay: RelayProcess, _ title: String) -> String {
        let symbols = Symbols(of: relay.pid)
        var places: [[String]: (count: UInt64, bytes: UInt64)] = [:]
        for site in counts.sites {
            var names: [String] = []
            for name in symbols.names(site.frames) where !name.hasPrefix("swift_") && names.last != name && names.count < framesShown {
                names.append(name)
            }
            places[names, default: (0, 0)].count += site.count
            places[names, default: (0, 0)].bytes += site.bytes
        }
        var text = "\nCall sites, \(title):"
        for (names, place) in places.sorted(by: { $0.value.count > $1.value.count }).prefix(sitesShown) {
            text += "\n  \(place.count) times, \(place.bytes) bytes"
            for name in names { text += "\n      \(name)" }
        }
        return text
    }
}
