import Glibc

/// Another program, as a child process. Programs without a slash are looked for on the PATH.
package final class Program {
    package let identifier: Int32
    /// What it reads, -1 when it was given nothing to read.
    package let input: Int32
    /// What it writes, -1 when that goes to a file or to where this process writes.
    package let output: Int32
    private var status: Int32?
    private var unread: [UInt8] = []

    package enum Output {
        case shared
        case pipe
    }

    /// - Parameters:
    ///   - environment: further variables, `NAME=VALUE`, which win.
    ///   - input: give it a pipe to read from; else it reads nothing.
    ///   - errors: a file for its error output; `nil`: where this process writes its own.
    package init(
        _ arguments: [String], environment: [String] = [], input wantsInput: Bool = false, output wanted: Output = .shared, errors: String? = nil
    ) throws(NetworkFault) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let reading = wantsInput ? try Program.pipe() : (read: -1, write: -1)
        let writing = wanted == .pipe ? try Program.pipe() : (read: -1, write: -1)
        if wantsInput {
            unsafe posix_spawn_file_actions_adddup2(&actions, reading.read, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        if wanted == .pipe { unsafe posix_spawn_file_actions_adddup2(&actions, writing.write, 1) }
        if let errors { unsafe posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        // Signals that this process reads by signalfd(2) are blocked here, and must not be there.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = Program.inherited(but: environment) + environment
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer {
            for place in arguments.indices { unsafe free(argv[place]) }
            for place in variables.indices { unsafe free(envp[place]) }
        }
        var child = pid_t()
        let fault = unsafe posix_spawnp(&child, arguments[0], &actions, &attributes, &argv, &envp)
        if wantsInput { close(reading.read) }
        if wanted == .pipe { close(writing.write) }
        guard fault == 0 else {
            if wantsInput { close(reading.write) }
            if wanted == .pipe { close(writing.read) }
            throw NetworkFault("\(arguments[0]): \(unsafe String(cString: strerror(fault)))")
        }
        identifier = child
        input = reading.write
        output = writing.read
    }

    deinit {
        if input >= 0 { close(input) }
        if output >= 0 { close(output) }
    }

    private static func pipe() throws(NetworkFault) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw .system("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func inherited(but replaced: [String]) -> [String] {
        let names = Set(replaced.map { $0.prefix { $0 != "=" } })
        var found: [String] = []
        var place = unsafe environ
        while let entry = unsafe place.pointee {
            let text = unsafe String(cString: entry)
            if !names.contains(text.prefix { $0 != "=" }) { found.append(text) }
            unsafe place += 1
        }
        return found
    }

    /// Runs a program to its end, 20 s at most; anything but success is a fault.
    package static func run(_ arguments: [String], environment: [String] = [], errors: String? = nil) throws(NetworkFault) {
        let program = try Program(arguments, environment: environment, errors: errors)
        guard let code = program.wait(milliseconds: 20_000) else {
            program.end()
            throw NetworkFault("\(arguments.joined(separator: " ")) did not end")
        }
        guard code == 0 else { throw NetworkFault("\(arguments.joined(separator: " ")) ended with \(code)") }
    }

    // MARK: Its end

    /// The exit code once it has ended, 128 and the signal's number after a signal.
    package func exitCode() -> Int32? {
        if let status { return status }
        var raw: Int32 = 0
        guard unsafe waitpid(identifier, &raw, WNOHANG) == identifier else { return nil }
        let signal = raw & 0x7F
        status = signal == 0 ? (raw >> 8) & 0xFF : 128 + signal
        return status
    }

    package func wait(milliseconds: Int) -> Int32? {
        for _ in 0...milliseconds / 5 {
            if let code = exitCode() { return code }
            usleep(5_000)
        }
        return exitCode()
    }

    package func signal(_ number: Int32) {
        if exitCode() == nil { kill(identifier, number) }
    }

    /// Ends it, in order if it can: SIGTERM, and after 3 s SIGKILL.
    package func end() {
        signal(SIGTERM)
        if wait(milliseconds: 3_000) != nil { return }
        signal(SIGKILL)
        _ = wait(milliseconds: 3_000)
    }

    // MARK: Its words

    package func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { unsafe write(input, $0.baseAddress.map { unsafe $0 + sent }, bytes.count - sent) }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// The next line that it writes, without its end; `nil` when none comes in time or there is no more.
    package func line(milliseconds: Int32) -> String? {
        var left = milliseconds
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeSubrange(...end)
                return line
            }
            var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let step = min(left, 50)
            let ready = unsafe poll(&wait, 1, step)
            left -= step
            if ready > 0 {
                var chunk = [UInt8](repeating: 0, count: 4_096)
                let count = unsafe read(output, &chunk, chunk.count)
                guard count > 0 else { return nil }
                unread += chunk[..<count]
            } else if left <= 0 {
                return nil
            }
        }
    }
}
