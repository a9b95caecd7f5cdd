import BenchmarkSupport
import Glibc
import LoadReport
import Reactor
import RelayBase

/// One of those that are compared, as a process of its own on a core of its own.
final class ServerProcess {
    let kind: ServerKind
    let port: UInt16
    private let log: String
    private let process: ChildProcess

    /// Starts a server; it may not listen yet when this returns.
    ///
    /// - Parameters:
    ///   - loops: of the relay. The others have one thread.
    ///   - cores: what taskset(1) takes.
    init(_ kind: ServerKind, _ options: SpeedOptions, loops: Int = 1, cores: String) throws {
        self.kind = kind
        log = "\(options.folder)/\(kind.rawValue).log"
        let state = options.folder + "/state"
        // The relay's own, which it makes at its first start.
        let files = ["certificate.pem", "key.pem"].map { "\(state)/ca/live/localhost-ecdsa/\($0)" } + [state + "/ca.pem"]
        port = try Self.freePort()
        var environment = ChildProcess.inheritedEnvironment
        let arguments: [String]
        switch kind {
        case .relay:
            // Frames that a busy machine delays are to be delivered all the same: rounds wait for them.
            environment += ["SEGUE_LIMITS_AUDIO_DEADLINE_MILLISECONDS=10000", "SEGUE_LIMITS_CONTROL_MESSAGES_PER_SECOND_MAX=100000"]
            arguments = [options.relay, "serve", "--listen", "127.0.0.1:\(port)", "--loops", "\(loops)", "--state", state, "--log", "json"]
        case .floor: arguments = [options.floor, "\(port)"] + files
        case .peer: arguments = [options.peer, "\(port)"] + files
        }
        process = try ChildProcess(arguments, environment: environment, output: .file(log), folder: options.folder)
        try waitUntilListening()
        try process.pin(to: cores)
    }

    func stop() { process.stop() }

    /// Processor time of all its threads so far, in seconds.
    func processorSeconds() throws(BenchmarkFault) -> Double {
        do throws(ProcessSampleError) {
            return try ProcessSample.processorSeconds(of: process.pid)
        } catch {
            throw BenchmarkFault("\(kind.rawValue) has ended; its log is \(log)")
        }
    }

    // MARK: Starting

    private static func freePort() throws -> UInt16 {
        let listener = try Socket.listen(on: .loopback(port: 0), backlog: 1, reusePort: false, calls: .linux)
        defer { SystemCalls.linux.close(listener) }
        return try Socket.localAddress(of: listener, calls: .linux).port
    }

    private func waitUntilListening() throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 60_000)
        while MonotonicClock.now() < deadline {
            guard !process.hasEnded() else { throw BenchmarkFault("\(kind.rawValue) has ended at its start; its log is \(log)") }
            if try accepts() { return }
            usleep(20_000)
        }
        throw BenchmarkFault("\(kind.rawValue) does not listen; its log is \(log)")
    }

    private func accepts() throws -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw BenchmarkFault("socket: errno \(errno)") }
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
}
