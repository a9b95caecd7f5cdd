internal import COpenSSL

/// The keys that the authority makes.
package enum KeyAlgorithm: String, Hashable, Sendable, CaseIterable {
    /// The default: small, quick to sign with, known to every TLS library.
    case ecdsaP256 = "ecdsa-p256"
    case rsa2048 = "rsa-2048"
    case rsa3072 = "rsa-3072"

    func generate() throws(CertificateAuthorityFault) -> PrivateKey {
        switch self {
        case .ecdsaP256: try unsafe PrivateKey(segue_x509_generate_p256(), "key generation")
        case .rsa2048: try unsafe PrivateKey(segue_x509_generate_rsa(2_048), "key generation")
        case .rsa3072: try unsafe PrivateKey(segue_x509_generate_rsa(3_072), "key generation")
        }
    }
}

extension Owned<KeyObject> {
    /// The private key of a file that nobody but its owner may read.
    static func read(path: String) throws(CertificateAuthorityFault) -> PrivateKey {
        let mode = try Files.mode(of: path)
        guard mode & 0o077 == 0 else { throw .keyFileExposed(path: path, mode: mode) }
        return try PEM.read(KeyObject.self, path: path)
    }

    /// Refuses a stranger's public key that is weak, costly or made up (``CertificateAuthorityFault/requestKeyNotAllowed``). Size and curve are
    /// looked at before any arithmetic on the key, since checking a huge modulus would take minutes (CVE-2023-6237).
    func checkForeignPublicKey() throws(CertificateAuthorityFault) {
        let bits = unsafe EVP_PKEY_get_bits(reference)
        switch unsafe EVP_PKEY_get_base_id(reference) {
        case EVP_PKEY_RSA:
            guard (2_048...4_096).contains(bits), exponentIsGood() else { throw .requestKeyNotAllowed }
        case EVP_PKEY_EC:
            // Explicit parameters could describe a weak curve, or a known one with another generator (CVE-2020-0601).
            guard textParameter("encoding") == "named_curve", ["prime256v1", "secp384r1"].contains(textParameter("group")) else {
                throw .requestKeyNotAllowed
            }
            // RFC 5480 §2.2 has other forms of the same point, with which one key would go by several fingerprints.
            guard hasUncompressedPoint() else { throw .requestKeyNotAllowed }
        case EVP_PKEY_ED25519:
            break
        default:
            throw .requestKeyNotAllowed
        }
        let context = try unsafe Owned<KeyContextObject>(EVP_PKEY_CTX_new_from_pkey(nil, reference, nil), "EVP_PKEY_CTX_new_from_pkey")
        guard unsafe EVP_PKEY_public_check(context.reference) == 1 else {
            ERR_clear_error()
            throw .requestKeyNotAllowed
        }
    }

    /// 2¹⁶ < e < 2²⁵⁶ (FIPS 186-5 §A.1.1); an even one is refused with the key's other numbers.
    private func exponentIsGood() -> Bool {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(reference, "e", &number) == 1, let exponent = try? unsafe Owned<BigNumberObject>(number, "e") else {
            ERR_clear_error()
            return false
        }
        return unsafe (17...256).contains(BN_num_bits(exponent.reference))
    }

    private func hasUncompressedPoint() -> Bool {
        var point = [UInt8](repeating: 0, count: 133)
        var count = 0
        guard unsafe EVP_PKEY_get_octet_string_param(reference, "pub", &point, point.count, &count) == 1 else {
            ERR_clear_error()
            return false
        }
        return count > 0 && point[0] == 0x04
    }

    private func textParameter(_ name: String) -> String? {
        var text = [UInt8](repeating: 0, count: 64)
        let found = unsafe text.withUnsafeMutableBytes { buffer in
            unsafe EVP_PKEY_get_utf8_string_param(reference, name, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, nil) == 1
        }
        guard found else {
            ERR_clear_error()
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }
}
