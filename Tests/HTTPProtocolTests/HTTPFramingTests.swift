import HTTPProtocol
import RelayBase
import Testing

@Suite("Message framing and request smuggling, RFC 9112 §6, §7, §11.2")
struct HTTPFramingTests {
    static func framing(_ lines: String, version: String = "HTTP/1.1") -> Result<HTTPFraming, HTTPFault> {
        switch parseRequest("POST / \(version)\r\nHost: h\r\n\(lines)\r\n") {
        case .complete(let head, _): .success(head.framing)
        case .fault(let fault): .failure(fault)
        case .incomplete: .failure(.headTooLarge)
        }
    }

    @Test(
        "§6.3 framing that can be read in one way only is taken",
        arguments: [
            ("", HTTPFraming.none), ("Content-Length: 0\r\n", .none), ("Content-Length: 5\r\n", .contentLength(5)),
            ("Content-Length:5\r\nContent-Length: 5 \r\n", .contentLength(5)), ("Content-Length: 0005\r\n", .contentLength(5)),
            ("Content-Length: 9223372036854775807\r\n", .contentLength(.max)), ("Transfer-Encoding: chunked\r\n", .chunked),
            ("Transfer-Encoding: CHUNKED\r\n", .chunked), ("Transfer-Encoding: , chunked,\r\n", .chunked),
        ])
    func goodFraming(lines: String, framing: HTTPFraming) {
        #expect(Self.framing(lines) == .success(framing))
    }

    @Test(
        "§11.2 smuggling vectors are refused",
        arguments: [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", HTTPFault.contentLengthWithTransferEncoding),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", .contentLengthWithTransferEncoding),
            ("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", .contentLengthWithTransferEncoding),
            ("Content-Length: 5\r\nContent-Length: 6\r\n", .conflictingContentLength),
            ("Content-Length: 5\r\nContent-Length: 05\r\n", .conflictingContentLength),
            ("Content-Length: 5\r\nContent-Length: x\r\n", .invalidContentLength),
            ("Content-Length: 5, 5\r\n", .invalidContentLength), ("Content-Length: 5,6\r\n", .invalidContentLength),
            ("Content-Length:\r\n", .invalidContentLength), ("Content-Length: +5\r\n", .invalidContentLength),
            ("Content-Length: -5\r\n", .invalidContentLength), ("Content-Length: -0\r\n", .invalidContentLength),
            ("Content-Length: 0x5\r\n", .invalidContentLength), ("Content-Length: 5a\r\n", .invalidContentLength),
            ("Content-Length: 5 5\r\n", .invalidContentLength), ("Content-Length: 1e1\r\n", .invalidContentLength),
            ("Content-Length: 5_0\r\n", .invalidContentLength), ("Content-Length: ５\r\n", .invalidContentLength),
            ("Content-Length: 9223372036854775808\r\n", .invalidContentLength),
            ("Content-Length: 99999999999999999999999999\r\n", .invalidContentLength),
            ("Content-Length : 5\r\n", .whitespaceBeforeColon), ("Transfer-Encoding : chunked\r\n", .whitespaceBeforeColon),
            ("X: y\r\n Transfer-Encoding: chunked\r\n", .obsoleteFolding), ("Transfer-Encoding:\r\n chunked\r\n", .obsoleteFolding),
            ("Transfer-Encoding: \u{0B}chunked\r\n", .invalidFieldValue), ("X: y\rTransfer-Encoding: chunked\r\n", .invalidFieldValue),
            ("X: y\nTransfer-Encoding: chunked\r\n", .bareLineFeed), ("Transfer\u{00}-Encoding: chunked\r\n", .invalidFieldName),
            ("Transfer-Encoding: xchunked\r\n", .unsupportedTransferCoding), ("Transfer-Encoding: chunked;q=1\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: \"chunked\"\r\n", .unsupportedTransferCoding), ("Transfer-Encoding: 'chunked'\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: identity\r\n", .unsupportedTransferCoding), ("Transfer-Encoding: gzip\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: gzip, chunked\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: chunked\u{301}\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", .unsupportedTransferCoding),
            ("Transfer-Encoding: chunked, gzip\r\n", .invalidTransferEncoding), ("Transfer-Encoding: chunked, chunked\r\n", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", .invalidTransferEncoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", .invalidTransferEncoding),
            ("Transfer-Encoding:\r\n", .invalidTransferEncoding), ("Transfer-Encoding: ,\r\n", .invalidTransferEncoding),
        ])
    func smuggling(lines: String, fault: HTTPFault) {
        #expect(Self.framing(lines) == .failure(fault))
    }

    @Test("§6.1 Transfer-Encoding in HTTP/1.0 is refused; an unknown coding answers 501, a contradiction 400")
    func statuses() {
        #expect(Self.framing("Transfer-Encoding: chunked\r\n", version: "HTTP/1.0") == .failure(.transferEncodingInHTTP10))
        #expect(HTTPFault.unsupportedTransferCoding.status.code == 501)
        #expect(HTTPFault.contentLengthWithTransferEncoding.status.code == 400)
        #expect(HTTPFault.unsupportedVersion.status.code == 505)
    }

    static func read(_ text: String, _ framing: HTTPFraming = .chunked, max: Int = 5_000) -> HTTPRechunkingTests.Body {
        HTTPRechunkingTests.readBody([Array(text.utf8)], framing: framing, bodyBytesMax: max)
    }

    @Test(
        "§7.1 chunks are taken apart and what follows is left",
        arguments: [
            ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("5\r\nhello\r\n1;x\r\n!\r\n0\r\n\r\n", "hello!"),
            ("A;name=\"a b\"\r\n0123456789\r\n000\r\n\r\n", "0123456789"), ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
            ("1\r\na\r\n0\r\nTrailer: x\r\nOther:y\r\n\r\n", "a"), ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
        ])
    func chunks(text: String, content: String) {
        let body = Self.read(text + "GET")
        #expect(String(decoding: body.content, as: UTF8.self) == content)
        #expect(body.isComplete)
        #expect(body.consumed == text.utf8.count)
    }

    @Test(
        "§7.1 malformed chunks are refused",
        arguments: [
            ("\r\n", HTTPFault.malformedChunk), ("x\r\n", .malformedChunk), ("-1\r\n", .malformedChunk), ("+1\r\n", .malformedChunk),
            (" 1\r\n", .malformedChunk),
            ("1 \r\n", .malformedChunk), ("0x1\r\n", .malformedChunk), ("1\n", .malformedChunk), ("1\r\r\n", .malformedChunk),
            (";a\r\n", .malformedChunk),
            ("1;a\nb\r\n", .malformedChunk), ("1;\u{00}\r\n", .malformedChunk), ("1\r\nab\r\n", .malformedChunk), ("1\r\na\n", .malformedChunk),
            ("1\r\na\rb", .malformedChunk), ("00000000000000001\r\n", .malformedChunk), ("8000000000000000\r\n", .contentTooLarge),
            ("FFFFFFFFFFFFFFFF\r\n", .contentTooLarge), ("7FFFFFFFFFFFFFFF\r\n", .contentTooLarge), ("1389\r\n", .contentTooLarge),
            ("0\r\n\n", .bareLineFeed), ("0\r\nA\r\n\r\n", .malformedFieldLine), ("0\r\nA : b\r\n\r\n", .whitespaceBeforeColon),
            ("0\r\n\rx", .malformedChunk),
        ])
    func malformedChunks(text: String, fault: HTTPFault) {
        #expect(Self.read(text).fault == fault)
    }

    @Test("§7.1.1 extensions and trailers are bounded over the whole body")
    func framingBounds() {
        let most = String(repeating: "a", count: HTTPBodyReader.framingBytesMax)
        #expect(Self.read("1;\(most)\r\na\r\n0\r\n\r\n").isComplete)
        #expect(Self.read("1;\(most)a\r\na\r\n0\r\n\r\n").fault == .malformedChunk)
        #expect(Self.read("1;\(most)\r\na\r\n0;b\r\n\r\n").fault == .malformedChunk)
        #expect(Self.read("0\r\nA:\(most)\r\n\r\n").fault == .trailersTooLarge)
    }

    @Test("content beyond the bound is 413: declared, in chunks, and until close")
    func contentBounds() {
        #expect(throws: HTTPFault.contentTooLarge) { try HTTPBodyReader(framing: .contentLength(11), bodyBytesMax: 10) }
        #expect(Self.read("0123456789", .contentLength(10), max: 10).isComplete)
        #expect(Self.read("5\r\n01234\r\n6\r\n567890\r\n0\r\n\r\n", max: 10).fault == .contentTooLarge)
        #expect(Self.read("5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", max: 10).isComplete)
        #expect(Self.read("0123456789", .untilClose, max: 10).consumed == 10)
        #expect(Self.read("0123456789a", .untilClose, max: 10).fault == .contentTooLarge)
    }

    @Test("§8 a connection that ends inside a counted or chunked body cut it off, one without length may end")
    func cutOff() throws {
        #expect(try HTTPBodyReader(framing: .none, bodyBytesMax: 0).mayEndHere)
        #expect(try HTTPBodyReader(framing: .untilClose, bodyBytesMax: 0).mayEndHere)
        #expect(try !HTTPBodyReader(framing: .contentLength(1), bodyBytesMax: 1).mayEndHere)
        #expect(try !HTTPBodyReader(framing: .chunked, bodyBytesMax: 1).mayEndHere)
        #expect(try HTTPBodyReader(framing: .none, bodyBytesMax: 0).isComplete)
    }

    @Test("a reader repeats its fault")
    func faultIsKept() throws {
        var reader = try HTTPBodyReader(framing: .chunked, bodyBytesMax: 10)
        #expect(throws: HTTPFault.malformedChunk) { try withSpan(Array("x".utf8)) { (span) throws(HTTPFault) in try reader.read(span) } }
        #expect(throws: HTTPFault.malformedChunk) { try withSpan(Array("0\r\n\r\n".utf8)) { (span) throws(HTTPFault) in try reader.read(span) } }
    }
}
