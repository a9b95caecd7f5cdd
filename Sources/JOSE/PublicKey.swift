internal import COpenSSL

/// What a signature can be made with here (RFC 7518 §3.4, RFC 8037 §3.1). A key has exactly one; a token's header never chooses (RFC 8725 §3.1).
package enum SignatureAlgorithm: String, Hashable, Sendable {
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// Ed25519.
    case edDSA = "EdDSA"
}

/// A public key of libcrypto.
@safe
final class PublicKey: @unchecked Sendable {  // Safe: the key is never changed after `init`, and libcrypto guards what it caches in it by a lock.
    static let coordinateBytes = 32
    static let signatureBytes = 64

    let algorithm: SignatureAlgorithm
    private let reference: OpaquePointer

    /// - Returns: `nil` when the point is not on the curve.
    init?(p256 x: [UInt8], _ y: [UInt8]) {
        guard x.count == PublicKey.coordinateBytes, y.count == PublicKey.coordinateBytes else { return nil }
        guard let reference = unsafe segue_jose_p256_public(x, y) else {
            ERR_clear_error()
            return nil
        }
        unsafe self.reference = reference
        algorithm = .es256
    }

    init?(ed25519 x: [UInt8]) {
        guard x.count == PublicKey.coordinateBytes else { return nil }
        guard let reference = unsafe segue_jose_ed25519_public(x) else {
            ERR_clear_error()
            return nil
        }
        unsafe self.reference = reference
        algorithm = .edDSA
    }

    deinit { unsafe EVP_PKEY_free(reference) }

    /// - Parameter signature: in the form of RFC 7515: for ES256 r ‖ s, 32 bytes each, and 64 bytes for Ed25519. Any other length is no signature.
    func verifies(signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == PublicKey.signatureBytes else { return false }
        let isGood =
            switch algorithm {
            case .es256: unsafe segue_jose_es256_verify(reference, signature, message, message.count)
            case .edDSA: unsafe segue_jose_ed25519_verify(reference, signature, message, message.count)
            }
        if isGood != 1 { ERR_clear_error() }
        return isGood == 1
    }
}
