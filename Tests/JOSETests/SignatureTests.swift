import JOSE
import RelayBase
import Testing

@Suite("RFC 7515, RFC 8037: signatures")
struct SignatureTests {
    @Test("RFC 7515 §A.3 the example's ES256 signature is good, and no other message or signature is")
    func es256() throws {
        let key = try #require(JSONWebKey(p256: decoded(RFC7515.x), decoded(RFC7515.y), keyID: nil))
        let message = bytes(RFC7515.header + "." + RFC7515.payload)
        let signature = try decoded(RFC7515.signature)
        #expect(key.algorithm == .es256)
        #expect(key.verifies(signature: signature, of: message))
        try expectNothingElse(key, signature, message)
    }

    @Test("RFC 8037 §A.4 the example's Ed25519 signature is good, and no other message or signature is")
    func ed25519() throws {
        let key = try #require(JSONWebKey(ed25519: decoded(RFC8037.x), keyID: nil))
        let signature = try decoded(RFC8037.signature)
        #expect(key.algorithm == .edDSA)
        #expect(key.verifies(signature: signature, of: bytes(RFC8037.input)))
        try expectNothingElse(key, signature, bytes(RFC8037.input))
    }

    /// Every single flipped bit of the signature, and a few of the message.
    private func expectNothingElse(_ key: JSONWebKey, _ signature: [UInt8], _ message: [UInt8]) throws {
        for bit in 0..<signature.count * 8 {
            var other = signature
            other[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.verifies(signature: other, of: message), "bit \(bit)")
        }
        for index in message.indices {
            var other = message
            other[index] ^= 1
            #expect(!key.verifies(signature: signature, of: other))
        }
        #expect(!key.verifies(signature: signature, of: []))
        #expect(!key.verifies(signature: signature, of: message + [0]))
        for length in [0, 1, 32, 63, 65, 128] {
            let other = Array((signature + signature).prefix(length))
            #expect(!key.verifies(signature: other, of: message), "length \(length)")
        }
    }

    /// n, the order of P-256 (SEC 2 §2.4.2).
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    @Test("RFC 7518 §3.4 r and s out of range are no signature (CVE-2022-21449)")
    func range() throws {
        let key = try #require(JSONWebKey(p256: decoded(RFC7515.x), decoded(RFC7515.y), keyID: nil))
        let good = try decoded(RFC7515.signature)
        let zero = [UInt8](repeating: 0, count: 32)
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let halves = [zero, ones, SignatureTests.order, Array(good[..<32]), Array(good[32...])]
        let message = bytes(RFC7515.header + "." + RFC7515.payload)
        for r in halves {
            for s in halves where r + s != good {
                #expect(!key.verifies(signature: r + s, of: message))
            }
        }
    }

    @Test("RFC 7515 §A.3 the example's token is believed until it expires")
    func example() throws {
        let set = try keySet(ellipticKey())
        let requirements = TokenRequirements(audience: .any, issuer: "joe", requiresSubject: false, leewaySeconds: 0)
        let verified = try set.verify(RFC7515.token, requirements, now: RFC7515.expiresAt - 1)
        #expect(verified.expiresAt == RFC7515.expiresAt)
        #expect(verified.issuer == "joe")
        #expect(verified.subject == nil)
        #expect(String(decoding: verified.claims, as: UTF8.self).contains("\"http://example.com/is_root\":true"))
        #expect(throws: TokenFault.expired) { try set.verify(RFC7515.token, requirements, now: RFC7515.expiresAt) }
    }

    @Test("RFC 7638 §3, RFC 8037 §A.3 the thumbprint is the hash of the required members")
    func thumbprint() throws {
        #expect(try #require(JSONWebKey(ed25519: decoded(RFC8037.x), keyID: nil)).thumbprint == RFC8037.thumbprint)
        // The same key with other members around it is the same key.
        #expect(try keySet(edwardsKey(",\"kid\":\"a\",\"use\":\"sig\"")).keys.first?.thumbprint == RFC8037.thumbprint)
    }

    @Test("a comparison in constant time is a comparison")
    func constantTime() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal("secret", "secret"))
        for other in ["", "secre", "secrets", "Secret", "secreT"] { #expect(!ConstantTime.equal("secret", other)) }
    }
}
