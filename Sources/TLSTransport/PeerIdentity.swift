/// Who the peer is, as its verified certificate says. Never the common name (RFC 9525 §2), never SHA-1.
///
/// Names come from the subject alternative names alone. Each must be printable ASCII without spaces, at most 1,024 bytes, and shaped as its kind: a URI has a
/// scheme, an email an `@`, a DNS name neither `:` nor `@`, so that names of two kinds never coincide. A certificate with any other name is refused whole.
///
/// What a certificate says is held once, however many connections, sessions and requests it stands behind: this is a reference to it.
package struct PeerIdentity: Hashable, Sendable {
    /// What proved the identity.
    package enum Proof: Hashable, Sendable {
        /// A handshake: the peer has the certificate's key.
        case certificate
        /// A trusted proxy that shook hands with the peer: see ``ForwardedPeer``.
        case forwarded
    }

    /// Which field ``name`` was taken from.
    package enum NameKind: Hashable, Sendable {
        case uri
        case dns
        case email
        /// No usable name: `spki:` and the fingerprint of the key.
        case key
    }

    /// What the certificate says.
    struct Statements: Hashable, Sendable {
        let name: String
        let nameKind: NameKind
        let uris: [String]
        let dnsNames: [String]
        let emails: [String]
        let keyFingerprint: SHA256Digest
        let notBefore: Int64
        let notAfter: Int64
        let serialNumber: String
        let issuer: String
    }

    private final class Shared: Sendable {
        let statements: Statements

        init(_ statements: Statements) {
            self.statements = statements
        }
    }

    private let shared: Shared
    package let proof: Proof

    init(_ statements: Statements, proof: Proof) {
        shared = Shared(statements)
        self.proof = proof
    }

    private init(_ shared: Shared, proof: Proof) {
        self.shared = shared
        self.proof = proof
    }

    /// The first URI, else the first DNS name, else the first email address, else `spki:` and 64 hexadecimal digits.
    package var name: String { shared.statements.name }
    package var nameKind: NameKind { shared.statements.nameKind }
    package var uris: [String] { shared.statements.uris }
    package var dnsNames: [String] { shared.statements.dnsNames }
    package var emails: [String] { shared.statements.emails }
    /// SHA-256 of the DER subject public key info (RFC 7469 §2.4): the same after a renewal that keeps the key.
    package var keyFingerprint: SHA256Digest { shared.statements.keyFingerprint }
    /// Seconds since 1970.
    package var notBefore: Int64 { shared.statements.notBefore }
    package var notAfter: Int64 { shared.statements.notAfter }
    /// Lower-case hexadecimal without leading zeros.
    package var serialNumber: String { shared.statements.serialNumber }
    /// RFC 4514 text, with what is not printable escaped.
    package var issuer: String { shared.statements.issuer }

    /// The same identity, proven otherwise.
    func proven(by proof: Proof) -> PeerIdentity { PeerIdentity(shared, proof: proof) }

    package static func == (left: PeerIdentity, right: PeerIdentity) -> Bool {
        left.proof == right.proof && (left.shared === right.shared || left.shared.statements == right.shared.statements)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(shared.statements)
        hasher.combine(proof)
    }

    static let namesMax = 64
    static let nameBytesMax = 1_024
    static let keyNamePrefix = "spki:"
    /// Names of identities that only a token proved.
    static let tokenNamePrefix = "token:"
}

/// Subject alternative names, sorted and checked.
struct SubjectNames {
    var uris: [String] = []
    var dnsNames: [String] = []
    var emails: [String] = []

    /// Takes one name; false when it cannot be part of an identity.
    mutating func append(_ kind: PeerIdentity.NameKind, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard unsafe !bytes.isEmpty, bytes.count <= PeerIdentity.nameBytesMax, unsafe bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            uris.count + dnsNames.count + emails.count < PeerIdentity.namesMax
        else { return false }
        let name = unsafe String(decoding: bytes, as: UTF8.self)
        switch kind {
        case .uri:
            // A name of these schemes would pass for the fingerprint of somebody's key, or for the subject of a token.
            let folded = name.lowercased()
            guard name.contains(":"), !folded.hasPrefix(PeerIdentity.keyNamePrefix), !folded.hasPrefix(PeerIdentity.tokenNamePrefix) else {
                return false
            }
            uris.append(name)
        case .dns:
            guard !name.contains(":"), !name.contains("@") else { return false }
            dnsNames.append(name)
        case .email:
            guard name.contains("@"), !name.contains(":") else { return false }
            emails.append(name)
        case .key: return false
        }
        return true
    }

    /// The name that identifies, by order of precedence.
    func identifying(keyFingerprint: SHA256Digest) -> (String, PeerIdentity.NameKind) {
        if let uri = uris.first { return (uri, .uri) }
        if let name = dnsNames.first { return (name, .dns) }
        if let email = emails.first { return (email, .email) }
        return (PeerIdentity.keyNamePrefix + keyFingerprint.hex, .key)
    }
}
