import HTTPProtocol
import RelayBase
import Testing

@Suite("HTTP/2 request heads, RFC 9113 §8 and RFC 8441")
struct HTTP2RequestHeadTests {
    static func build(_ lines: [(String, String)], headBytesMax: Int = 16 << 10, fieldsMax: Int = 100) throws(HTTP2HeadFault) -> HTTPRequestHead {
        var builder = HTTP2RequestHeadBuilder(headBytesMax: headBytesMax, fieldsMax: fieldsMax)
        for (name, value) in lines {
            let nameBytes = Array(name.utf8)
            let valueBytes = Array(value.utf8)
            try withSpan(nameBytes) { (name) throws(HTTP2HeadFault) in
                let value = valueBytes.span
                unsafe try builder.append(name: name, value: value.bytes)
            }
        }
        return try builder.finish()
    }

    static let get: [(String, String)] = [(":method", "GET"), (":scheme", "https"), (":authority", "Relay.example"), (":path", "/a?b")]
    static let connect: [(String, String)] = [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":authority", "relay.example"), (":path", "/ws?x"),
        ("sec-websocket-version", "13"),
    ]

    @Test("§8.3.1 a plain request becomes a head like one of HTTP/1.1")
    func plain() throws {
        let head = try Self.build(Self.get + [("accept", "*/*"), ("te", "trailers"), ("x", "")])
        #expect(head.method == .get)
        #expect(head.version == .http2)
        #expect(head.target == HTTPTarget(form: .origin, scheme: "https", authority: "relay.example", path: "/a", query: "b"))
        #expect(head.authority == "relay.example")
        #expect(head.fields.lines.map(\.name) == ["accept", "te", "x"])
        #expect(head.extendedProtocol == nil)
        #expect(head.keepAlive)
        #expect(head.framing == .untilClose)
        #expect(try Self.build(Self.get + [("content-length", "7")]).framing == .contentLength(7))
    }

    @Test("§8.3.1 Host alone will do for the authority; the same in both will too; OPTIONS may ask for *")
    func host() throws {
        let withoutAuthority = Self.get.filter { $0.0 != ":authority" }
        #expect(try Self.build(withoutAuthority + [("host", "b.example")]).authority == "b.example")
        #expect(try Self.build(Self.get + [("host", "relay.EXAMPLE")]).authority == "relay.example")
        #expect(throws: HTTP2HeadFault.missingPseudoField) { try Self.build(withoutAuthority) }
        #expect(throws: HTTP2HeadFault.hostDiffersFromAuthority) { try Self.build(Self.get + [("host", "b.example")]) }
        #expect(throws: HTTP2HeadFault.hostDiffersFromAuthority) { try Self.build(withoutAuthority + [("host", "b"), ("host", "b")]) }
        let options = [(":method", "OPTIONS"), (":scheme", "https"), (":authority", "a"), (":path", "*")]
        #expect(try Self.build(options).target.form == .asterisk)
    }

    @Test("§8.5 plain CONNECT has an authority and nothing else")
    func plainConnect() throws {
        let lines = [(":method", "CONNECT"), (":authority", "a:443")]
        #expect(try Self.build(lines).target == HTTPTarget(form: .authority, authority: "a:443", path: ""))
        #expect(ExtendedConnectDecision(try Self.build(lines)) == .notRequested)
        #expect(throws: HTTP2HeadFault.forbiddenPseudoField) { try Self.build(lines + [(":scheme", "https")]) }
        #expect(throws: HTTP2HeadFault.forbiddenPseudoField) { try Self.build(lines + [(":path", "/")]) }
        #expect(throws: HTTP2HeadFault.missingPseudoField) { try Self.build([(":method", "CONNECT")]) }
        #expect(throws: HTTP2HeadFault.invalidAuthority) { try Self.build([(":method", "CONNECT"), (":authority", "a")]) }
    }

    static let malformed: [([(String, String)], HTTP2HeadFault)] = [
        ([], .missingPseudoField), (Array(get.dropFirst()), .missingPseudoField), (get.filter { $0.0 != ":scheme" }, .missingPseudoField),
        (get.filter { $0.0 != ":path" }, .missingPseudoField), (get + [(":path", "/")], .duplicatePseudoField),
        (get + [(":status", "200")], .unknownPseudoField),
        (get + [(":", "x")], .unknownPseudoField), (get + [(":Path", "x")], .unknownPseudoField), ([("a", "b")] + get, .pseudoFieldAfterRegular),
        (get + [("Accept", "x")], .invalidFieldName), (get + [("", "x")], .invalidFieldName), (get + [("a b", "x")], .invalidFieldName),
        (get + [("a:", "x")], .invalidFieldName), (get + [("a", " x")], .invalidFieldValue), (get + [("a", "x\t")], .invalidFieldValue),
        (get + [("a", "x\r\ny: z")], .invalidFieldValue), (get + [("a", "\u{00}")], .invalidFieldValue),
        (get + [("connection", "close")], .connectionSpecificField),
        (get + [("upgrade", "websocket")], .connectionSpecificField), (get + [("keep-alive", "1")], .connectionSpecificField),
        (get + [("proxy-connection", "x")], .connectionSpecificField), (get + [("transfer-encoding", "chunked")], .connectionSpecificField),
        (get + [("te", "gzip")], .connectionSpecificField), (get + [("content-length", "x")], .invalidContentLength),
        (get + [("content-length", "1"), ("content-length", "2")], .invalidContentLength),
        (get + [(":protocol", "websocket")], .forbiddenPseudoField),
        ([(":method", "G T"), (":scheme", "https"), (":authority", "a"), (":path", "/")], .invalidMethod),
        ([(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "")], .invalidTarget),
        ([(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "a")], .invalidTarget),
        ([(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "*")], .invalidTarget),
        ([(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/ HTTP/1.1")], .invalidTarget),
        ([(":method", "GET"), (":scheme", "ftp"), (":authority", "a"), (":path", "/")], .invalidTarget),
        ([(":method", "GET"), (":scheme", "https"), (":authority", "u@a"), (":path", "/")], .invalidAuthority),
        ([(":method", "GET"), (":scheme", "https"), (":authority", ""), (":path", "/")], .invalidAuthority),
        (connect.filter { $0.0 != ":scheme" }, .missingPseudoField), (connect.filter { $0.0 != ":path" }, .missingPseudoField),
        (connect.filter { $0.0 != ":authority" }, .missingPseudoField),
    ]

    @Test("§8.1.1 malformed requests are refused by their own fault and reset the stream", arguments: 0..<malformed.count)
    func malformedRequests(index: Int) {
        let (lines, fault) = Self.malformed[index]
        #expect(throws: fault) { try Self.build(lines) }
        #expect(fault.resolution == .resetStream)
    }

    @Test("§6.5.2 the list is bounded in bytes (with 32 a line) and in lines: 431")
    func bounds() throws {
        let size = Self.get.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
        #expect(try Self.build(Self.get, headBytesMax: size).method == .get)
        #expect(throws: HTTP2HeadFault.headTooLarge) { try Self.build(Self.get, headBytesMax: size - 1) }
        #expect(throws: HTTP2HeadFault.headTooLarge) { try Self.build(Self.get + [("a", String(repeating: "b", count: 16 << 10))]) }
        #expect(throws: HTTP2HeadFault.tooManyFields) { try Self.build(Self.get + [("a", ""), ("b", "")], fieldsMax: 1) }
        #expect(HTTP2HeadFault.headTooLarge.resolution == .respond(.requestHeaderFieldsTooLarge))
        #expect(HTTP2HeadFault.tooManyFields.resolution == .respond(.requestHeaderFieldsTooLarge))
    }

    @Test("§5 (RFC 8441) an extended CONNECT for websocket is taken with all that it asks for")
    func extendedConnect() throws {
        let lines =
            Self.connect + [
                ("origin", "https://a.example"), ("sec-websocket-protocol", "segue.v1, b"), ("sec-websocket-extensions", "permessage-deflate"),
            ]
        guard case .accept(let request) = ExtendedConnectDecision(try Self.build(lines)) else {
            Issue.record("refused")
            return
        }
        #expect(request.version == .http2)
        #expect(request.path == "/ws")
        #expect(request.query == "x")
        #expect(request.authority == "relay.example")
        #expect(request.origin == "https://a.example")
        #expect(request.subprotocols == ["segue.v1", "b"])
        #expect(request.extensions == [WebSocketExtensionOffer(name: "permessage-deflate")])
        #expect(request.key == nil)
    }

    static let refusals: [([(String, String)], UpgradeRefusal)] = [
        (replacing(":protocol", "connect-udp"), .protocolNotImplemented), (replacing(":scheme", "http"), .schemeNotPermitted),
        (replacing("sec-websocket-version", "8"), .versionNotSupported), (connect.filter { $0.0 != "sec-websocket-version" }, .versionMissing),
        (connect + [("content-length", "1")], .contentNotAllowed), (connect + [("origin", "https://a"), ("origin", "https://b")], .multipleOrigins),
        (connect + [("sec-websocket-protocol", "a,a")], .invalidSubprotocols), (connect + [("sec-websocket-extensions", "a;")], .invalidExtensions),
    ]

    static func replacing(_ name: String, _ value: String) -> [(String, String)] {
        connect.map { $0.0 == name ? (name, value) : $0 }
    }

    @Test("§4 (RFC 8441) what is well formed and cannot be served gets a response", arguments: 0..<refusals.count)
    func refusedConnects(index: Int) throws {
        let (lines, refusal) = Self.refusals[index]
        #expect(ExtendedConnectDecision(try Self.build(lines)) == .refuse(refusal))
    }

    @Test("§4 (RFC 8441) another protocol is 501; scheme http will do where it is permitted; a GET is no extended CONNECT")
    func otherOutcomes() throws {
        #expect(UpgradeRefusal.protocolNotImplemented.status.code == 501)
        #expect(UpgradeRefusal.versionNotSupported.responseFields(over: .http2) == [HTTPField("sec-websocket-version", "13")])
        guard case .accept = ExtendedConnectDecision(try Self.build(Self.replacing(":scheme", "http")), permitsPlainScheme: true) else {
            Issue.record("refused")
            return
        }
        #expect(ExtendedConnectDecision(try Self.build(Self.get)) == .notRequested)
        let target = HTTPTarget(form: .origin, path: "/")
        let noScheme = HTTPRequestHead(
            method: .connect, target: target, version: .http2, fields: [], framing: .untilClose, extendedProtocol: "websocket")
        #expect(ExtendedConnectDecision(noScheme) == .resetStream(.missingPseudoField))
        let get = HTTPRequestHead(method: .get, target: target, version: .http2, fields: [], framing: .untilClose, extendedProtocol: "websocket")
        #expect(ExtendedConnectDecision(get) == .resetStream(.forbiddenPseudoField))
    }
}
