import Glibc
import Reactor
import RelayBase

/// A relay of its own for the benchmark: `segue serve` on a free port of the loopback, one event loop unless it is told otherwise, on one core.
final class RelayProcess {
    let pid: pid_t
    let port: UInt16
    let folder: String
    /// The file in which the preloaded counter counts.
    let allocationFile: String?
    private var isStopped = false

    /// - Parameters:
    ///   - counting: preload the allocation counter.
    ///   - further: variables of the relay's configuration.
    ///   - tokens: clients show these and need no certificate.
    init(_ options: BenchmarkOptions, counting: Bool, loops: Int = 1, environment further: [String] = [], tokens: ClientTokens? = nil) throws {
        folder = options.folder
        var environment = RelayProcess.inherited
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
        // Without `taskset` in between, so that the process is the relay itself: the affinity is inherited from the thread that starts it.
        let arguments = [
            options.relay, "serve", "--listen", "127.0.0.1:0", "--loops", "\(loops)", "--state", options.folder + "/state", "--log", "json",
        ]
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw BenchmarkFault("pipe: errno \(errno)") }
        let log = options.folder + "/relay.log"
        pid = try RelayProcess.spawn(arguments, environment, output: ends[1], log: log)
        close(ends[1])
        defer { close(ends[0]) }
        // For the script, should this process be ended before it can end the relay.
        _ = unsafe symlink("\(pid)", RelayProcess.pidFile(folder))
        guard let port = RelayProcess.port(readFrom: ends[0]) else {
            kill(pid, SIGKILL)
            var status: Int32 = 0
            unsafe waitpid(pid, &status, 0)
            throw BenchmarkFault("the relay did not start; its log is \(log)")
        }
        self.port = port
        try RelayProcess.pin(pid, to: options.relayCore)
    }

    deinit {
        stop()
    }

    /// Ends the relay, in order if it can.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        unsafe unlink(RelayProcess.pidFile(folder))
        var status: Int32 = 0
        // The second signal ends the drain.
        for signal in [SIGTERM, SIGTERM, SIGKILL] {
            kill(pid, signal)
            for _ in 0..<50 {
                if unsafe waitpid(pid, &status, WNOHANG) == pid { return }
                usleep(20_000)
            }
        }
        unsafe waitpid(pid, &status, 0)
    }

    /// A link whose target is the relay's process number.
    private static func pidFile(_ folder: String) -> String { folder + "/relay.pid" }

    // MARK: Starting

    private static var inherited: [String] {
        var found: [String] = []
        var place = unsafe environ
        while let entry = unsafe place.pointee {
            let text = unsafe String(cString: entry)
            // Variables of the relay's own configuration would change what is measured.
            if !text.hasPrefix("SEGUE_") { found.append(text) }
            unsafe place += 1
        }
        return found
    }

    private static func spawn(_ arguments: [String], _ environment: [String], output: Int32, log: String) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            for place in arguments.indices { unsafe free(argv[place]) }
            for place in environment.indices { unsafe free(envp[place]) }
        }
        var pid = pid_t()
        let fault = unsafe posix_spawn(&pid, arguments[0], &actions, nil, &argv, &envp)
        guard fault == 0 else { throw BenchmarkFault("\(arguments[0]): errno \(fault)") }
        return pid
    }

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

    /// All threads of the relay to one core.
    private static func pin(_ pid: pid_t, to core: Int) throws {
        let status = unsafe system("taskset -acp \(core) \(pid) >/dev/null")
        guard status == 0 else { throw BenchmarkFault("taskset (util-linux) could not pin the relay to core \(core)") }
    }

    // MARK: What it uses

    /// User and system time so far (proc(5), fields 14 and 15 of `stat`), in seconds.
    func processorSeconds() throws(BenchmarkFault) -> Double {
        let text = ProcessFile.text("/proc/\(pid)/stat")
        // The name, in brackets, may hold spaces.
        guard let end = text.lastIndex(of: ")") else { throw BenchmarkFault("the relay has ended; its log is \(folder)/relay.log") }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { throw BenchmarkFault("/proc/\(pid)/stat") }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The same of all threads that live, in nanoseconds, from the scheduler: `stat` counts in hundredths of a second.
    func processorNanoseconds() throws(BenchmarkFault) -> UInt64 {
        guard let folder = unsafe opendir("/proc/\(pid)/task") else {
            throw BenchmarkFault("the relay has ended; its log is \(self.folder)/relay.log")
        }
        defer { unsafe closedir(folder) }
        var sum: UInt64 = 0
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard Int(name) != nil else { continue }
            let text = ProcessFile.text("/proc/\(pid)/task/\(name)/schedstat")
            if let nanoseconds = text.split(separator: " ").first.flatMap({ UInt64($0) }) { sum += nanoseconds }
        }
        return sum
    }

    /// Resident memory in bytes.
    func residentBytes() throws(BenchmarkFault) -> Double {
        let text = ProcessFile.text("/proc/\(pid)/smaps_rollup")
        for line in text.split(separator: "\n") where line.hasPrefix("Rss:") {
            if let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) { return kibibytes * 1_024 }
        }
        throw BenchmarkFault("/proc/\(pid)/smaps_rollup")
    }
}
