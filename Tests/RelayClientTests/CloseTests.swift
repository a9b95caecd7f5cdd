import MediaProtocol
import RelayBase
import RelayClient
import RelayServer
import Signalling
import TLSTransport
import Testing
import WebSocketProtocol

@Suite("What closes a session, and with which code", .serialized)
struct CloseTests {
    /// What a client in a room with one audio stream does wrong.
    enum Misdeed: String, CaseIterable, Sendable {
        case mediaBeforeConfiguration
        case mediaOfAnotherKind
        case mediaOfUnknownStream
        case textNotJSON
        case textTooBig
        case audioFrameTooBig
        case frameTruncated
        case frameVersionUnknown
        case frameKindUnknown
        case reservedFlag
        case extensionTruncated

        var code: UInt16 {
            switch self {
            case .mediaBeforeConfiguration, .mediaOfAnotherKind, .mediaOfUnknownStream: 1008
            case .textNotJSON: 1007
            case .textTooBig, .audioFrameTooBig: 1009
            case .frameTruncated, .reservedFlag, .extensionTruncated: 1002
            case .frameVersionUnknown, .frameKindUnknown: 1003
            }
        }
    }

    private static func commit(_ misdeed: Misdeed, _ session: ClientSession, _ stream: UInt32, _ limits: Limits) {
        func frame(_ kind: MediaKind, _ stream: UInt32, _ adjust: (inout [UInt8]) -> Void = { _ in }) {
            var bytes = Clients.bytes(MediaHeader(kind: kind, stream: StreamID(stream), sequence: 0, timestamp: 0), [1, 2, 3])
            adjust(&bytes)
            unsafe session.sendBinary(bytes.span.bytes)
        }
        switch misdeed {
        case .mediaBeforeConfiguration: frame(.audio, stream)
        case .mediaOfAnotherKind:
            frame(.configuration, stream)
            frame(.video, stream)
        case .mediaOfUnknownStream: frame(.configuration, stream &+ 1_000)
        case .textNotJSON: session.sendText(Array("hello there".utf8))
        case .textTooBig: session.sendText([UInt8](repeating: UInt8(ascii: " "), count: limits.controlMessageBytesMax + 1))
        case .audioFrameTooBig: frame(.audio, stream) { $0 += [UInt8](repeating: 0, count: limits.audioFrameBytesMax) }
        case .frameTruncated: frame(.audio, stream) { $0.removeLast(4) }
        case .frameVersionUnknown: frame(.audio, stream) { $0[0] = 0x20 }
        case .frameKindUnknown: frame(.audio, stream) { $0[0] = 0x1F }
        case .reservedFlag: frame(.audio, stream) { $0[1] = 0x80 }
        case .extensionTruncated: frame(.audio, stream) { $0[1] = 0x20 }
        }
    }

    @Test("a violation closes the violator with its code, and nobody else", arguments: Misdeed.allCases, ClientHTTPVersion.allCases)
    func violations(_ misdeed: Misdeed, _ http: ClientHTTPVersion) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let bystander = try clients.join("room")
        let session = try clients.join("room", Route(http: http))
        let stream = try clients.publish(session, .audio, "opus")
        Self.commit(misdeed, session, stream, Limits())
        try clients.wait("the close") { session.hasEnded }
        #expect(clients[session].closeCode == misdeed.code, "\(String(describing: clients[session].end))")
        if case .closed(_, let reason) = clients[session].end { #expect(!reason.isEmpty) }
        // The bystander hears that the stream and its publisher are gone, and is served as before.
        try clients.wait("the news") { clients[bystander].news.contains(.streamEnded(stream: stream)) }
        #expect(try clients.answer(bystander, .time(.init(clientTime: 3))).clientTime == 3)
        #expect(clients[bystander].end == nil)
    }

    @Test("a session that does not say hello is closed with 1008")
    func noHello() throws {
        let relay = try Relay { $0.limits.helloMillisecondsMax = 100 }
        let clients = try Clients(relay)
        let session = try clients.open { $0.saysHello = false }
        try clients.wait("the close") { session.hasEnded }
        #expect(clients[session].closeCode == 1008)
    }

    @Test("more requests than controlMessagesPerSecondMax close with 1008")
    func requestFlood() throws {
        let relay = try Relay { $0.limits.controlMessagesPerSecondMax = 20 }
        let clients = try Clients(relay)
        let session = try clients.open()
        try clients.ready(session)
        for _ in 0..<2_000 { session.send(.time(.init(clientTime: 0))) }
        try clients.wait("the close") { session.hasEnded }
        #expect(clients[session].closeCode == 1008)
    }

    @Test("draining tells every session, then closes it with 1001", arguments: Route.bothHTTP)
    func drain(_ route: Route) throws {
        let relay = try Relay(loops: 2) { $0.drainMilliseconds = 300 }
        let clients = try Clients(relay)
        let session = try clients.join("room", route)
        relay.server.drain()
        try clients.wait("the end") { session.hasEnded }
        #expect(clients[session].news.contains { if case .goAway(150...300, _, _) = $0 { true } else { false } })
        #expect(clients[session].closeCode == 1001)
    }

    @Test("a client without a certificate is refused in the handshake")
    func noCertificate() throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        var credentials = TestState.shared.credentials()
        credentials.keyPair = nil
        var options = ClientOptions(address: relay.address, host: "localhost", http: .http1)
        options.tag = 0
        _ = try clients.open(credentials, options)
        try clients.wait("the refusal") { clients.records[0].end != nil }
        guard case .failed(.transport(.tls(.alertReceived(_)))) = clients.records[0].end else {
            Issue.record("ended by \(String(describing: clients.records[0].end))")
            return
        }
        #expect(!clients.records[0].isOpen)
    }

    @Test("a relay whose certificate names another host is refused by the client")
    func wrongName() throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        _ = try clients.open(TestState.shared.credentials(), ClientOptions(address: relay.address, host: "relay.example.org", http: .http1))
        try clients.wait("the refusal") { clients.records[0].end != nil }
        guard case .failed(.transport(.tls(.hostnameMismatch))) = clients.records[0].end else {
            Issue.record("ended by \(String(describing: clients.records[0].end))")
            return
        }
    }

    @Test("a path that is no session's is refused with its status", arguments: Route.bothHTTP)
    func wrongPath(_ route: Route) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open(route) { $0.path = "/nowhere" }
        try clients.wait("the refusal") { session.hasEnded }
        guard case .failed(.refused(let status, _)) = clients[session].end else {
            Issue.record("ended by \(String(describing: clients[session].end))")
            return
        }
        #expect(status == 404 || status == 501 || status == 400)
    }

    @Test("an address where nobody listens is a fault of connecting")
    func nobodyThere() throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        relay.stop()
        let session = try clients.open()
        try clients.wait("the fault") { session.hasEnded }
        guard case .failed(.connect) = clients[session].end else {
            Issue.record("ended by \(String(describing: clients[session].end))")
            return
        }
    }
}
