/// Reads the PROXY header at the start of a connection, version 1 or 2, incrementally.
///
/// Only for peers in a listed network (``IPNetwork``): whoever may send this header may claim any address.
package struct ProxyHeaderParser: Sendable {
    /// §2.1: the longest line, with its CR LF.
    package static let version1BytesMax = 107
    static let version2HeaderBytes = 16
    private static let version1Prefix: [UInt8] = Array("PROXY ".utf8)
    private static let version2Signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    private let headerBytesMax: Int

    /// - Parameter headerBytesMax: bound on a version 2 header, all of it; at least 232, which Unix addresses need.
    package init(headerBytesMax: Int = 2_048) {
        precondition(headerBytesMax >= 232, "room for every address family")
        self.headerBytesMax = headerBytesMax
    }

    /// - Parameter bytes: everything received since the connection was accepted. No state is kept, and no more than the bounds is ever looked at.
    package func parse(_ bytes: RawSpan) throws(ProxyFault) -> ProxyHeaderStep {
        guard bytes.byteCount > 0 else { return .needMoreBytes }
        let isVersion2 = bytes.byte(0) == Self.version2Signature[0]
        let prefix = isVersion2 ? Self.version2Signature : Self.version1Prefix
        for offset in 0..<min(prefix.count, bytes.byteCount) where bytes.byte(offset) != prefix[offset] { throw .missingHeader }
        guard bytes.byteCount >= prefix.count else { return .needMoreBytes }
        return isVersion2 ? try version2(bytes) : try version1(bytes)
    }

    private func version1(_ bytes: RawSpan) throws(ProxyFault) -> ProxyHeaderStep {
        let end = min(bytes.byteCount, Self.version1BytesMax)
        guard let lineFeed = bytes.index(of: Grammar.lineFeed, in: 0..<end) else {
            if end == Self.version1BytesMax { throw .lineTooLong }
            return .needMoreBytes
        }
        guard bytes.byte(lineFeed - 1) == Grammar.carriageReturn else { throw .malformedLine }
        let words = Grammar.split(bytes.text(0..<(lineFeed - 1)), at: Grammar.space)
        return .complete(ProxyHeader(version: 1, origin: try Self.origin(words)), headerBytes: lineFeed + 1)
    }

    /// §2.1: `PROXY TCP4|TCP6 source destination sourcePort destinationPort`, single spaces; after UNKNOWN anything goes.
    private static func origin(_ words: [Substring]) throws(ProxyFault) -> ProxyHeader.Origin {
        guard words.count >= 2 else { throw .malformedLine }
        if words[1] == "UNKNOWN" { return .unspecified }
        guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6", let source = IPAddress(String(words[2])),
            let destination = IPAddress(String(words[3])), let sourcePort = port(words[4]), let destinationPort = port(words[5])
        else { throw .malformedLine }
        let width = words[1] == "TCP4" ? 32 : 128
        guard source.bitWidth == width, destination.bitWidth == width else { throw .malformedLine }
        return .ip(
            transport: .stream, source: ProxyHeader.Endpoint(address: source, port: sourcePort),
            destination: ProxyHeader.Endpoint(address: destination, port: destinationPort))
    }

    private static func port(_ word: Substring) -> UInt16? {
        guard word.utf8.count == 1 || word.utf8.first != UInt8(ascii: "0") else { return nil }
        return Grammar.port(word)
    }

    private func version2(_ bytes: RawSpan) throws(ProxyFault) -> ProxyHeaderStep {
        guard bytes.byteCount >= Self.version2HeaderBytes else { return .needMoreBytes }
        guard bytes.byte(12) >> 4 == 2 else { throw .unsupportedVersion }
        let command = bytes.byte(12) & 0xF
        guard command <= 1 else { throw .unsupportedCommand }
        let headerBytes = Self.version2HeaderBytes + Int(bytes.bigEndian16(14))
        guard headerBytes <= headerBytesMax else { throw .headerTooLarge }
        guard bytes.byteCount >= headerBytes else { return .needMoreBytes }
        // §2.2: with LOCAL the family, the addresses and what follows are thrown away unread.
        guard command == 1 else { return .complete(ProxyHeader(version: 2, origin: .local), headerBytes: headerBytes) }
        let all = bytes.extracting(0..<headerBytes)
        let family = try ProxyAddressBlock(family: bytes.byte(13))
        let addressesEnd = Self.version2HeaderBytes + family.byteCount
        guard addressesEnd <= headerBytes else { throw .addressesTruncated }
        var header = ProxyHeader(version: 2, origin: family.origin(all.extracting(Self.version2HeaderBytes..<addressesEnd)))
        try header.readTLVs(of: all, from: addressesEnd)
        return .complete(header, headerBytes: headerBytes)
    }
}

/// The address block of a version 2 header (§2.2).
enum ProxyAddressBlock {
    case unspecified
    case ipv4(ProxyHeader.Transport)
    case ipv6(ProxyHeader.Transport)
    case unix(ProxyHeader.Transport)

    /// The byte of family and transport. Pairs that the specification does not list must be refused.
    init(family: UInt8) throws(ProxyFault) {
        switch family {
        case 0x00: self = .unspecified
        case 0x11: self = .ipv4(.stream)
        case 0x12: self = .ipv4(.datagram)
        case 0x21: self = .ipv6(.stream)
        case 0x22: self = .ipv6(.datagram)
        case 0x31: self = .unix(.stream)
        case 0x32: self = .unix(.datagram)
        default: throw .unsupportedFamily
        }
    }

    var byteCount: Int {
        switch self {
        case .unspecified: 0
        case .ipv4: 12
        case .ipv6: 36
        case .unix: 216
        }
    }

    /// - Parameter bytes: `byteCount` of them.
    func origin(_ bytes: RawSpan) -> ProxyHeader.Origin {
        switch self {
        case .unspecified:
            return .unspecified
        case .ipv4(let transport):
            return .ip(
                transport: transport, source: ProxyHeader.Endpoint(address: .v4(bytes.bigEndian32(0)), port: bytes.bigEndian16(8)),
                destination: ProxyHeader.Endpoint(address: .v4(bytes.bigEndian32(4)), port: bytes.bigEndian16(10)))
        case .ipv6(let transport):
            let source = IPAddress.v6(high: bytes.bigEndian64(0), low: bytes.bigEndian64(8))
            let destination = IPAddress.v6(high: bytes.bigEndian64(16), low: bytes.bigEndian64(24))
            return .ip(
                transport: transport, source: ProxyHeader.Endpoint(address: source, port: bytes.bigEndian16(32)),
                destination: ProxyHeader.Endpoint(address: destination, port: bytes.bigEndian16(34)))
        case .unix(let transport):
            return .unix(transport: transport, source: Self.path(bytes, 0..<108), destination: Self.path(bytes, 108..<216))
        }
    }

    private static func path(_ bytes: RawSpan, _ range: Range<Int>) -> [UInt8] {
        let end = bytes.index(of: 0, in: range) ?? range.upperBound
        return bytes.array(range.lowerBound..<end)
    }
}

extension RawSpan {
    func array(_ range: Range<Int>) -> [UInt8] {
        unsafe extracting(range).withUnsafeBytes { unsafe Array($0) }
    }
}
