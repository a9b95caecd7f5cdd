import BenchmarkSupport
import Glibc
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport

/// The delay of media in a conference, with and without others that shake hands with the same relay as fast as they can, in turns.
///
/// Those others are a process of their own that only has the generator's core while it has nothing else to do (SCHED_IDLE), so that what is measured is the relay.
struct StormBenchmark {
    private static let publishers = 10
    private static let listeners = 20
    /// One frame from each publisher in that time; one publisher after the other.
    private static let frameNanoseconds: UInt64 = 20_000_000

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        let conference = try PacedConference(sessions, publishers: StormBenchmark.publishers, listeners: StormBenchmark.listeners)
        try conference.run(seconds: 1, every: StormBenchmark.frameNanoseconds)
        var calm: [UInt64] = []
        var stormy: [UInt64] = []
        var handshakes = 0.0
        for _ in 0..<options.runs {
            calm += try conference.run(seconds: options.seconds, every: StormBenchmark.frameNanoseconds)
            let storm = try HandshakeStorm.start(options, relay)
            try sessions.pass(seconds: 0.3)
            let before = storm.handshakes
            stormy += try conference.run(seconds: options.seconds, every: StormBenchmark.frameNanoseconds)
            handshakes += Double(storm.handshakes - before)
            storm.stop()
            try sessions.pass(seconds: 0.3)
        }
        calm.sort()
        stormy.sort()
        Text.out(
            "\nDelay of audio at \(StormBenchmark.publishers) × 50 frames a second to \(StormBenchmark.listeners), ms, \(options.runs) × \(options.seconds) s each, in turns"
        )
        let names = ["p50", "p95", "p99", "p99.9"]
        let rows = zip(names, [0.5, 0.95, 0.99, 0.999]).map { name, share in
            let without = StormBenchmark.quantile(calm, share)
            let with = StormBenchmark.quantile(stormy, share)
            return [name, Text.fixed(without, 2), Text.fixed(with, 2), Text.fixed(with - without, 2), Text.fixed(with / without, 2)]
        }
        Text.out(Text.table(["", "without", "with handshakes", "more by", "ratio"], rows))
        Text.out("handshakes a second meanwhile: \(Text.thousands(handshakes / (Double(options.runs) * options.seconds)))")
    }

    /// Milliseconds, of nanoseconds in order.
    private static func quantile(_ sorted: [UInt64], _ share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1e6
    }
}

/// Frames at their times, and how long each took to each listener: from when it was due, so that a generator that is late does not hide it.
final class PacedConference {
    private let sessions: BenchmarkSessions
    private var publishers: [(session: ClientSession, stream: StreamID)] = []
    private let listeners: Int
    private var sequence: UInt32 = 0

    init(_ sessions: BenchmarkSessions, publishers: Int, listeners: Int) throws {
        self.sessions = sessions
        self.listeners = listeners
        let everybody = try sessions.open(publishers + listeners)
        for session in everybody { _ = try sessions.request(session, .join(.init(room: "conference", displayName: nil))) }
        for session in everybody.prefix(publishers) {
            let answer = try sessions.request(session, .publish(.init(kind: .audio, codec: "opus", description: nil, source: nil)))
            guard let stream = answer.stream else { throw BenchmarkFault("publish was answered without a stream") }
            self.publishers.append((session, StreamID(stream)))
        }
        for session in everybody.dropFirst(publishers) {
            _ = try sessions.request(session, .subscribe(.init(streams: nil, all: true, delivery: .live)))
        }
        for (session, stream) in self.publishers { send(.configuration, session, stream, due: 0) }
        try sessions.pass(seconds: 0.5)
    }

    /// - Returns: the delays of all deliveries, nanoseconds.
    @discardableResult
    func run(seconds: Double, every period: UInt64) throws -> [UInt64] {
        let start = MonotonicClock.now()
        let count = Int(seconds * 1e9 / Double(period)) * publishers.count
        let gap = period / UInt64(publishers.count)
        sessions.delays = []
        sessions.delays?.reserveCapacity(count * listeners)
        sessions.delaysFrom = start
        for number in 0..<count {
            let due = UInt64(number + 1) * gap
            try sessions.pass(until: start.advanced(byNanoseconds: due))
            let (session, stream) = publishers[number % publishers.count]
            if number % publishers.count == 0 { sequence &+= 1 }
            send(.audio, session, stream, due: due)
        }
        try sessions.pass(seconds: 0.5)
        defer { sessions.delays = nil }
        let delays = sessions.delays ?? []
        guard delays.count >= count * listeners * 99 / 100 else { throw BenchmarkFault("\(count * listeners - delays.count) frames did not come") }
        return delays
    }

    private func send(_ kind: MediaKind, _ session: ClientSession, _ stream: StreamID, due: UInt64) {
        let header = MediaHeader(kind: kind, stream: stream, sequence: sequence, timestamp: sequence &* 960)
        var payload = [UInt8](repeating: 0x5A, count: BenchmarkRoom.messageBytes - MediaHeader.byteCount)
        for place in 0..<8 { payload[place] = UInt8(truncatingIfNeeded: due >> (8 * UInt64(place))) }
        _ = unsafe session.sendFrame(header, payload: payload.span.bytes)
    }
}

/// A process that shakes hands with the relay without end.
final class HandshakeStorm {
    private let pid: pid_t

    private let countFile: String

    private init(pid: pid_t, countFile: String) {
        self.pid = pid
        self.countFile = countFile
    }

    /// So far.
    var handshakes: Int { SmallFile.text(countFile).flatMap { Int($0) } ?? 0 }

    private static func countFile(_ folder: String) -> String { folder + "/storm-count" }

    static func start(_ options: BenchmarkOptions, _ relay: RelayProcess) throws -> HandshakeStorm {
        let arguments = ["/proc/self/exe", "--folder", options.folder, "--storm-port", "\(relay.port)"]
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { for place in arguments.indices { unsafe free(argv[place]) } }
        var pid = pid_t()
        let fault = unsafe posix_spawn(&pid, arguments[0], nil, nil, &argv, environ)
        guard fault == 0 else { throw BenchmarkFault("\(arguments[0]): errno \(fault)") }
        return HandshakeStorm(pid: pid, countFile: countFile(options.folder))
    }

    func stop() {
        kill(pid, SIGKILL)
        var status: Int32 = 0
        unsafe waitpid(pid, &status, 0)
    }

    /// In that process.
    static func run(_ options: BenchmarkOptions, port: UInt16) throws -> Int32 {
        // SCHED_IDLE, which the C library names for who asks for GNU's own.
        var parameters = sched_param()
        guard unsafe sched_setscheduler(0, 5, &parameters) == 0 else { throw BenchmarkFault("SCHED_IDLE: errno \(errno)") }
        let state = options.folder + "/state"
        let certificates = try ClientCertificates(state: state, folder: options.folder + "/storm")
        let contexts = try (0..<64).map { number in
            try ClientCredentials(authorityFile: state + "/ca.pem", keyPair: certificates.keyPair(number)).context(http: .http1)
        }
        let clients = HandshakeClients(port: port)
        // Bounded, should nobody end it.
        let end = MonotonicClock.now().advanced(byMilliseconds: 120_000)
        var count = 0
        let file = unsafe open(countFile(options.folder), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        while MonotonicClock.now() < end {
            count += try clients.run(contexts, resumes: false, until: end)
            let text = Array("\(count)".utf8)
            unsafe pwrite(file, text, text.count, 0)
        }
        return 0
    }
}
