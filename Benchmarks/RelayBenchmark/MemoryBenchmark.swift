import BenchmarkSupport
import Reactor
import RelayClient
import TLSTransport

/// Resident bytes of the relay per idle session: the difference that a number of further sessions makes.
struct MemoryBenchmark {
    /// Sessions that are there before counting starts, so that what comes once does not count.
    private static let sessionsBefore = 200
    private static let connections = 50
    /// The relay's bound on streams of a connection.
    private static let webSocketsPerConnection = 100
    /// Pings go out every four seconds, and who answers none for twenty ends: sessions that are open after more than that have answered.
    private static let environment = ["SEGUE_LIMITS_PING_MILLISECONDS=4000", "SEGUE_LIMITS_SILENCE_MILLISECONDS_MAX=20000"]
    private static let secondsHeld = 21.0

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        var rows: [[String]] = []
        let counts = options.idleSessions.map { [$0] } ?? [5_000, 10_000]
        for (name, isKnown, bound) in [("with a client certificate", true, 21.0), ("without, by a token", false, 15.0)] {
            for count in counts {
                let bytes = try perSession(count, withCertificates: isKnown)
                rows.append([
                    "WebSocket over HTTP/1.1, \(name)", Text.thousands(Double(count)), MemoryBenchmark.size(bytes), "≤ \(Text.fixed(bound, 0))",
                ])
                try hold(bytes / 1_024, bound, name)
            }
        }
        let (connection, further) = try perStream()
        let streams = MemoryBenchmark.connections * (MemoryBenchmark.webSocketsPerConnection - 1)
        rows.append([
            "HTTP/2 connection with a client certificate, one WebSocket", "\(MemoryBenchmark.connections)", MemoryBenchmark.size(connection), "",
        ])
        rows.append(["each further WebSocket on it", Text.thousands(Double(streams)), MemoryBenchmark.size(further), "≤ 3"])
        try hold(further / 1_024, 3, "a further WebSocket")
        Text.out("\nResident bytes of the relay per idle session, in no room, pings answered; each client has a certificate, or a token, of its own")
        Text.out(Text.table(["session", "counted", "resident each, KiB", "bound"], rows))
    }

    private func hold(_ kibibytes: Double, _ bound: Double, _ name: String) throws(BenchmarkFault) {
        guard !options.asserts || kibibytes <= bound else {
            throw BenchmarkFault("does not hold: \(Text.fixed(kibibytes, 2)) KiB \(name), at most \(Text.fixed(bound, 0))")
        }
    }

    private static func size(_ bytes: Double) -> String { Text.fixed(bytes / 1_024, 2) }

    private func perSession(_ count: Int, withCertificates: Bool) throws -> Double {
        let tokens = try withCertificates ? nil : ClientTokens(folder: options.folder)
        let relay = try RelayProcess(options, counting: false, environment: MemoryBenchmark.environment, tokens: tokens)
        defer { relay.stop() }
        let clients: BenchmarkSessions.Clients
        if let tokens {
            clients = .tokens(tokens)
        } else {
            clients = .certificates(try ClientCertificates(state: options.folder + "/state", folder: options.folder + "/idle"))
        }
        let sessions = try BenchmarkSessions(options, relay, clients)
        let before = try sessions.open(MemoryBenchmark.sessionsBefore)
        try sessions.pass(seconds: 1)
        let resident = try relay.residentBytes()
        let further = try sessions.open(count)
        try sessions.pass(seconds: MemoryBenchmark.secondsHeld)
        let grown = try relay.residentBytes() - resident
        guard (before + further).allSatisfy(\.isOpen) else { throw BenchmarkFault("idle sessions ended") }
        return grown / Double(count)
    }

    /// - Returns: bytes per connection with one WebSocket, and per further WebSocket.
    private func perStream() throws -> (connection: Double, further: Double) {
        let one = try grown(webSockets: 1)
        let many = try grown(webSockets: MemoryBenchmark.webSocketsPerConnection)
        let connections = Double(MemoryBenchmark.connections)
        return (one / connections, (many - one) / connections / Double(MemoryBenchmark.webSocketsPerConnection - 1))
    }

    private func grown(webSockets: Int) throws -> Double {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let state = options.folder + "/state"
        let certificates = try ClientCertificates(state: state, folder: options.folder + "/multiplexed")
        let scratch = TransportScratch(readiness: .edgeTriggered)
        let client = ClientOptions(address: .loopback(port: relay.port), host: "127.0.0.1", http: .http2)
        func connect(_ number: Int) throws -> MultiplexedConnection {
            let context = try ClientCredentials(authorityFile: state + "/ca.pem", keyPair: certificates.keyPair(number)).context(http: .http2)
            return try MultiplexedConnection(client, context, scratch, webSockets: webSockets)
        }
        // Some of the same kind first, so that what comes once does not count.
        var connections = try (0..<10).map { try connect($0) }
        let resident = try relay.residentBytes()
        for number in 0..<MemoryBenchmark.connections { connections.append(try connect(10 + number)) }
        return try withExtendedLifetime(connections) { try relay.residentBytes() - resident }
    }
}
