import BenchmarkSupport
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import WebSocketProtocol

/// The benchmark's clients, on the thread that calls.
final class BenchmarkSessions {
    /// Who the clients are.
    enum Clients {
        /// All of them alice.
        case alice
        /// Each has a certificate of its own.
        case certificates(ClientCertificates)
        /// None has a certificate, each a token of its own.
        case tokens(ClientTokens)
    }

    let loop: ClientLoop
    let context: TLSContext
    private let template: ClientOptions
    private let clients: Clients
    private let authorityFile: String
    private(set) var welcomes = 0
    private(set) var framesReceived = 0
    private var answers: [Int: RelayMessage.Answer] = [:]
    private var ends: [String] = []

    init(_ options: BenchmarkOptions, _ relay: RelayProcess, _ clients: Clients = .alice) throws {
        let state = options.folder + "/state"
        var credentials = ClientCredentials(
            authorityFile: state + "/ca.pem",
            keyPair: .init(certificateFile: state + "/clients/alice.pem", keyFile: state + "/clients/alice-key.pem"))
        if case .tokens = clients { credentials.keyPair = nil }
        self.clients = clients
        authorityFile = credentials.authorityFile
        loop = try ClientLoop()
        context = try credentials.context(http: .http1)
        var template = ClientOptions(address: .loopback(port: relay.port), host: "127.0.0.1", http: .http1)
        template.openMillisecondsMax = 60_000
        template.silenceMillisecondsMax = 120_000
        self.template = template
    }

    /// Opens sessions, a few handshakes at a time, and waits for their welcomes.
    func open(_ count: Int) throws -> [ClientSession] {
        var sessions: [ClientSession] = []
        let target = welcomes + count
        while welcomes < target {
            while sessions.count < count, sessions.count - (count - (target - welcomes)) < 32 {
                var options = template
                options.tag = nextTag
                nextTag += 1
                sessions.append(try open(options))
            }
            let before = welcomes
            try wait("welcomes") { welcomes > before }
        }
        return sessions
    }

    private func open(_ options: ClientOptions) throws -> ClientSession {
        var options = options
        switch clients {
        case .alice: return try loop.open(options, context)
        case .tokens(let tokens):
            options.token = try tokens.token(options.tag)
            return try loop.open(options, context)
        case .certificates(let certificates):
            let pair = try certificates.keyPair(options.tag)
            return try loop.open(options, ClientCredentials(authorityFile: authorityFile, keyPair: pair).context(http: .http1))
        }
    }

    /// Ends sessions in order, and waits until they are gone.
    func end(_ sessions: [ClientSession]) throws {
        for session in sessions { session.close() }
        areEnding = true
        defer { areEnding = false }
        try wait("the end of sessions") { sessions.allSatisfy(\.hasEnded) }
    }

    private var areEnding = false
    private var nextTag = 0

    /// Asks, and waits for the answer.
    func request(_ session: ClientSession, _ request: ClientRequest) throws -> RelayMessage.Answer {
        answers[session.tag] = nil
        _ = session.send(request)
        try wait(request.type) { answers[session.tag] != nil }
        guard let answer = answers[session.tag] else { throw BenchmarkFault("no answer to \(request.type)") }
        return answer
    }

    /// Turns the loop until `condition` holds; a relay that lets it wait for 20 s has failed.
    func wait(_ purpose: String, until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 20_000)
        while !condition() {
            try turn(until: loop.now.advanced(byMilliseconds: 500))
            guard loop.now < deadline else { throw BenchmarkFault("waited in vain for \(purpose)") }
            if let end = ends.first { throw BenchmarkFault("a session ended while waiting for \(purpose): \(end)") }
        }
    }

    /// Lets time pass, answering pings.
    func pass(seconds: Double) throws {
        try pass(until: MonotonicClock.now().advanced(byNanoseconds: UInt64(seconds * 1e9)))
    }

    /// Takes what comes until then.
    func pass(until end: MonotonicInstant) throws {
        repeat { try turn(until: end) } while MonotonicClock.now() < end
    }

    /// How long frames took that say in their payload when they were due, in nanoseconds since ``delaysFrom``; `nil`: nobody wants to know.
    var delays: [UInt64]?
    var delaysFrom = MonotonicInstant.zero

    private func measureFrame() {
        let due: UInt64? = loop.withFrame { bytes in
            guard bytes.byteCount >= MediaHeader.byteCount + 8 else { return nil }
            return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: MediaHeader.byteCount, as: UInt64.self)
        }
        guard let due else { return }
        let spent = MonotonicClock.now().nanoseconds(since: delaysFrom)
        delays?.append(spent > due ? spent - due : 0)
    }

    @inline(__always)
    private func turn(until deadline: MonotonicInstant) throws {
        try loop.poll(until: deadline)
        while let (session, event) = loop.nextEvent() {
            if case .frame = event {
                framesReceived &+= 1
                if delays != nil { measureFrame() }
            } else {
                take(session, event)
            }
        }
    }

    private func take(_ session: ClientSession, _ event: ClientEvent) {
        switch event {
        case .welcome: welcomes += 1
        case .answer(_, let answer): answers[session.tag] = answer
        case .refused(_, let refusal): ends.append("refused: \(refusal.message)")
        case .closed where areEnding: break
        case .failed where areEnding: break
        case .closed(let code, let reason): ends.append("closed: \(code.rawValue) \(reason)")
        case .failed(let fault): ends.append("\(fault)")
        case .opened, .news, .writable, .frame: break
        }
    }
}
