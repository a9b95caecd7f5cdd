internal import COpenSSL

/// 32 bytes of SHA-256 (FIPS 180-4), as four words so that comparing and hashing allocate nothing.
package struct SHA256Digest: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    package init(hashing bytes: [UInt8]) {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = unsafe SHA256(bytes, bytes.count, &digest)
        self.init(digest: digest)
    }

    /// - Parameter digest: exactly 32 bytes.
    init(digest: [UInt8]) {
        precondition(digest.count == 32, "a SHA-256 digest is 32 bytes")
        func word(_ index: Int) -> UInt64 {
            digest[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }

    /// 64 lower-case hexadecimal digits.
    package var hex: String { hexadecimal(bytes) }

    package static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

/// Two lower-case digits for each byte.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// HKDF-Expand with HMAC-SHA-256 for one block of output (RFC 5869 §2.3): `T(1) = HMAC(secret, info ‖ 0x01)`.
func expandKey(_ secret: [UInt8], info: [UInt8]) -> [UInt8] {
    var block = [UInt8](repeating: 0, count: 32)
    let message = info + [1]
    let done = unsafe HMAC(EVP_sha256(), secret, Int32(secret.count), message, message.count, &block, nil)
    unsafe precondition(done != nil, "HMAC-SHA-256 is always there")
    return block
}

/// `count` bytes of the TLS library's generator, for secrets; `nil` when it has no entropy.
func secureRandomBytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return unsafe RAND_bytes(&bytes, Int32(count)) == 1 ? bytes : nil
}
