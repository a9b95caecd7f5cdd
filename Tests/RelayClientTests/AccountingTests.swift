import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import RelayServer
import Signalling
import Testing

@Suite("Accounting of frames", .serialized)
struct AccountingTests {
    /// The value of a metric without labels, or with exactly these.
    private static func metric(_ name: String, _ text: String) -> Int? {
        text.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap { Int($0.dropFirst(name.utf8.count + 1)) }
    }

    /// Asks until `condition` holds of the metrics: each loop publishes them a few times a second.
    private static func metrics(_ relay: Relay, _ clients: Clients, until condition: (String) -> Bool) throws -> String {
        var text = ""
        try clients.wait("the metrics") {
            text = (try? HTTPGet.text("/metrics", from: relay.address)) ?? ""
            return condition(text)
        }
        return text
    }

    @Test("every frame due to a listener ends in exactly one counter", arguments: [1, 4])
    func everyFrame(loops: Int) throws {
        let relay = try Relay(loops: loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("count")
        let listeners = try (0..<5).map { _ in try clients.join("count") }
        for listener in listeners { try clients.subscribeAll(listener) }
        let stream = StreamID(try clients.publish(publisher, .audio, "opus"))
        try clients.send(publisher, MediaHeader(kind: .configuration, stream: stream, sequence: 0, timestamp: 0), [])
        for sequence in 0..<UInt32(400) {
            try clients.send(
                publisher, MediaHeader(kind: .audio, stream: stream, sequence: sequence, timestamp: 0), [UInt8](repeating: 5, count: 160))
            // One goes half-way, so that frames are queued for it when it does.
            if sequence == 200 { listeners[0].close() }
        }
        try clients.wait("all frames") { listeners[1...].allSatisfy { clients[$0].frames.count == 401 } && listeners[0].hasEnded }
        // Four full sets, and what the first one was sent, or not: at most one more.
        let text = try Self.metrics(relay, clients) { text in
            // Each loop puts its own numbers on the board, when its time comes.
            Self.metric("segue_frames_pending", text) == 0 && (Self.metric("segue_frames_total{end=\"delivered\"}", text) ?? 0) >= 4 * 401
                && (Self.metric("segue_frames_received_total", text) ?? 0) >= 401
        }
        #expect(Self.metric("segue_frames_unaccounted", text) == 0)
        #expect(Self.metric("segue_frames_received_total", text) == 401)
        let entered = try #require(Self.metric("segue_frames_entered_total", text))
        #expect((4 * 401...5 * 401).contains(entered))
        let ends = ["delivered", "expired", "superseded", "unsubscribed", "interrupted", "refused"].map { end in
            Self.metric("segue_frames_total{end=\"\(end)\"}", text) ?? 0
        }
        #expect(ends.reduce(0, +) == entered)
        #expect(Self.metric("segue_loop_frames_lost_total", text) == 0)
    }

    @Test("gauges of sessions and rooms go back to nothing")
    func gauges() throws {
        let relay = try Relay(loops: 2)
        let clients = try Clients(relay)
        let sessions = try (0..<6).map { try clients.join("room-\($0 % 2)", $0 < 3 ? Route(http: .http2) : Route()) }
        _ = try Self.metrics(relay, clients) { Self.metric("segue_sessions", $0) == 6 && Self.metric("segue_rooms", $0) == 2 }
        for session in sessions { session.close() }
        let text = try Self.metrics(relay, clients) { Self.metric("segue_sessions", $0) == 0 && Self.metric("segue_rooms", $0) == 0 }
        #expect(Self.metric("segue_participants", text) == 0)
        for session in sessions { #expect(clients[session].closeCode == 1000) }
    }

    @Test("healthz and readyz answer; readyz says so while draining")
    func health() throws {
        let relay = try Relay { $0.drainMilliseconds = 60_000 }
        let clients = try Clients(relay)
        // Keeps the relay from being done at once.
        _ = try clients.join("room")
        #expect(try HTTPGet.text("/healthz", from: relay.address).hasPrefix("HTTP/1.1 200 "))
        #expect(try HTTPGet.text("/readyz", from: relay.address).hasPrefix("HTTP/1.1 200 "))
        relay.server.drain()
        #expect(try HTTPGet.text("/readyz", from: relay.address).hasPrefix("HTTP/1.1 503 "))
    }
}
