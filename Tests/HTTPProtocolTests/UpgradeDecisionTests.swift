import HTTPProtocol
import Testing

@Suite("WebSocket upgrade over HTTP/1.1, RFC 6455 §4.2.1")
struct UpgradeDecisionTests {
    static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    static let version = "Sec-WebSocket-Version: 13\r\n"
    static let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n"

    static func decide(_ lines: String, start: String = "GET /chat?room=a HTTP/1.1") throws -> UpgradeDecision {
        UpgradeDecision(try requestHead("\(start)\r\nHost: Relay.example:8443\r\n\(lines)\r\n"))
    }

    @Test("§4.2.1 the example of the RFC is accepted with all that it asks for")
    func example() throws {
        let lines =
            Self.upgrade + Self.key + Self.version
            + "Origin: http://example.com\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: superchat,x\r\n"
            + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits; server_max_window_bits=\"10\", foo\r\nSec-WebSocket-Extensions: bar;a=b\r\n"
        guard case .accept(let request) = try Self.decide(lines) else {
            Issue.record("refused")
            return
        }
        #expect(request.version == .http11)
        #expect(request.path == "/chat")
        #expect(request.query == "room=a")
        #expect(request.authority == "relay.example:8443")
        #expect(request.origin == "http://example.com")
        #expect(request.key == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(request.subprotocols == ["chat", "superchat", "x"])
        #expect(
            request.extensions == [
                WebSocketExtensionOffer(
                    name: "permessage-deflate",
                    parameters: [.init(name: "client_max_window_bits", value: nil), .init(name: "server_max_window_bits", value: "10")]),
                WebSocketExtensionOffer(name: "foo"), WebSocketExtensionOffer(name: "bar", parameters: [.init(name: "a", value: "b")]),
            ])
        #expect(
            request.extensionsValue == "permessage-deflate; client_max_window_bits; server_max_window_bits=\"10\", foo, bar;a=b")
    }

    @Test(
        "§4.2.1 names and options are compared without case, among others",
        arguments: [
            "Upgrade: WebSocket\r\nConnection: keep-alive, UPGRADE\r\n", "Upgrade: h2c, websocket\r\nConnection: upgrade\r\n",
            "Upgrade: websocket\r\nConnection: keep-alive\r\nConnection: Upgrade\r\nContent-Length: 0\r\n",
        ])
    func lenient(lines: String) throws {
        guard case .accept(let request) = try Self.decide(lines + Self.key + Self.version) else {
            Issue.record("refused")
            return
        }
        #expect(request.subprotocols.isEmpty)
        #expect(request.extensions.isEmpty)
        #expect(request.extensionsValue == nil)
        #expect(request.origin == nil)
    }

    @Test(
        "§4.2.1 each missing or broken piece has its own refusal",
        arguments: [
            ("Upgrade: websocket\r\n" + key + version, UpgradeRefusal.connectionTokenMissing),
            ("Upgrade: websocket\r\nConnection: close\r\n" + key + version, .connectionTokenMissing),
            (upgrade + key, .versionMissing), (upgrade + key + version + version, .versionMissing),
            (upgrade + key + "Sec-WebSocket-Version: 8\r\n", .versionNotSupported),
            (upgrade + key + "Sec-WebSocket-Version: 013\r\n", .versionNotSupported),
            (upgrade + key + "Sec-WebSocket-Version: 13, 8\r\n", .versionNotSupported), (upgrade + version, .invalidKey),
            (upgrade + version + key + key, .invalidKey), (upgrade + version + "Sec-WebSocket-Key:\r\n", .invalidKey),
            (upgrade + version + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n", .invalidKey),
            (upgrade + version + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA\r\n", .invalidKey),
            (upgrade + version + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ===\r\n", .invalidKey),
            (upgrade + version + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j-_==\r\n", .invalidKey),
            (upgrade + version + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==, x\r\n", .invalidKey),
            (upgrade + version + key + "Content-Length: 1\r\n", .contentNotAllowed),
            (upgrade + version + key + "Transfer-Encoding: chunked\r\n", .contentNotAllowed),
            (upgrade + version + key + "Origin: http://a\r\nOrigin: http://b\r\n", .multipleOrigins),
            (upgrade + version + key + "Sec-WebSocket-Protocol: a b\r\n", .invalidSubprotocols),
            (upgrade + version + key + "Sec-WebSocket-Protocol: a, b, a\r\n", .invalidSubprotocols),
            (upgrade + version + key + "Sec-WebSocket-Protocol:\r\n", .invalidSubprotocols),
            (upgrade + version + key + "Sec-WebSocket-Protocol: a/b\r\n", .invalidSubprotocols),
            (upgrade + version + key + "Sec-WebSocket-Extensions: a b\r\n", .invalidExtensions),
        ])
    func refusals(lines: String, refusal: UpgradeRefusal) throws {
        #expect(try Self.decide(lines) == .refuse(refusal))
    }

    @Test("§4.1 any other method is 405 with Allow", arguments: ["POST", "HEAD", "get", "OPTIONS"])
    func methods(method: String) throws {
        #expect(try Self.decide(Self.upgrade + Self.key + Self.version, start: "\(method) / HTTP/1.1") == .refuse(.methodNotAllowed))
        #expect(UpgradeRefusal.methodNotAllowed.status.code == 405)
        #expect(UpgradeRefusal.methodNotAllowed.responseFields(over: .http11) == [HTTPField("allow", "GET")])
    }

    @Test("§7.8 (RFC 9110) without Upgrade, for another protocol, and in HTTP/1.0 nothing was asked for")
    func notRequested() throws {
        #expect(try Self.decide("") == .notRequested)
        #expect(try Self.decide("Upgrade: h2c\r\nConnection: Upgrade\r\n") == .notRequested)
        #expect(try Self.decide("Upgrade: websockets\r\nConnection: Upgrade\r\n" + Self.key + Self.version) == .notRequested)
        #expect(try Self.decide(Self.upgrade + Self.key + Self.version, start: "GET / HTTP/1.0") == .notRequested)
    }

    @Test("§4.4 another version is 426 and is told 13; so is an endpoint that takes nothing but WebSocket")
    func upgradeRequired() {
        for refusal in [UpgradeRefusal.versionNotSupported, .upgradeRequired] {
            #expect(refusal.status.code == 426)
            let fields = HTTPFields(refusal.responseFields(over: .http11))
            #expect(fields.first("sec-websocket-version") == "13")
            #expect(fields.first("upgrade") == "websocket")
            #expect(fields.hasToken("upgrade", in: "connection"))
        }
    }

    @Test("every refusal has a status and a sentence", arguments: UpgradeRefusal.allCases)
    func texts(refusal: UpgradeRefusal) {
        #expect((400...501).contains(refusal.status.code))
        #expect(refusal.detail.hasSuffix("."))
        #expect(ProblemDocument(refusal).status == refusal.status)
    }

    @Test(
        "§9.1 extension lists: good",
        arguments: [
            ("", []), (" ", []), ("a", [WebSocketExtensionOffer(name: "a")]),
            ("a,,b,", [WebSocketExtensionOffer(name: "a"), WebSocketExtensionOffer(name: "b")]),
            ("a ; b = c", [WebSocketExtensionOffer(name: "a", parameters: [.init(name: "b", value: "c")])]),
            ("a;b=\"c\\d\"", [WebSocketExtensionOffer(name: "a", parameters: [.init(name: "b", value: "cd")])]),
            ("a;b;b=1", [WebSocketExtensionOffer(name: "a", parameters: [.init(name: "b", value: nil), .init(name: "b", value: "1")])]),
        ] as [(String, [WebSocketExtensionOffer])])
    func goodExtensions(text: String, offers: [WebSocketExtensionOffer]) {
        #expect(WebSocketExtensionOffer.list(text) == offers)
    }

    @Test(
        "§9.1 extension lists: malformed",
        arguments: [";", "a;", "a;;b", "a=b", "a b", "a;b=", "a;b=\"", "a;b=\"\"", "a;b=\"c,d\"", "a;b=\"c\\", "a;b=\"c\"d", "é"])
    func badExtensions(text: String) {
        #expect(WebSocketExtensionOffer.list(text) == nil)
    }
}
