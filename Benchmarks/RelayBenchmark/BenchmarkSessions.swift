import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import WebSocketProtocol

/// The benchmark's clients, on the thread that calls.
final class BenchmarkSessions {
    let loop: ClientLoop
    let context: TLSContext
    private let template: ClientOptions
    private(set) var welcomes = 0
    private(set) var framesReceived = 0
    private var answers: [Int: RelayMessage.Answer] = [:]
    private var ends: [String] = []

    init(_ options: BenchmarkOptions, _ relay: RelayProcess) throws {
        let state = options.folder + "/state"
        var credentials = ClientCredentials(
            authorityFile: state + "/ca.pem",
            keyPair: .init(certificateFile: state + "/clients/alice.pem", keyFile: state + "/clients/alice-key.pem"))
        credentials.revocationListFiles = []
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
                sessions.append(try loop.open(options, context))
            }
            let before = welcomes
            try wait("welcomes") { welcomes > before }
        }
        return sessions
    }

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

    @inline(__always)
    private func turn(until deadline: MonotonicInstant) throws {
        try loop.poll(until: deadline)
        while let (session, event) = loop.nextEvent() {
            if case .frame = event {
                framesReceived &+= 1
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
        case .closed(let code, let reason): ends.append("closed: \(code.rawValue) \(reason)")
        case .failed(let fault): ends.append("\(fault)")
        case .opened, .news, .writable, .frame: break
        }
    }
}
