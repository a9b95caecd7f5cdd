/// The type-length-value part of a version 2 PROXY header (§2.2.1–§2.2.7).
private enum ProxyTLVType {
    static let alpn: UInt8 = 0x01
    static let authority: UInt8 = 0x02
    static let crc32c: UInt8 = 0x03
    static let uniqueID: UInt8 = 0x05
    static let ssl: UInt8 = 0x20
    static let sslVersion: UInt8 = 0x21
    static let sslCommonName: UInt8 = 0x22
    static let sslCipher: UInt8 = 0x23
    static let sslSignatureAlgorithm: UInt8 = 0x24
    static let sslKeyAlgorithm: UInt8 = 0x25
    static let sslClientCertificate: UInt8 = 0x28
}

/// Walks over TLVs: one byte of type, two of length, the value. A value that ends beyond the range is a fault.
private struct ProxyTLVReader {
    private var offset: Int
    private let end: Int

    init(_ range: Range<Int>) {
        offset = range.lowerBound
        end = range.upperBound
    }

    mutating func next(in bytes: RawSpan) throws(ProxyFault) -> (type: UInt8, value: Range<Int>)? {
        guard offset < end else { return nil }
        guard end - offset >= 3 else { throw .malformedTLV }
        let start = offset + 3
        let length = Int(bytes.bigEndian16(offset + 1))
        guard length <= end - start else { throw .malformedTLV }
        let type = bytes.byte(offset)
        offset = start + length
        return (type, start..<offset)
    }
}

extension ProxyHeader {
    /// Takes in what is known and passes over the rest. A known type that stands twice is a fault: two readers could choose differently.
    ///
    /// - Parameter bytes: the whole header, which the checksum covers.
    mutating func readTLVs(of bytes: RawSpan, from start: Int) throws(ProxyFault) {
        var reader = ProxyTLVReader(start..<bytes.byteCount)
        while let (type, value) = try reader.next(in: bytes) {
            switch type {
            case ProxyTLVType.alpn:
                guard applicationProtocol == nil else { throw .duplicateTLV }
                applicationProtocol = bytes.array(value)
            case ProxyTLVType.authority:
                guard authority == nil else { throw .duplicateTLV }
                authority = try Self.text(bytes, value)
            case ProxyTLVType.crc32c:
                guard !hasChecksum else { throw .duplicateTLV }
                guard value.count == 4 else { throw .malformedTLV }
                guard bytes.bigEndian32(value.lowerBound) == CRC32C.checksum(bytes, zeroing: value) else { throw .checksumMismatch }
                hasChecksum = true
            case ProxyTLVType.uniqueID:
                guard uniqueID == nil else { throw .duplicateTLV }
                guard value.count <= 128 else { throw .malformedTLV }
                uniqueID = bytes.array(value)
            case ProxyTLVType.ssl:
                guard tls == nil else { throw .duplicateTLV }
                tls = try TLS(bytes, value)
            default: break
            }
        }
    }

    fileprivate static func text(_ bytes: RawSpan, _ range: Range<Int>) throws(ProxyFault) -> String {
        guard let text = String(validating: bytes.array(range), as: UTF8.self) else { throw .malformedTLV }
        return text
    }
}

extension ProxyHeader.TLS {
    /// `client` (8 bits), `verify` (32 bits), then TLVs of their own (§2.2.5).
    fileprivate init(_ bytes: RawSpan, _ range: Range<Int>) throws(ProxyFault) {
        guard range.count >= 5 else { throw .malformedTLV }
        let client = bytes.byte(range.lowerBound)
        var version: String?
        var commonName: String?
        var cipher: String?
        var signatureAlgorithm: String?
        var keyAlgorithm: String?
        var certificate: [UInt8]?
        var reader = ProxyTLVReader((range.lowerBound + 5)..<range.upperBound)
        while let (type, value) = try reader.next(in: bytes) {
            switch type {
            case ProxyTLVType.sslVersion: try Self.set(&version, bytes, value)
            case ProxyTLVType.sslCommonName: try Self.set(&commonName, bytes, value)
            case ProxyTLVType.sslCipher: try Self.set(&cipher, bytes, value)
            case ProxyTLVType.sslSignatureAlgorithm: try Self.set(&signatureAlgorithm, bytes, value)
            case ProxyTLVType.sslKeyAlgorithm: try Self.set(&keyAlgorithm, bytes, value)
            case ProxyTLVType.sslClientCertificate:
                guard certificate == nil else { throw .duplicateTLV }
                certificate = bytes.array(value)
            default: break
            }
        }
        isClientTLS = client & 0x01 != 0
        hasCertificateOnConnection = client & 0x02 != 0
        hasCertificateInSession = client & 0x04 != 0
        verifyResult = bytes.bigEndian32(range.lowerBound + 1)
        self.version = version
        self.commonName = commonName
        self.cipher = cipher
        self.signatureAlgorithm = signatureAlgorithm
        self.keyAlgorithm = keyAlgorithm
        self.certificate = certificate
    }

    private static func set(_ place: inout String?, _ bytes: RawSpan, _ range: Range<Int>) throws(ProxyFault) {
        guard place == nil else { throw .duplicateTLV }
        place = try ProxyHeader.text(bytes, range)
    }
}

/// CRC-32C (Castagnoli, RFC 3309): reflected, polynomial 0x1EDC6F41. Bit by bit, since a header is 2 KiB at most and comes once a connection.
enum CRC32C {
    /// The checksum of `bytes` with those in `zeroed` taken as 0.
    static func checksum(_ bytes: RawSpan, zeroing zeroed: Range<Int>) -> UInt32 {
        var crc = UInt32.max
        for offset in 0..<bytes.byteCount {
            crc ^= zeroed.contains(offset) ? 0 : UInt32(bytes.byte(offset))
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0x82F6_3B78 : 0) }
        }
        return ~crc
    }
}
