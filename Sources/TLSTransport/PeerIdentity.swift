/// Who the peer is, as its verified certificate says. Never the common name (RFC 9525 §2), never SHA-1.
///
/// Names come from the subject alternative names alone. Each must be printable ASCII without spaces, at most 1,024 bytes, and shaped as its kind: a URI has a
/// scheme, an email an `@`, a DNS name neither `:` nor `@`, so that names of two kinds never coincide. A certificate with any other name is refused whole.
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

    /// The first URI, else the first DNS name, else the first email address, else `spki:` and 64 hexadecimal digits.
    package let name: String
    package let nameKind: NameKind
    package let proof: Proof
    package let uris: [String]
    package let dnsNames: [String]
    package let emails: [String]
    /// SHA-256 of the DER subject public key info (RFC 7469 §2.4): the same after a renewal that keeps the key.
    package let keyFingerprint: SHA256Digest
    /// Seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64
    /// Lower-case hexadecimal without leading zeros.
    package let serialNumber: String
    /// RFC 4514 text, with what is not printable escaped.
    package let issuer: String

    /// The same identity, proven otherwise.
    func proven(by proof: Proof) -> PeerIdentity {
        PeerIdentity(
            name: name, nameKind: nameKind, proof: proof, uris: uris, dnsNames: dnsNames, emails: emails, keyFingerprint: keyFingerprint,
            notBefore: notBefore, notAfter: notAfter, serialNumber: serialNumber, issuer: issuer)
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
