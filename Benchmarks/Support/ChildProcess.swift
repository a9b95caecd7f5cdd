import Glibc

/// A server that is measured, as a process of its own.
package final class ChildProcess {
    package enum Output {
        /// Output and errors.
        case file(String)
        case pipe(Int32, errors: String)
    }

    package let pid: Int32
    /// A link whose target is the process's number: for the script, should this process be ended before it can end its child.
    private let pidLink: String
    private var isStopped = false

    /// - Parameters:
    ///   - arguments: the program's path first. Without `taskset` in between, so that the process is the server itself.
    ///   - folder: where `PID.pid` lies as long as the process runs.
    package init(_ arguments: [String], environment: [String], output: Output, folder: String) throws(BenchmarkFault) {
        pid = try ChildProcess.spawn(arguments, environment, output)
        pidLink = "\(folder)/\(pid).pid"
        _ = unsafe symlink("\(pid)", pidLink)
    }

    deinit {
        stop()
    }

    /// This process's environment without the variables of the relay's own configuration, which would change what is measured.
    package static var inheritedEnvironment: [String] {
        var found: [String] = []
        var place = unsafe environ
        while let entry = unsafe place.pointee {
            let text = unsafe String(cString: entry)
            if !text.hasPrefix("SEGUE_") { found.append(text) }
            unsafe place += 1
        }
        return found
    }

    /// Whether it has ended by itself.
    package func hasEnded() -> Bool {
        guard !isStopped else { return true }
        var status: Int32 = 0
        guard unsafe waitpid(pid, &status, WNOHANG) != 0 else { return false }
        forget()
        return true
    }

    /// Ends it, in order if it can.
    package func stop() {
        guard !isStopped else { return }
        defer { forget() }
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

    private func forget() {
        isStopped = true
        unsafe unlink(pidLink)
    }

    /// All its threads to some cores.
    ///
    /// - Parameter cores: what taskset(1) takes.
    package func pin(to cores: String) throws(BenchmarkFault) {
        guard unsafe system("taskset -acp \(cores) \(pid) >/dev/null") == 0 else {
            throw BenchmarkFault("taskset (util-linux) could not pin process \(pid) to \(cores)")
        }
    }

    private static func spawn(_ arguments: [String], _ environment: [String], _ output: Output) throws(BenchmarkFault) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        switch output {
        case .file(let log):
            unsafe posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        case .pipe(let end, let errors):
            unsafe posix_spawn_file_actions_adddup2(&actions, end, 1)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
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
}
