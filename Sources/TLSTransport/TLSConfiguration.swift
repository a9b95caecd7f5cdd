/// TLS protocol versions that the relay can speak; older ones are not built in.
package enum TLSVersion: Int32, Sendable, Comparable, CaseIterable {
    /// RFC 5246, with AEAD and forward secrecy only.
    case tls12 = 0x0303
    /// RFC 8446.
    case tls13 = 0x0304

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Whether a server asks for the client's certificate, and what follows when there is none.
package enum ClientCertificatePolicy: Sendable, CaseIterable {
    /// Not asked for.
    case none
    /// Asked for; one that is sent must be good, none at all is accepted.
    case optional
    /// Asked for; without a good one the handshake fails.
    case required
}

/// How far revocation is checked, once certificate revocation lists (RFC 5280 §5) are configured. A list past its `nextUpdate` refuses, in all three.
package enum RevocationPolicy: Sendable, CaseIterable {
    /// Checked wherever the issuer's list is at hand; an issuer without one is let pass.
    case whereListed
    /// The peer's own certificate must have its issuer's list; authorities above it are checked where a list is at hand.
    case leaf
    /// Every certificate of the chain, the root included, must have its issuer's list.
    case chain
}

/// What a ``TLSContext`` is made of. All files are PEM; revocation lists may be DER too.
package struct TLSConfiguration: Sendable, Equatable {
    /// A certificate with the authorities between it and the root (leaf first), and its private key, unencrypted.
    package struct KeyPair: Sendable, Equatable {
        package var certificateFile: String
        package var keyFile: String
        /// DER: what an OCSP responder says of the certificate, stapled for clients that ask (RFC 6066 §8). Server only.
        package var ocspResponseFile: String?

        package init(certificateFile: String, keyFile: String, ocspResponseFile: String? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.ocspResponseFile = ocspResponseFile
        }

        package var files: [String] { [certificateFile, keyFile] + (ocspResponseFile.map { [$0] } ?? []) }
    }

    /// At most one pair for each kind of key: RSA and ECDSA may stand side by side, and the peer's offer chooses.
    package var keyPairs: [KeyPair] = []
    /// The trust store: nothing but these files, never the system's store.
    package var authorityFiles: [String] = []
    package var revocationListFiles: [String] = []
    package var revocation = RevocationPolicy.leaf
    /// Server only.
    package var clientCertificate = ClientCertificatePolicy.required
    package var minimumVersion = TLSVersion.tls12
    package var maximumVersion = TLSVersion.tls13
    /// ALPN (RFC 7301), most preferred first; empty: not negotiated. A peer that offers ALPN and none of these is refused.
    package var applicationProtocols: [String] = []
    /// Session tickets sent after a full TLS 1.3 handshake, 0…2 (server only; a resumed one always gets one fresh ticket, unless this is 0).
    package var ticketsPerHandshake = 1

    package init() {}
}

/// Why a ``TLSContext`` could not be made. Every case says which file or value, and what the TLS library said of it.
package enum TLSSetupError: Error, Equatable, Sendable {
    case unreadableFile(path: String, errno: Int32)
    /// A folder, a named pipe, a device.
    case notAFile(path: String)
    /// The file holds no `kind` ("certificate", "private key", "revocation list").
    case nothingFound(kind: String, path: String)
    case malformed(kind: String, path: String, detail: String)
    /// The private key is not the certificate's.
    case keyMismatch(certificate: String, key: String)
    /// A second pair for the same kind of key (`"RSA"`, `"EC"`, …).
    case duplicateKeyKind(kind: String, path: String)
    /// The OCSP response cannot be stapled: it is not about the certificate, not good, not signed by whom it must be, or out of date.
    case unusableOCSPResponse(path: String, detail: String)
    /// A delta list (RFC 5280 §5.2.4) without its issuer's complete list, or one that names no freshest list (§5.2.6): it would silently not be used.
    case deltaWithoutBase(path: String)
    /// A server needs at least one key pair.
    case noKeyPair
    /// Peers' certificates are to be verified, but no authority is configured.
    case noAuthorities
    /// An ALPN name must be 1…255 bytes.
    case invalidApplicationProtocol(String)
    case invalidVersionRange(minimum: TLSVersion, maximum: TLSVersion)
    /// Something in the library itself failed: out of memory, or a build without what is asked for.
    case library(operation: String, detail: String)
}

extension TLSSetupError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadableFile(let path, let errno): "cannot read \(path): \(systemErrorText(errno))"
        case .notAFile(let path): "\(path) is not a regular file"
        case .nothingFound(let kind, let path): "\(path) holds no \(kind)"
        case .malformed(let kind, let path, let detail): "\(path): bad \(kind): \(detail)"
        case .keyMismatch(let certificate, let key): "the private key in \(key) is not that of the certificate in \(certificate)"
        case .duplicateKeyKind(let kind, let path): "\(path): a second \(kind) certificate; at most one pair for each kind of key"
        case .unusableOCSPResponse(let path, let detail): "\(path): unusable OCSP response: \(detail)"
        case .deltaWithoutBase(let path):
            "\(path) holds a delta revocation list, but no complete list of its issuer with the freshestCRL extension is configured"
        case .noKeyPair: "a server needs a certificate and its private key"
        case .noAuthorities: "peers' certificates are to be verified, but no authority (CA file) is configured"
        case .invalidApplicationProtocol(let name): "ALPN name \"\(name)\" must be 1 to 255 bytes"
        case .invalidVersionRange(let minimum, let maximum): "minimum version \(minimum) is above the maximum \(maximum)"
        case .library(let operation, let detail): "\(operation): \(detail)"
        }
    }
}
