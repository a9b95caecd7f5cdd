internal import COpenSSL

/// SHA-256 of the DER SubjectPublicKeyInfo (RFC 7469 §2.4), by which the relay knows a key: the same in every certificate that is about it.
package struct KeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    package static let octetsMax = 32

    package let octets: [UInt8]

    /// `nil` for anything but 32 octets.
    package init?(octets: [UInt8]) {
        guard octets.count == Self.octetsMax else { return nil }
        self.octets = octets
    }

    /// Reads 64 hexadecimal digits of either case, with or without colons between octets; `nil` for anything else.
    package init?(_ text: String) {
        guard let octets = Hexadecimal.decode(text, octetsMax: Self.octetsMax) else { return nil }
        self.init(octets: octets)
    }

    /// 64 lower-case hexadecimal digits.
    package var description: String { Hexadecimal.encode(octets) }
}

/// Octets as hexadecimal digits.
enum Hexadecimal {
    static func encode(_ octets: [UInt8]) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Any case, colons between digits allowed; `nil` for other characters, an odd number of digits, none, or more than `octetsMax` octets.
    static func decode(_ text: String, octetsMax: Int) -> [UInt8]? {
        guard text.utf8.count <= octetsMax * 3 else { return nil }
        var digits: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: ":") {
            guard let digit = value(ofDigit: byte) else { return nil }
            digits.append(digit)
        }
        guard !digits.isEmpty, digits.count.isMultiple(of: 2), digits.count / 2 <= octetsMax else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

enum SHA256 {
    static func digest(_ bytes: [UInt8]) throws(CertificateAuthorityFault) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        try require(unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1, "SHA-256")
        return digest
    }

    /// Takes the same time wherever two digests differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe CRYPTO_memcmp(left, right, left.count) == 0
    }
}

extension Owned<KeyObject> {
    func fingerprint() throws(CertificateAuthorityFault) -> KeyFingerprint {
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PUBKEY(reference, &start)
        guard let bytes = unsafe start, count > 0 else { throw .cryptography("i2d_PUBKEY") }
        defer { unsafe segue_x509_free(bytes) }
        let digest = try SHA256.digest(unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count))))
        guard let fingerprint = KeyFingerprint(octets: digest) else { preconditionFailure("SHA-256 has 32 octets") }
        return fingerprint
    }
}
