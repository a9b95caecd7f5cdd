import Glibc
import LoadReport

/// Why the benchmark could not go on.
struct BenchmarkFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

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
            Text.out(Machine.description)
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

/// What the numbers were taken on.
enum Machine {
    static var description: String {
        let load = ProcessFile.text("/proc/loadavg").split(separator: " ").prefix(2).joined(separator: " ")
        return "machine: \(name); load of the last 1 and 5 minutes: \(load)"
    }

    /// Today, `2026-12-01`, of UTC.
    static var date: String {
        String(Numbers.date(unixMilliseconds: Int64(time(nil)) * 1_000).prefix(10))
    }

    static var name: String {
        var names = utsname()
        unsafe uname(&names)
        let release = unsafe withUnsafeBytes(of: &names.release) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return "\(cores) cores, Linux \(release)"
    }
}
