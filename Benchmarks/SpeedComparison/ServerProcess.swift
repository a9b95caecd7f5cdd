import BenchmarkSupport
import Glibc
import Reactor
import RelayBase

/// One of those that are compared, as a process of its own on a core of its own.
final class ServerProcess {
    let kind: ServerKind
    let pid: pid_t
    let port: UInt16
    private let cores: String
    private let log: String
    /// A link whose target is the process's number: for the script, should this process be ended before it can end its servers.
    private let pidLink: String
    private var isStopped = false

    /// Starts a server; it may not listen yet when this returns.
    ///
    /// - Parameters:
    ///   - loops: of the relay. The others have one thread.
    ///   - cores: what taskset(1) takes.
    init(_ kind: ServerKind, _ options: SpeedOptions, loops: Int = 1, cores: String) throws {
        self.kind = kind
        self.cores = cores
        log = "\(options.folder)/\(kind.rawValue).log"
        let state = options.folder + "/state"
        // The relay's own, which it makes at its first start.
        let files = ["certificate.pem", "key.pem"].map { "\(state)/ca/live/localhost-ecdsa/\($0)" } + [state + "/ca.pem"]
        port = try Self.freePort()
        var environment = Self.inherited
        let arguments: [String]
        switch kind {
        case .relay:
            // Frames that a busy machine delays are to be delivered all the same: rounds wait for them.
            environment += ["SEGUE_LIMITS_AUDIO_DEADLINE_MILLISECONDS=10000", "SEGUE_LIMITS_CONTROL_MESSAGES_PER_SECOND_MAX=100000"]
            arguments = [options.relay, "serve", "--listen", "127.0.0.1:\(port)", "--loops", "\(loops)", "--state", state, "--log", "json"]
        case .floor: arguments = [options.floor, "\(port)"] + files
        case .peer: arguments = [options.peer, "\(port)"] + files
        }
        pid = try Self.spawn(arguments, environment, log: log)
        pidLink = "\(options.folder)/\(pid).pid"
        _ = unsafe symlink("\(pid)", pidLink)
        try waitUntilListening()
        try pin()
    }

    deinit {
        stop()
    }

    /// Ends the server, in order if it can.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        defer { unsafe unlink(pidLink) }
        var status: Int32 = 0
        // The relay's second signal ends its drain.
        for signal in [SIGTERM, SIGTERM, SIGKILL] {
            kill(pid, signal)
            for _ in 0..<50 {
                if unsafe waitpid(pid, &status, WNOHANG) == pid { return }
                usleep(20_000)
            }
        }
        unsafe waitpid(pid, &status, 0)
    }

    /// Processor time of all its threads so far, in seconds.
    func processorSeconds() throws(SpeedFault) -> Double {
        var clock = clockid_t()
        var used = timespec()
        guard unsafe clock_getcpuclockid(pid, &clock) == 0, unsafe clock_gettime(clock, &used) == 0 else {
            throw SpeedFault("\(kind.rawValue) has ended; its log is \(log)")
        }
        return Double(used.tv_sec) + Double(used.tv_nsec) / 1e9
    }

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

    private static func freePort() throws -> UInt16 {
        let listener = try Socket.listen(on: .loopback(port: 0), backlog: 1, reusePort: false, calls: .linux)
        defer { SystemCalls.linux.close(listener) }
        return try Socket.localAddress(of: listener, calls: .linux).port
    }

    private static func spawn(_ arguments: [String], _ environment: [String], log: String) throws(SpeedFault) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            for place in arguments.indices { unsafe free(argv[place]) }
            for place in environment.indices { unsafe free(envp[place]) }
        }
        var pid = pid_t()
        // Without `taskset` in between, so that the process is the server itself.
        let fault = unsafe posix_spawn(&pid, arguments[0], &actions, nil, &argv, &envp)
        guard fault == 0 else { throw SpeedFault("\(arguments[0]): errno \(fault)") }
        return pid
    }

    private func waitUntilListening() throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 60_000)
        while MonotonicClock.now() < deadline {
            var status: Int32 = 0
            guard unsafe waitpid(pid, &status, WNOHANG) == 0 else {
                isStopped = true
                throw SpeedFault("\(kind.rawValue) has ended at its start; its log is \(log)")
            }
            if try accepts() { return }
            usleep(20_000)
        }
        throw SpeedFault("\(kind.rawValue) does not listen; its log is \(log)")
    }

    private func accepts() throws -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw SpeedFault("socket: errno \(errno)") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// All its threads to its cores.
    private func pin() throws(SpeedFault) {
        guard unsafe system("taskset -acp \(cores) \(pid) >/dev/null") == 0 else {
            throw SpeedFault("taskset (util-linux) could not pin \(kind.rawValue) to core \(cores)")
        }
    }
}
