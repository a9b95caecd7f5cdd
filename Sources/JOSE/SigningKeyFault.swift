internal import Glibc

/// Why a signing key cannot be had from a file, or cannot sign.
package enum SigningKeyFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Others than its owner may read or change the file.
    case exposed(path: String, mode: UInt32)
    /// The file belongs to somebody else, who can read it and change its mode.
    case foreignOwner(path: String)
    /// Not a regular file of at most 16 KiB with an unencrypted Ed25519 key in PEM (PKCS#8).
    case malformed(path: String)
    case system(operation: String, path: String, code: Int32)
    /// libcrypto has no memory or no entropy.
    case cryptography(operation: String)

    package var description: String {
        switch self {
        case .exposed(let path, let mode): "\(path) has mode \(String(mode, radix: 8)): a private key must be its owner's alone (600)"
        case .foreignOwner(let path): "\(path) belongs to another user"
        case .malformed(let path): "\(path) does not hold an Ed25519 private key in PEM (PKCS#8)"
        case .system(let operation, let path, let code): "\(operation) \(path): \(SigningKeyFault.text(code))"
        case .cryptography(let operation): "\(operation) failed"
        }
    }

    static func text(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
