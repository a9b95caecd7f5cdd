import HTTPProtocol
import RelayBase
import Testing

@Suite("Any cutting of the bytes gives the same result")
struct HTTPRechunkingTests {
    static let seeds: [String] = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\nPOST /a?b=%20 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "GET http://a.example/x HTTP/1.0\r\nX: \u{e9}\r\nY:\t z \r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: v\r\n\r\n",
        "GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ]

    /// A seed with a few bytes changed, dropped or doubled.
    static func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = Array((seeds.randomElement(using: &generator) ?? "").utf8)
        let palette: [UInt8] = [0x00, 0x09, 0x0A, 0x0D, 0x20, 0x25, 0x2C, 0x3A, 0x41, 0x7F, 0xC3]
        for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[place] = palette.randomElement(using: &generator) ?? 0
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(palette.randomElement(using: &generator) ?? 0, at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(Int.random(in: 1...40, using: &generator)), at: place)
            }
        }
        return bytes
    }

    @Test("request heads, good and broken", arguments: 0..<20 as Range<UInt64>)
    func requestHeads(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let bytes = Self.mutated(&generator)
            let headBytesMax = Int.random(in: 20...200, using: &generator)
            let fieldsMax = Int.random(in: 1...6, using: &generator)
            let whole = parseRequest(bytes, headBytesMax: headBytesMax, fieldsMax: fieldsMax)
            var parser = HTTPRequestHeadParser(headBytesMax: headBytesMax, fieldsMax: fieldsMax)
            var cut = Outcome<HTTPRequestHead>.incomplete
            for prefix in growingPrefixes(of: bytes, &generator) {
                cut = step(prefix) { (span) throws(HTTPFault) in try parser.parse(span) }
                if cut != .incomplete { break }
            }
            #expect(cut == whole)
        }
    }

    struct Body: Equatable {
        var content: [UInt8] = []
        var consumed = 0
        var isComplete = false
        var fault: HTTPFault?
    }

    /// Reads `pieces` one after the other. How far the reader came before a fault depends on the cutting; the fault does not, so it stands alone.
    static func readBody(_ pieces: [[UInt8]], framing: HTTPFraming, bodyBytesMax: Int) -> Body {
        var body = Body()
        do {
            var reader = try HTTPBodyReader(framing: framing, bodyBytesMax: bodyBytesMax)
            for piece in pieces {
                var rest = piece
                while !rest.isEmpty, !body.isComplete {
                    let step = try withSpan(rest) { (span) throws(HTTPFault) in try reader.read(span) }
                    body.content += rest[step.content]
                    body.consumed += step.consumed
                    body.isComplete = step.isComplete
                    rest.removeFirst(step.consumed)
                }
            }
        } catch {
            return Body(fault: error)
        }
        return body
    }

    @Test("chunked bodies, good and broken", arguments: 0..<20 as Range<UInt64>)
    func chunkedBodies(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let size = Int.random(in: 1...40, using: &generator)
                bytes += Array("\(String(size, radix: 16))\(Bool.random(using: &generator) ? ";a=b" : "")\r\n".utf8)
                bytes += (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
                bytes += Array("\r\n".utf8)
            }
            bytes += Array((Bool.random(using: &generator) ? "0\r\n\r\n" : "0\r\nA: b\r\n\r\n").utf8)
            if Bool.random(using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = [0x0A, 0x0D, 0x30, 0x66, 0x20].randomElement(using: &generator) ?? 0
            }
            bytes += Array("NEXT".utf8)
            let bodyBytesMax = Int.random(in: 30...200, using: &generator)
            var pieces: [[UInt8]] = []
            var previous = 0
            for prefix in growingPrefixes(of: bytes, &generator) {
                pieces.append(Array(prefix[previous...]))
                previous = prefix.count
            }
            let whole = Self.readBody([bytes], framing: .chunked, bodyBytesMax: bodyBytesMax)
            #expect(Self.readBody(pieces, framing: .chunked, bodyBytesMax: bodyBytesMax) == whole)
        }
    }
}
