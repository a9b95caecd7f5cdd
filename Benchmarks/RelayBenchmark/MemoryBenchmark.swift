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

    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        var rows: [[String]] = []
        let count = options.idleSessions
        let single = try perSession(count)
        rows.append([
            "TLS 1.3 + client certificate + WebSocket over HTTP/1.1, after hello", Text.thousands(Double(count)), MemoryBenchmark.size(single),
        ])
        let (connection, further) = try perStream()
        let streams = MemoryBenchmark.connections * (MemoryBenchmark.webSocketsPerConnection - 1)
        rows.append(["the same over HTTP/2, one WebSocket", "\(MemoryBenchmark.connections)", MemoryBenchmark.size(connection)])
        rows.append(["each further WebSocket on that connection", Text.thousands(Double(streams)), MemoryBenchmark.size(further)])
        Text.out("\nResident bytes of the relay per idle session, in no room")
        Text.out(Text.table(["session", "counted", "resident each"], rows))
    }

    private static func size(_ bytes: Double) -> String { "\(Text.fixed(bytes / 1_024, 2)) KiB" }

    private func perSession(_ count: Int) throws -> Double {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        let before = try sessions.open(MemoryBenchmark.sessionsBefore)
        try sessions.pass(seconds: 1)
        let resident = try relay.residentBytes()
        let further = try sessions.open(count)
        try sessions.pass(seconds: 1)
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
        let credentials = ClientCredentials(
            authorityFile: state + "/ca.pem",
            keyPair: .init(certificateFile: state + "/clients/alice.pem", keyFile: state + "/clients/alice-key.pem"))
        let context = try credentials.context(http: .http2)
        let scratch = TransportScratch(readiness: .edgeTriggered)
        let client = ClientOptions(address: .loopback(port: relay.port), host: "127.0.0.1", http: .http2)
        // Some of the same kind first, so that what comes once does not count.
        var connections = try (0..<4).map { _ in try MultiplexedConnection(client, context, scratch, webSockets: webSockets) }
        let resident = try relay.residentBytes()
        for _ in 0..<MemoryBenchmark.connections {
            connections.append(try MultiplexedConnection(client, context, scratch, webSockets: webSockets))
        }
        return try withExtendedLifetime(connections) { try relay.residentBytes() - resident }
    }
}
