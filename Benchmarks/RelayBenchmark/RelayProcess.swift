import BenchmarkSupport
import Glibc
import LoadReport
import Reactor
import RelayBase

/// A relay of its own for the benchmark: `segue serve` on a free port of the loopback, one event loop unless it is told otherwise, on one core.
final class RelayProcess {
    let port: UInt16
    let folder: String
    /// The file in which the preloaded counter counts.
    let allocationFile: String?
    private let process: ChildProcess

    /// - Parameters:
    ///   - counting: preload the allocation counter.
    ///   - further: variables of the relay's configuration.
    ///   - tokens: clients show these and need no certificate.
    init(_ options: BenchmarkOptions, counting: Bool, loops: Int = 1, environment further: [String] = [], tokens: ClientTokens? = nil) throws {
        folder = options.folder
        var environment = ChildProcess.inheritedEnvironment
        // Frames that a busy machine delays are to be delivered all the same: the rounds wait for them.
        environment += ["SEGUE_LIMITS_AUDIO_DEADLINE_MILLISECONDS=10000", "SEGUE_LIMITS_CONTROL_MESSAGES_PER_SECOND_MAX=100000"]
        environment += further + (tokens?.environment ?? [])
        if counting {
            let file = options.folder + "/allocations"
            try AllocationCounts.prepare(file)
            environment += ["LD_PRELOAD=\(options.counter)", "ALLOCATION_COUNTER_FILE=\(file)"]
            allocationFile = file
        } else {
            allocationFile = nil
        }
        let arguments = [
            options.relay, "serve", "--listen", "127.0.0.1:0", "--loops", "\(loops)", "--state", options.folder + "/state", "--log", "json",
        ]
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw BenchmarkFault("pipe: errno \(errno)") }
        let log = options.folder + "/relay.log"
        process = try ChildProcess(arguments, environment: environment, output: .pipe(ends[1], errors: log), folder: folder)
        close(ends[1])
        defer { close(ends[0]) }
        guard let port = RelayProcess.port(readFrom: ends[0]) else {
            process.stop()
            throw BenchmarkFault("the relay did not start; its log is \(log)")
        }
        self.port = port
        try process.pin(to: "\(options.relayCore)")
    }

    var pid: pid_t { process.pid }

    func stop() { process.stop() }

    // MARK: Starting

    /// Reads the relay's output up to its "ready" line.
    private static func port(readFrom descriptor: Int32) -> UInt16? {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 60_000)
        var text = ""
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while MonotonicClock.now() < deadline {
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&wait, 1, 1_000) > 0 else { continue }
            let count = unsafe read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return nil }
            text += String(decoding: chunk[..<count], as: UTF8.self)
            guard let start = text.firstRange(of: "ready https://127.0.0.1:") else { continue }
            let digits = text[start.upperBound...].prefix { $0.isNumber }
            if text[start.upperBound...].count > digits.count { return UInt16(digits) }
        }
        return nil
    }

    // MARK: What it uses

    /// Of all its threads so far.
    func processorSeconds() throws(BenchmarkFault) -> Double {
        try measured { () throws(ProcessSampleError) in try ProcessSample.processorSeconds(of: pid) }
    }

    /// Resident memory, its pages counted.
    func residentBytes() throws(BenchmarkFault) -> Double {
        Double(try measured { () throws(ProcessSampleError) in try ProcessSample.of(pid: pid, walksPages: true).rssBytes })
    }

    private func measured<Value>(_ look: () throws(ProcessSampleError) -> Value) throws(BenchmarkFault) -> Value {
        do throws(ProcessSampleError) {
            return try look()
        } catch {
            throw BenchmarkFault("\(error); the relay's log is \(folder)/relay.log")
        }
    }
}
