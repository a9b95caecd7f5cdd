import HTTPProtocol
import RelayBase
import Testing

/// Builds version 2 headers by the layout of the specification, apart from the parser.
enum ProxyVector {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xDB, 0xA0, 0x01, 0xBB]
    static let ipv6: [UInt8] =
        [0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1, 0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [2, 0xFF, 0xFF, 0, 0]

    static func header(command: UInt8 = 0x21, family: UInt8 = 0x11, _ block: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(block.count >> 8), UInt8(block.count & 0xFF)] + block
    }

    static func tlv(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        [type, UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }

    static func ssl(client: UInt8, verify: UInt8, _ inner: [UInt8]) -> [UInt8] {
        tlv(0x20, [client, 0, 0, 0, verify] + inner)
    }

    /// CRC-32C over the header, whose last four bytes are the zeroed field; they are then filled in.
    static func sealed(_ header: [UInt8]) -> [UInt8] {
        let crc = checksum(header)
        return header.dropLast(4) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) }
    }

    /// CRC-32C by the polynomial in its unreflected form, so that it shares nothing with the parser's.
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var register = UInt32.max
        for byte in bytes {
            for bit in 0..<8 {
                let isSet = (register >> 31 ^ UInt32(byte >> bit & 1)) == 1
                register = register << 1 ^ (isSet ? 0x1EDC_6F41 : 0)
            }
        }
        return ~(0..<32).reduce(UInt32(0)) { $0 << 1 | (register >> $1 & 1) }
    }
}

func parseProxy(_ bytes: [UInt8], headerBytesMax: Int = 2_048) throws(ProxyFault) -> ProxyHeaderStep {
    let parser = ProxyHeaderParser(headerBytesMax: headerBytesMax)
    return try withSpan(bytes) { (span) throws(ProxyFault) in try parser.parse(span) }
}

/// The header of bytes that must be good and whole, with three more behind it.
func proxyHeader(_ bytes: [UInt8]) throws -> ProxyHeader {
    let step = try parseProxy(bytes + [1, 2, 3])
    guard case .complete(let header, headerBytes: bytes.count) = step else {
        Issue.record("\(step)")
        throw ProxyFault.missingHeader
    }
    return header
}

func proxyEndpoint(_ address: String, _ port: UInt16) throws -> ProxyHeader.Endpoint {
    ProxyHeader.Endpoint(address: try #require(IPAddress(address)), port: port)
}

@Suite("PROXY protocol version 1, §2.1")
struct ProxyVersion1Tests {
    @Test("TCP4 and TCP6 give both endpoints")
    func addresses() throws {
        let four = try proxyHeader(Array("PROXY TCP4 192.0.2.1 198.51.100.2 56224 443\r\n".utf8))
        #expect(four.version == 1)
        #expect(
            four.origin
                == .ip(transport: .stream, source: try proxyEndpoint("192.0.2.1", 56_224), destination: try proxyEndpoint("198.51.100.2", 443)))
        let longest = "PROXY TCP6 ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"
        let six = try proxyHeader(Array(longest.utf8))
        #expect(six.source == (try proxyEndpoint("ffff:f00f:ffff:ffff:ffff:ffff:ffff:ffff", 65_535)))
    }

    @Test("UNKNOWN passes with anything behind it", arguments: ["", " ", " ffff::1 ffff::2 1 2", " \u{00}\u{FF}", " 1.2.3.4"])
    func unknown(rest: String) throws {
        let header = try proxyHeader(Array("PROXY UNKNOWN\(rest)\r\n".utf8))
        #expect(header.origin == .unspecified)
        #expect(header.source == nil)
    }

    @Test("a line of 107 bytes passes, one of 108 does not, and neither does one without an end")
    func lengths() throws {
        let most = "PROXY UNKNOWN " + String(repeating: "x", count: 107 - 16) + "\r\n"
        #expect(try proxyHeader(Array(most.utf8)).origin == .unspecified)
        let more = "PROXY UNKNOWN " + String(repeating: "x", count: 108 - 16) + "\r\n"
        #expect(throws: ProxyFault.lineTooLong) { try parseProxy(Array(more.utf8)) }
        #expect(throws: ProxyFault.lineTooLong) { try parseProxy(Array(more.utf8.prefix(107))) }
        #expect(try parseProxy(Array(more.utf8.prefix(106))) == .needMoreBytes)
    }

    @Test(
        "a malformed line is refused",
        arguments: [
            "PROXY TCP4 192.0.2.1 198.51.100.2 56224 443\n", "PROXY TCP4  192.0.2.1 198.51.100.2 56224 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 56224\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 56224 443 \r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 056 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 -1 443\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 +1 443\r\n", "PROXY TCP4 ::1 ::2 1 2\r\n",
            "PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY TCP4 192.0.2.01 198.51.100.2 1 2\r\n", "PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n",
            "PROXY tcp4 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY \r\n", "PROXY \n", "PROXY UDP4 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY UNKNOWNX\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 1 \u{FF11}\r\n", "PROXY TCP4 192.0.2.1\r198.51.100.2 1 2\r\n", "PROXY TCP6 [::1] ::2 1 2\r\n",
        ])
    func malformed(line: String) {
        #expect(throws: ProxyFault.malformedLine) { try parseProxy(Array(line.utf8)) }
    }

    @Test(
        "what does not begin like a header is refused at its first wrong byte",
        arguments: ["GET / HTTP/1.1\r\n", "proxy TCP4", "PROXYTCP4", "PRI * HTTP/2.0", "X", "\u{16}\u{03}\u{01}", "\r\n\r\nX"])
    func missing(text: String) {
        #expect(throws: ProxyFault.missingHeader) { try parseProxy(Array(text.utf8)) }
    }
}

@Suite("PROXY protocol version 2, §2.2")
struct ProxyVersion2Tests {
    @Test("IPv4 and IPv6, stream and datagram")
    func internet() throws {
        let four = try proxyHeader(ProxyVector.header(ProxyVector.ipv4))
        #expect(four.version == 2)
        #expect(
            four.origin
                == .ip(transport: .stream, source: try proxyEndpoint("192.0.2.1", 56_224), destination: try proxyEndpoint("198.51.100.2", 443)))
        let six = try proxyHeader(ProxyVector.header(family: 0x22, ProxyVector.ipv6))
        #expect(
            six.origin
                == .ip(transport: .datagram, source: try proxyEndpoint("2001:db8::1", 65_535), destination: try proxyEndpoint("2001:db8::2", 0)))
    }

    @Test("Unix addresses end at the first NUL or at 108 bytes")
    func unix() throws {
        let source = Array("/run/a".utf8)
        let block = source + Array(repeating: 0, count: 108 - source.count) + Array(repeating: UInt8(ascii: "b"), count: 108)
        let header = try proxyHeader(ProxyVector.header(family: 0x31, block))
        #expect(header.origin == .unix(transport: .stream, source: source, destination: Array(repeating: UInt8(ascii: "b"), count: 108)))
        #expect(header.source == nil)
    }

    @Test("LOCAL is taken unread, with any family and block; UNSPEC has no addresses and may have TLVs")
    func local() throws {
        #expect(try proxyHeader(ProxyVector.header(command: 0x20, family: 0x00, [])).origin == .local)
        #expect(try proxyHeader(ProxyVector.header(command: 0x20, family: 0xFF, [1, 2, 3])).origin == .local)
        #expect(try proxyHeader(ProxyVector.header(family: 0x00, [])).origin == .unspecified)
        let named = try proxyHeader(ProxyVector.header(family: 0x00, ProxyVector.tlv(0x02, Array("a.example".utf8))))
        #expect(named.origin == .unspecified)
        #expect(named.authority == "a.example")
    }

    @Test("§2.2.1 ALPN, authority, unique id and checksum are read; NOOP, NETNS and unknown types passed over")
    func tlvs() throws {
        let parts: [[UInt8]] = [
            ProxyVector.ipv4, ProxyVector.tlv(0x04, [0, 0, 0]), ProxyVector.tlv(0x01, Array("h2".utf8)),
            ProxyVector.tlv(0x02, Array("relay.example".utf8)),
            ProxyVector.tlv(0x30, [1]), ProxyVector.tlv(0xEE, []), ProxyVector.tlv(0x05, Array(repeating: 7, count: 128)),
            ProxyVector.tlv(0x03, [0, 0, 0, 0]),
        ]
        let bytes = ProxyVector.sealed(ProxyVector.header(parts.flatMap { $0 }))
        let header = try proxyHeader(bytes)
        #expect(header.applicationProtocol == Array("h2".utf8))
        #expect(header.authority == "relay.example")
        #expect(header.uniqueID?.count == 128)
        #expect(header.hasChecksum)
        #expect(header.tls == nil)
        for place in [16, 20, 37, bytes.count - 1] {
            var changed = bytes
            changed[place] ^= 0x01
            #expect(throws: ProxyFault.checksumMismatch) { try parseProxy(changed) }
        }
    }

    @Test("§2.2.3 the checksum that the vectors are made with is CRC-32C (RFC 3720 §B.4)")
    func checksumVectors() {
        #expect(ProxyVector.checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(ProxyVector.checksum(Array(repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(ProxyVector.checksum(Array(repeating: 0xFF, count: 32)) == 0x62A8_AB43)
    }

    @Test("§2.2.5 the client's TLS: bits, verify result and sub-TLVs")
    func tls() throws {
        let inner: [[UInt8]] = [
            ProxyVector.tlv(0x21, Array("TLSv1.3".utf8)), ProxyVector.tlv(0x22, Array("alice é".utf8)),
            ProxyVector.tlv(0x23, Array("TLS_AES_128_GCM_SHA256".utf8)),
            ProxyVector.tlv(0x24, Array("SHA256".utf8)), ProxyVector.tlv(0x25, Array("EC256".utf8)), ProxyVector.tlv(0x7F, [1]),
        ]
        let block = ProxyVector.ipv4 + ProxyVector.ssl(client: 0x05, verify: 0, inner.flatMap { $0 })
        let tls = try #require(try proxyHeader(ProxyVector.header(block)).tls)
        #expect(tls.isClientTLS)
        #expect(!tls.hasCertificateOnConnection)
        #expect(tls.hasCertificateInSession)
        #expect(tls.verifyResult == 0)
        #expect(tls.version == "TLSv1.3")
        #expect(tls.commonName == "alice é")
        #expect(tls.cipher == "TLS_AES_128_GCM_SHA256")
        #expect(tls.signatureAlgorithm == "SHA256")
        #expect(tls.keyAlgorithm == "EC256")
        #expect(tls.verifiedCommonName == "alice é")
    }

    @Test(
        "§2.2.5 a common name counts only with TLS, a certificate and a verify result of 0",
        arguments: [(0x07, 1), (0x01, 0), (0x06, 0), (0x00, 0)] as [(UInt8, UInt8)])
    func unverified(client: UInt8, verify: UInt8) throws {
        let block = ProxyVector.ipv4 + ProxyVector.ssl(client: client, verify: verify, ProxyVector.tlv(0x22, Array("mallory".utf8)))
        let tls = try #require(try proxyHeader(ProxyVector.header(block)).tls)
        #expect(tls.commonName == "mallory")
        #expect(tls.verifiedCommonName == nil)
        #expect(tls.verifyResult == UInt32(verify))
    }

    static let malformed: [([UInt8], ProxyFault)] = [
        (ProxyVector.header(command: 0x11, ProxyVector.ipv4), .unsupportedVersion),
        (ProxyVector.header(command: 0x31, ProxyVector.ipv4), .unsupportedVersion),
        (ProxyVector.header(command: 0x22, ProxyVector.ipv4), .unsupportedCommand),
        (ProxyVector.header(family: 0x10, ProxyVector.ipv4), .unsupportedFamily),
        (ProxyVector.header(family: 0x01, ProxyVector.ipv4), .unsupportedFamily),
        (ProxyVector.header(family: 0x41, ProxyVector.ipv4), .unsupportedFamily),
        (ProxyVector.header(family: 0x13, ProxyVector.ipv4), .unsupportedFamily),
        (ProxyVector.header(Array(ProxyVector.ipv4.dropLast())), .addressesTruncated),
        (ProxyVector.header(family: 0x21, ProxyVector.ipv4), .addressesTruncated),
        (ProxyVector.header(family: 0x31, ProxyVector.ipv6), .addressesTruncated),
        (ProxyVector.header([]), .addressesTruncated), (ProxyVector.header(ProxyVector.ipv4 + [1]), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + [1, 0]), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + [1, 0, 1]), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + [4, 0xFF, 0xFF, 1]), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(3, [0, 0, 0])), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(3, [0, 0, 0, 0])), .checksumMismatch),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(5, Array(repeating: 0, count: 129))), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(2, [0xFF])), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(0x20, [1, 0, 0, 0])), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.ssl(client: 1, verify: 0, [0x22, 0, 2, 1])), .malformedTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.ssl(client: 1, verify: 0, ProxyVector.tlv(0x22, [0xC3]))), .malformedTLV),
        (
            ProxyVector.header(ProxyVector.ipv4 + ProxyVector.ssl(client: 1, verify: 0, ProxyVector.tlv(0x22, [65]) + ProxyVector.tlv(0x22, [66]))),
            .duplicateTLV
        ),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.ssl(client: 1, verify: 0, []) + ProxyVector.ssl(client: 1, verify: 0, [])), .duplicateTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(1, [65]) + ProxyVector.tlv(1, [65])), .duplicateTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(2, [65]) + ProxyVector.tlv(2, [65])), .duplicateTLV),
        (ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(5, []) + ProxyVector.tlv(5, [])), .duplicateTLV),
        (ProxyVector.header(Array(repeating: 4, count: 2_033)), .headerTooLarge),
    ]

    @Test("a malformed header is refused by its own fault", arguments: 0..<malformed.count)
    func malformedHeaders(index: Int) {
        let (bytes, fault) = Self.malformed[index]
        #expect(throws: fault) { try parseProxy(bytes) }
    }

    @Test("§2.2 a header over the bound is refused as soon as its length is known, one at the bound passes")
    func bounds() throws {
        let padding = ProxyVector.tlv(0x04, Array(repeating: 0, count: 232 - 16 - 12 - 3))
        #expect(try parseProxy(ProxyVector.header(ProxyVector.ipv4 + padding), headerBytesMax: 232) != .needMoreBytes)
        let more = ProxyVector.header(ProxyVector.ipv4 + padding + ProxyVector.tlv(0x04, []))
        #expect(throws: ProxyFault.headerTooLarge) { try parseProxy(Array(more.prefix(16)), headerBytesMax: 232) }
    }

    @Test(
        "every proper prefix of a good header asks for more, and any cutting of any header gives the same result", arguments: 0..<10 as Range<UInt64>)
    func prefixes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let good = [
            ProxyVector.header(ProxyVector.ipv4 + ProxyVector.tlv(2, [65]) + ProxyVector.ssl(client: 7, verify: 0, ProxyVector.tlv(0x22, [66]))),
            ProxyVector.header(command: 0x20, family: 0, []), ProxyVector.header(family: 0x21, ProxyVector.ipv6),
            Array("PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\n".utf8),
            Array("PROXY UNKNOWN\r\n".utf8),
        ]
        for bytes in good {
            for end in 0..<bytes.count { #expect(try parseProxy(Array(bytes[..<end])) == .needMoreBytes) }
        }
        for _ in 0..<200 {
            var bytes = (good.randomElement(using: &generator) ?? []) + [9, 9]
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let whole = Result { () throws(ProxyFault) in try parseProxy(bytes) }
            var cut = Result<ProxyHeaderStep, ProxyFault>.success(.needMoreBytes)
            for prefix in growingPrefixes(of: bytes, &generator) {
                cut = Result { () throws(ProxyFault) in try parseProxy(prefix) }
                if cut != .success(.needMoreBytes) { break }
            }
            #expect(cut == whole)
        }
    }
}
