import HTTPProtocol
import Testing

@Suite("Responses, RFC 9112 §4, and problem documents, RFC 9457")
struct HTTPResponseTests {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    static func serialized(_ head: HTTPResponseHead, date: String? = date) throws -> String {
        String(decoding: try head.serialized(date: date), as: UTF8.self)
    }

    @Test("§4 a response is written with status line, date and fields in order")
    func serializes() throws {
        let head = HTTPResponseHead(status: .notFound, fields: [HTTPField("Content-Length", "0"), HTTPField("X", "")])
        #expect(try Self.serialized(head) == "HTTP/1.1 404 Not Found\r\ndate: \(Self.date)\r\ncontent-length: 0\r\nx: \r\n\r\n")
        #expect(try Self.serialized(head, date: nil) == "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx: \r\n\r\n")
        let dated = HTTPResponseHead(status: .ok, fields: [HTTPField("Date", "x")])
        #expect(try Self.serialized(dated) == "HTTP/1.1 200 OK\r\ndate: x\r\n\r\n")
    }

    @Test(
        "§5.5 (RFC 9110) a value that would break out of its line is not written",
        arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\u{00}b", "\u{7F}", "\u{1B}"])
    func responseSplitting(value: String) {
        #expect(throws: HTTPSerializationFault.invalidFieldValue) {
            try HTTPResponseHead(status: .ok, fields: [HTTPField("location", value)]).serialized(date: nil)
        }
        #expect(throws: HTTPSerializationFault.invalidFieldValue) { try HTTPResponseHead(status: .ok).serialized(date: value) }
    }

    @Test("a field name that is no token is not written", arguments: ["", "a b", "a:", "a\r\n", "é"])
    func badNames(name: String) {
        #expect(throws: HTTPSerializationFault.invalidFieldName) {
            try HTTPResponseHead(status: .ok, fields: [HTTPField(name, "x")]).serialized(date: nil)
        }
    }

    @Test("what was written is read back", arguments: [200, 101, 204, 301, 404, 416, 426, 431, 503, 299])
    func roundTrip(code: Int) throws {
        let status = try #require(HTTPStatus(code: code))
        let head = HTTPResponseHead(status: status, fields: [HTTPField("a", "b c"), HTTPField("a", ""), HTTPField("etag", "\"é\"")])
        let text = try Self.serialized(head, date: nil)
        #expect(parseResponse(text + "body") == .complete(head, headBytes: text.utf8.count))
    }

    @Test(
        "§4 a malformed status line is refused",
        arguments: [
            ("HTTP/1.1 200", HTTPFault.malformedStatusLine), ("HTTP/1.1 20 OK", .malformedStatusLine), ("HTTP/1.1 2000 OK", .malformedStatusLine),
            ("HTTP/1.1  200 OK", .malformedStatusLine), ("HTTP/1.1 099 X", .malformedStatusLine), ("HTTP/1.1 600 X", .malformedStatusLine),
            ("HTTP/1.1 +20 X", .malformedStatusLine), ("http/1.1 200 OK", .malformedStatusLine), ("HTTP/2.0 200 OK", .unsupportedVersion),
            ("HTTP/1.1 200 O\u{00}K", .malformedStatusLine), ("HTTP/1.1 200 O\rK", .malformedStatusLine), ("", .malformedStatusLine),
            ("SSH-2.0-OpenSSH_9", .malformedStatusLine), ("HTTP/1.1 200 OK\r\n a: b", .obsoleteFolding), ("HTTP/1.1 200 OK\nA: b", .bareLineFeed),
        ])
    func malformedStatusLines(line: String, fault: HTTPFault) {
        #expect(parseResponse("\(line)\r\n\r\n") == .fault(fault))
    }

    @Test("§4 an empty reason and one with any visible bytes pass")
    func reasons() {
        let head = HTTPResponseHead(status: .ok)
        #expect(parseResponse("HTTP/1.1 200 \r\n\r\n") == .complete(head, headBytes: 17))
        #expect(parseResponse("HTTP/1.1 200 Très bien\tdone\r\n\r\n") == .complete(head, headBytes: 32))
        #expect(parseResponse("HTTP/1.0 200 OK\r\n\r\n") == .complete(HTTPResponseHead(status: .ok, version: .http10), headBytes: 19))
        #expect(parseResponse("HTTP/1.1 200 OK\r\nA: b\r\n") == .incomplete)
        #expect(parseResponse("HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 101)) == .fault(.tooManyFields))
        #expect(parseResponse("HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 16 << 10)) == .fault(.headTooLarge))
    }

    @Test(
        "§6.3 the body of a response depends on method, status and fields",
        arguments: [
            (200, "GET", HTTPFields([HTTPField("content-length", "5")]), HTTPFraming.contentLength(5)),
            (200, "HEAD", [HTTPField("content-length", "5")], .none), (304, "GET", [HTTPField("content-length", "5")], .none),
            (204, "GET", [], .none),
            (101, "GET", [], .none), (200, "GET", [], .untilClose), (200, "CONNECT", [], .none), (404, "CONNECT", [], .untilClose),
            (200, "GET", [HTTPField("transfer-encoding", "chunked")], .chunked),
        ] as [(Int, String, HTTPFields, HTTPFraming)])
    func framing(code: Int, method: String, fields: HTTPFields, framing: HTTPFraming) throws {
        let head = HTTPResponseHead(status: try #require(HTTPStatus(code: code)), fields: fields)
        #expect(try head.framing(requestMethod: HTTPMethod(method)) == framing)
    }

    @Test("§6.3 a response with contradictory framing is a fault")
    func contradictoryFraming() {
        let head = HTTPResponseHead(status: .ok, fields: [HTTPField("content-length", "5"), HTTPField("transfer-encoding", "chunked")])
        #expect(throws: HTTPFault.contentLengthWithTransferEncoding) { try head.framing(requestMethod: .get) }
    }

    @Test("§4.1 (RFC 6455) a written upgrade request is read back as one, and a target that breaks its line is not written")
    func upgradeRequest() throws {
        let request = HTTPRequestHead.webSocketUpgrade(
            authority: "h:1", path: "/ws", query: "room=a", key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["segue.v1", "b"],
            extensions: "permessage-deflate", extra: [HTTPField("origin", "https://a.example")])
        let read = try requestHead(String(decoding: try request.serialized(), as: UTF8.self))
        #expect(read == request)
        guard case .accept(let webSocket) = UpgradeDecision(read) else {
            Issue.record("refused")
            return
        }
        #expect(webSocket.subprotocols == ["segue.v1", "b"])
        for path in ["/a\r\nb", "/a b", "a", "", "/é"] {
            let target = HTTPTarget(form: .origin, path: path)
            #expect(throws: HTTPSerializationFault.invalidStartLine) {
                try HTTPRequestHead(method: .get, target: target, version: .http11, fields: []).serialized()
            }
        }
    }

    @Test("§4.2.2 (RFC 6455) the 101 names what was agreed on")
    func switchingProtocols() throws {
        let head = HTTPResponseHead.webSocketAccepted(accept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", subprotocol: "segue.v1", extensions: nil)
        #expect(
            try Self.serialized(head, date: nil)
                == "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nsec-websocket-protocol: segue.v1\r\n\r\n")
    }

    @Test("§3 (RFC 9457) a problem document has its members in order, with JSON escapes")
    func problemDocument() {
        let plain = ProblemDocument(status: .notFound)
        #expect(String(decoding: plain.json(), as: UTF8.self) == #"{"type":"about:blank","status":404,"title":"Not Found"}"#)
        let full = ProblemDocument(
            type: "/problems/room-full", title: "Room \"x\\y\"", status: .conflict, detail: "a\n\r\t\u{00}\u{1F}é🎵", instance: "/rooms/1")
        #expect(
            String(decoding: full.json(), as: UTF8.self)
                == #"{"type":"/problems/room-full","status":409,"title":"Room \"x\\y\"","detail":"a\n\r\t\u0000\u001fé🎵","instance":"/rooms/1"}"#)
    }

    @Test("§3 (RFC 9457) the response carries the media type, the length and extra fields")
    func problemResponse() {
        let (head, body) = ProblemDocument(HTTPFault.tooManyFields).response(extra: [HTTPField("connection", "close")])
        #expect(head.status.code == 431)
        #expect(head.fields.first("content-type") == "application/problem+json")
        #expect(head.fields.first("content-length") == String(body.count))
        #expect(head.fields.first("connection") == "close")
    }
}
