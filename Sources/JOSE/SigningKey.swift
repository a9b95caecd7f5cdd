internal import COpenSSL

/// The relay's own key for statements that others check: an Ed25519 private key.
///
/// Signing and verifying may go on in several threads at once; neither touches the disk.
@safe
package final class SigningKey: @unchecked Sendable {  // Safe: never changed after `init`; libcrypto's signing has a context of its own each time.
    private let reference: OpaquePointer
    /// What others verify with; its `kid` is its RFC 7638 thumbprint.
    package let publicKey: JSONWebKey
    private let publicBytes: [UInt8]

    /// - Parameter reference: owned from here on; `nil` comes back when it is no Ed25519 key.
    init?(owning reference: OpaquePointer) {
        var bytes = [UInt8](repeating: 0, count: PublicKey.coordinateBytes)
        guard unsafe segue_jose_ed25519_public_bytes(reference, &bytes) == 1,
            let publicKey = JSONWebKey(ed25519: bytes, keyID: JSONWebKey.ed25519Thumbprint(bytes))
        else {
            ERR_clear_error()
            unsafe EVP_PKEY_free(reference)
            return nil
        }
        unsafe self.reference = reference
        self.publicKey = publicKey
        publicBytes = bytes
    }

    deinit { unsafe EVP_PKEY_free(reference) }

    /// A key that is nowhere on disk and ends with the process.
    package static func ephemeral() throws(SigningKeyFault) -> SigningKey {
        guard let reference = unsafe segue_jose_ed25519_generate(), let key = unsafe SigningKey(owning: reference) else {
            ERR_clear_error()
            throw .cryptography(operation: "generating an Ed25519 key")
        }
        return key
    }

    package var keyID: String { publicKey.thumbprint }

    /// The public half as a JWK set (RFC 7517 §5).
    package var publicSet: [UInt8] {
        let x = Base64URL.encode(publicBytes)
        let algorithm = SignatureAlgorithm.edDSA.rawValue
        return Array(
            "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"\(x)\",\"use\":\"sig\",\"alg\":\"\(algorithm)\",\"kid\":\"\(keyID)\"}]}".utf8)
    }

    /// Signs a claims set.
    ///
    /// - Parameters:
    ///   - type: goes into `typ`; letters, digits, `+`, `-` and `.` (`segue-grant+jwt`).
    ///   - claims: one JSON object; it should have `exp`, without which ``verify(_:type:now:leewaySeconds:)`` refuses.
    /// - Returns: a JWS in compact form.
    package func sign(type: String, claims: [UInt8]) throws(SigningKeyFault) -> String {
        precondition(type.utf8.allSatisfy(SigningKey.isTypeByte), "a type needs no escapes in JSON")
        let header = "{\"alg\":\"\(SignatureAlgorithm.edDSA.rawValue)\",\"typ\":\"\(type)\",\"kid\":\"\(keyID)\"}"
        let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(claims)
        return input + "." + Base64URL.encode(try signature(over: Array(input.utf8)))
    }

    /// 64 bytes (RFC 8032 §5.1.6).
    func signature(over message: [UInt8]) throws(SigningKeyFault) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: PublicKey.signatureBytes)
        guard unsafe segue_jose_ed25519_sign(reference, &signature, message, message.count) == 1 else {
            ERR_clear_error()
            throw .cryptography(operation: "signing")
        }
        return signature
    }

    private static func isTypeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Verifies a statement of this key's own: signature, exactly this `typ`, this `kid`, and time. Audience, issuer and subject are the caller's.
    ///
    /// - Parameter now: seconds since 1970.
    package func verify(_ token: some StringProtocol, type: String, now: Int64, leewaySeconds: Int64 = 0) throws(TokenFault) -> JSONWebToken {
        let requirements = TokenRequirements(type: .exactly(type), audience: .any, requiresSubject: false, leewaySeconds: leewaySeconds)
        let verified = try JSONWebKeySet([publicKey]).verify(token, requirements, now: now)
        guard verified.keyID != nil else { throw .unknownKey }
        return verified
    }

    /// Gives `body` the key as PKCS#8 PEM, which is wiped afterwards.
    func withPEM(_ body: (UnsafeRawBufferPointer) throws(SigningKeyFault) -> Void) throws(SigningKeyFault) {
        var start: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let bio = unsafe segue_jose_private_pem(reference, &start, &count) else {
            ERR_clear_error()
            throw .cryptography(operation: "encoding a key")
        }
        defer { unsafe BIO_free_all(bio) }
        try unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
