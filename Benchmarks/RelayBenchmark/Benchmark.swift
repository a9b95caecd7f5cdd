import BenchmarkSupport
import Glibc

/// The command line, and the order of the parts.
enum Benchmark {
    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            let options = try BenchmarkOptions(arguments)
            if options.wantsHelp {
                Text.out(BenchmarkOptions.help)
                return 0
            }
            if let port = options.stormPort { return try HandshakeStorm.run(options, port: UInt16(port)) }
            Text.out("machine: \(Machine.description); load of the last 1 and 5 minutes: \(Machine.load)")
            let relay = try RelayProcess(options, counting: false)
            defer { relay.stop() }
            if options.parts.contains(.speed) {
                try SpeedBenchmark(options, relay).run()
            }
            if options.parts.contains(.hold) {
                try hold(options, relay)
            }
            for part in options.parts {
                guard let run = separate(part, options) else { continue }
                relay.stop()
                try run()
            }
            if options.parts.contains(.figures) {
                relay.stop()
                try FiguresBenchmark(options).run()
            }
            if options.parts.contains(.memory) {
                relay.stop()
                try MemoryBenchmark(options).run()
            }
            if options.parts.contains(.allocations) {
                relay.stop()
                try AllocationBenchmark(options).run()
            }
            return 0
        } catch let fault as BenchmarkFault {
            Text.out("benchmark: \(fault)")
            return 1
        } catch {
            Text.out("benchmark: \(error)")
            return 1
        }
    }

    /// The parts that start relays of their own.
    private static func separate(_ part: BenchmarkOptions.Part, _ options: BenchmarkOptions) -> (() throws -> Void)? {
        switch part {
        case .handshakes: HandshakeBenchmark(options).run
        case .churn: ChurnBenchmark(options).run
        case .storm: StormBenchmark(options).run
        case .allocations, .memory, .speed, .figures, .hold: nil
        }
    }

    /// Load for a profiler: one room, kept busy for a while.
    private static func hold(_ options: BenchmarkOptions, _ relay: RelayProcess) throws {
        let sessions = try BenchmarkSessions(options, relay)
        let room = try BenchmarkRoom(options.shape, sessions)
        try room.warmUp()
        Text.out("holding \(options.shape) at W=\(options.outstanding[0]), relay's process \(relay.pid)")
        let cpu = try relay.processorSeconds()
        let result = try room.run(outstanding: options.outstanding[0], seconds: options.seconds)
        let used = try relay.processorSeconds() - cpu
        Text.out("\(result.deliveries) deliveries, \(Text.thousands(Double(result.deliveries) / used)) per CPU-second of the relay")
    }
}
