import HTTPProtocol
import Testing

@Suite("Request heads, RFC 9112")
struct HTTPRequestHeadTests {
    @Test("§2.1 a request line and fields are read in order, names in lower case, values without white space at the ends")
    func fields() throws {
        let text = "GET /a/b?x=1&y=%20 HTTP/1.1\r\nHost: Relay.Example:8443\r\nX-Two:\t a b \t\r\nx-two:\r\nEmpty: \r\n\r\nrest"
        guard case .complete(let head, let headBytes) = parseRequest(text) else {
            Issue.record("not complete")
            return
        }
        #expect(headBytes == text.utf8.count - 4)
        #expect(head.method == .get)
        #expect(head.path == "/a/b")
        #expect(head.query == "x=1&y=%20")
        #expect(head.version == .http11)
        #expect(head.authority == "relay.example:8443")
        #expect(head.fields.lines.map(\.name) == ["host", "x-two", "x-two", "empty"])
        #expect(head.fields.all("x-two") == ["a b", ""])
        #expect(head.fields.first("empty") == "")
        #expect(head.framing == .none)
        #expect(head.keepAlive)
    }

    @Test(
        "§3.2 each form of request target is taken apart",
        arguments: [
            ("GET / HTTP/1.1", HTTPTarget(form: .origin, path: "/")),
            ("GET /? HTTP/1.1", HTTPTarget(form: .origin, path: "/", query: "")),
            ("GET /a?b?c HTTP/1.1", HTTPTarget(form: .origin, path: "/a", query: "b?c")),
            ("GET //a HTTP/1.1", HTTPTarget(form: .origin, path: "//a")),
            ("GET /%2e%2E HTTP/1.1", HTTPTarget(form: .origin, path: "/%2e%2E")),
            ("GET HTTPS://A.example:1/p?q HTTP/1.1", HTTPTarget(form: .absolute, scheme: "https", authority: "a.example:1", path: "/p", query: "q")),
            ("GET http://a HTTP/1.1", HTTPTarget(form: .absolute, scheme: "http", authority: "a", path: "/")),
            ("GET http://a?q HTTP/1.1", HTTPTarget(form: .absolute, scheme: "http", authority: "a", path: "/", query: "q")),
            ("GET http://[2001:db8::1]:80/ HTTP/1.1", HTTPTarget(form: .absolute, scheme: "http", authority: "[2001:db8::1]:80", path: "/")),
            ("OPTIONS * HTTP/1.1", HTTPTarget(form: .asterisk, path: "*")),
        ])
    func targets(line: String, target: HTTPTarget) throws {
        #expect(try requestHead("\(line)\r\nHost: h\r\n\r\n").target == target)
    }

    @Test("§3.2.2 the authority of an absolute target overrides Host")
    func absoluteOverridesHost() throws {
        #expect(try requestHead("GET https://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n").authority == "a.example")
    }

    @Test(
        "§3 a malformed request line is refused by its own fault",
        arguments: [
            ("GET / HTTP/1.1 ", HTTPFault.malformedRequestLine), ("GET  / HTTP/1.1", .malformedRequestLine),
            ("GET /  HTTP/1.1", .malformedRequestLine),
            ("GET /", .malformedRequestLine), ("GET", .malformedRequestLine), (" GET / HTTP/1.1", .invalidMethod),
            ("G\tET / HTTP/1.1", .invalidMethod),
            ("G(T / HTTP/1.1", .invalidMethod), ("GÉT / HTTP/1.1", .invalidMethod), ("GET\t/\tHTTP/1.1", .malformedRequestLine),
            ("GET / http/1.1", .malformedRequestLine), ("GET / HTTP/1", .malformedRequestLine), ("GET / HTTP/1.10", .malformedRequestLine),
            ("GET / HTTP/11", .malformedRequestLine), ("GET / HTTP/a.b", .malformedRequestLine), ("GET / HTTP/1.2", .unsupportedVersion),
            ("GET / HTTP/2.0", .unsupportedVersion), ("GET / HTTP/0.9", .unsupportedVersion), ("PRI * HTTP/2.0", .unsupportedVersion),
            ("GET a HTTP/1.1", .invalidTarget), ("GET * HTTP/1.1", .invalidTarget), ("OPTIONS ** HTTP/1.1", .invalidTarget),
            ("GET /a#b HTTP/1.1", .invalidTarget), ("GET /a%2 HTTP/1.1", .invalidTarget), ("GET /a%zz HTTP/1.1", .invalidTarget),
            ("GET /% HTTP/1.1", .invalidTarget), ("GET /a\u{00}b HTTP/1.1", .invalidTarget), ("GET /a\tb HTTP/1.1", .invalidTarget),
            ("GET /\u{7F} HTTP/1.1", .invalidTarget), ("GET /é HTTP/1.1", .invalidTarget), ("GET /a\\b HTTP/1.1", .invalidTarget),
            ("GET /<a> HTTP/1.1", .invalidTarget), ("GET /a\"b HTTP/1.1", .invalidTarget), ("GET /{a}|b HTTP/1.1", .invalidTarget),
            ("GET ftp://a/ HTTP/1.1", .invalidTarget), ("GET http:/a HTTP/1.1", .invalidTarget), ("GET http:///a HTTP/1.1", .invalidTarget),
            ("GET http://u:p@a/ HTTP/1.1", .invalidTarget), ("GET http://a:99999/ HTTP/1.1", .invalidTarget),
            ("GET http://a:b/ HTTP/1.1", .invalidTarget), ("GET http://[::1/ HTTP/1.1", .invalidTarget),
            ("GET http://a/\u{301} HTTP/1.1", .invalidTarget),
            ("GET ?a HTTP/1.1", .invalidTarget), ("CONNECT a:443 HTTP/1.1", .connectNotSupported), ("CONNECT / HTTP/1.1", .connectNotSupported),
        ])
    func malformedRequestLines(line: String, fault: HTTPFault) {
        #expect(parseRequest("\(line)\r\nHost: h\r\n\r\n") == .fault(fault))
    }

    @Test(
        "§5 a malformed field line is refused by its own fault",
        arguments: [
            ("A : b", HTTPFault.whitespaceBeforeColon), ("A\t: b", .whitespaceBeforeColon), (" A: b", .obsoleteFolding), ("\tA: b", .obsoleteFolding),
            ("A: b\r\n c", .obsoleteFolding), ("A: b\r\n\tc", .obsoleteFolding), (" ", .obsoleteFolding), ("A", .malformedFieldLine),
            (": b", .invalidFieldName), ("A(b): c", .invalidFieldName), ("Ä: c", .invalidFieldName), ("A\u{00}: c", .invalidFieldName),
            ("A\u{7F}: c", .invalidFieldName), ("A/b: c", .invalidFieldName), ("\"A\": c", .invalidFieldName), ("A: b\u{00}c", .invalidFieldValue),
            ("A: b\rc", .invalidFieldValue), ("A: \r", .invalidFieldValue), ("A: b\u{0B}", .invalidFieldValue), ("A: b\u{7F}c", .invalidFieldValue),
            ("A: \u{1B}[1m", .invalidFieldValue), ("A: b\nC: d", .bareLineFeed), ("A: b\n", .bareLineFeed), ("\n", .bareLineFeed),
        ])
    func malformedFieldLines(line: String, fault: HTTPFault) {
        #expect(parseRequest("GET / HTTP/1.1\r\nHost: h\r\n\(line)\r\n\r\n") == .fault(fault))
    }

    @Test("§5.5 (RFC 9110) bytes above 0x7F in a value are opaque and accepted, invalid UTF-8 too")
    func opaqueText() throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nA: é".utf8) + [0xFF, 0x80] + Array("\r\n\r\n".utf8)
        guard case .complete(let head, headBytes: bytes.count) = parseRequest(bytes) else {
            Issue.record("not complete")
            return
        }
        #expect(head.fields.first("a")?.hasPrefix("é") == true)
    }

    @Test("§2.2 one empty line before the request line is passed over and counted, a second is refused")
    func leadingEmptyLine() {
        let text = "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"
        guard case .complete(_, headBytes: text.utf8.count) = parseRequest(text) else {
            Issue.record("not complete")
            return
        }
        #expect(parseRequest("\r\n" + text) == .fault(.extraEmptyLine))
        #expect(parseRequest("\n" + text) == .fault(.bareLineFeed))
    }

    @Test(
        "§3.2 HTTP/1.1 has exactly one valid Host",
        arguments: [
            ("", HTTPFault.missingHost), ("Host: a\r\nHost: a\r\n", .multipleHosts), ("Host: a\r\nHOST: b\r\n", .multipleHosts),
            ("Host:\r\n", .invalidHost),
            ("Host: a b\r\n", .invalidHost), ("Host: a, b\r\n", .invalidHost), ("Host: a,b\r\n", .invalidHost), ("Host: u@a\r\n", .invalidHost),
            ("Host: a/b\r\n", .invalidHost), ("Host: a:\r\n", .invalidHost), ("Host: a:65536\r\n", .invalidHost), ("Host: a:-1\r\n", .invalidHost),
            ("Host: a:8x\r\n", .invalidHost), ("Host: :80\r\n", .invalidHost), ("Host: [::1\r\n", .invalidHost), ("Host: [::1]x\r\n", .invalidHost),
            ("Host: [1.2.3.4]\r\n", .invalidHost), ("Host: a%2Fb\r\n", .invalidHost), ("Host: a?b\r\n", .invalidHost),
            ("Host: a:080000\r\n", .invalidHost),
            ("Host: é.example\r\n", .invalidHost),
        ])
    func badHosts(lines: String, fault: HTTPFault) {
        #expect(parseRequest("GET / HTTP/1.1\r\n\(lines)\r\n") == .fault(fault))
    }

    @Test("§3.2 good hosts", arguments: ["a", "a.b-c_d~e", "localhost:0", "10.0.0.1:65535", "[::1]", "[2001:DB8::1]:443", "xn--bcher-kva.example"])
    func goodHosts(host: String) throws {
        #expect(try requestHead("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").fields.first("host") == host)
    }

    @Test("§3.2 HTTP/1.0 may go without Host, and not with two")
    func http10Host() throws {
        let head = try requestHead("GET / HTTP/1.0\r\n\r\n")
        #expect(head.version == .http10)
        #expect(head.authority == nil)
        #expect(parseRequest("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n") == .fault(.multipleHosts))
    }

    @Test(
        "§9.3 persistence follows the version and the Connection options",
        arguments: [
            ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false), ("HTTP/1.1", "Connection: Upgrade, CLOSE\r\n", false),
            ("HTTP/1.1", "Connection: x\r\nConnection: close\r\n", false), ("HTTP/1.1", "Connection: closed\r\n", true), ("HTTP/1.0", "", false),
            ("HTTP/1.0", "Connection: Keep-Alive\r\n", true), ("HTTP/1.0", "Connection: keep-alive, close\r\n", false),
        ])
    func persistence(version: String, lines: String, keepAlive: Bool) throws {
        #expect(try requestHead("GET / \(version)\r\nHost: h\r\n\(lines)\r\n").keepAlive == keepAlive)
    }

    @Test("§10.1.1 (RFC 9110) Expect: 100-continue counts in HTTP/1.1 alone")
    func expectContinue() throws {
        #expect(try requestHead("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n").expectsContinue)
        #expect(try !requestHead("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n").expectsContinue)
    }

    @Test("§5.6.1 (RFC 9110) list elements are gathered over lines, empty ones dropped, tokens compared without case")
    func lists() throws {
        let head = try requestHead("GET / HTTP/1.1\r\nHost: h\r\nA: x,, Y ,\r\nA: z\u{301}\r\nA: ,\r\n\r\n")
        #expect(head.fields.listElements("a") == ["x", "Y", "z\u{301}"])
        #expect(head.fields.hasToken("y", in: "a"))
        #expect(!head.fields.hasToken("z", in: "a"))
        #expect(!head.fields.hasToken("x", in: "b"))
        #expect(head.fields.single("a") == nil)
        #expect(head.fields.single("host") == "h")
    }
}

@Suite("Request heads: bounds, pipelining, re-chunking")
struct HTTPRequestHeadStreamTests {
    static func head(bytes: Int) -> [UInt8] {
        let start = "GET / HTTP/1.1\r\nHost: h\r\nA: "
        return Array((start + String(repeating: "a", count: bytes - start.utf8.count - 4) + "\r\n\r\n").utf8)
    }

    @Test("a head of 16 KiB passes, one byte more is 431, and so is one that never ends")
    func headBytesMax() {
        let most = Self.head(bytes: 16 << 10)
        guard case .complete(_, headBytes: 16_384) = parseRequest(most) else {
            Issue.record("not complete")
            return
        }
        #expect(parseRequest(Self.head(bytes: 16_385)) == .fault(.headTooLarge))
        #expect(parseRequest(Array(repeating: UInt8(ascii: "A"), count: 16_383)) == .incomplete)
        #expect(parseRequest(Array(repeating: UInt8(ascii: "A"), count: 16_384)) == .fault(.headTooLarge))
        #expect(HTTPFault.headTooLarge.status == .requestHeaderFieldsTooLarge)
    }

    @Test("100 fields pass, the 101st is 431")
    func fieldsMax() {
        let line = "A: b\r\n"
        let start = "GET / HTTP/1.1\r\nHost: h\r\n"
        guard case .complete(let head, _) = parseRequest(start + String(repeating: line, count: 99) + "\r\n") else {
            Issue.record("not complete")
            return
        }
        #expect(head.fields.count == 100)
        #expect(parseRequest(start + String(repeating: line, count: 100)) == .fault(.tooManyFields))
        #expect(HTTPFault.tooManyFields.status.code == 431)
    }

    @Test("pipelined requests come out one by one, each with its own length")
    func pipelining() throws {
        var rest = Array("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3".utf8)
        var parser = HTTPRequestHeadParser()
        var paths: [String] = []
        while case .complete(let head, let headBytes) = try withSpan(rest, { (span) throws(HTTPFault) in try parser.parse(span) }) {
            paths.append(head.path)
            rest.removeFirst(headBytes)
        }
        #expect(paths == ["/1", "/2"])
        #expect(rest == Array("GET /3".utf8))
        #expect(parser.isInsideHead)
        #expect(!HTTPRequestHeadParser().isInsideHead)
    }

    @Test("after a fault the parser repeats the fault, whatever comes")
    func faultIsKept() {
        var parser = HTTPRequestHeadParser()
        let bad = Array("GET / HTTP/3.0\r\n".utf8)
        let good = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
        #expect(throws: HTTPFault.unsupportedVersion) { try withSpan(bad) { (span) throws(HTTPFault) in try parser.parse(span) } }
        #expect(throws: HTTPFault.unsupportedVersion) { try withSpan(good) { (span) throws(HTTPFault) in try parser.parse(span) } }
    }

    @Test("every fault has a status of 4xx or 5xx and a sentence", arguments: HTTPFault.allCases)
    func faultTexts(fault: HTTPFault) {
        #expect((400...599).contains(fault.status.code))
        #expect(!fault.status.reason.isEmpty)
        #expect(fault.detail.hasSuffix("."))
    }
}
