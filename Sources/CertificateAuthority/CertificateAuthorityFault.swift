/// Everything that an operation of the authority can refuse or fail at. Nothing is changed on disk by an operation that throws,
/// unless the fault is ``system(operation:path:code:)`` in the middle of writing; the next operation then mends what was begun.
package enum CertificateAuthorityFault: Error, Hashable, Sendable {
    /// A name for a certificate, its label or the authority's common name is not acceptable.
    case invalidName(NameFault, kind: NameKind)
    case noNames
    case tooManyNames(max: Int)
    /// This kind of certificate does not carry such a name: an IP address in a client's, an e-mail address in a server's.
    case nameKindNotAllowed(NameKind, CertificateKind)
    /// A valid certificate already goes by this label: renew it, revoke it or choose another label.
    case labelInUse(String)
    /// A server goes or went by this label, and the files found by it are the server's.
    case labelOfServer(String)
    case validityOutOfRange(daysMax: Int)

    case alreadyExists(path: String)
    /// The folder holds no authority, or only half of one.
    case noAuthority(path: String)
    /// Now is outside of the authority's own validity.
    case authorityNotValid(notBefore: UnixTime, notAfter: UnixTime)
    /// `ca-key.pem` is not the key of `ca.pem`.
    case keyMismatch(path: String)
    /// Others than the owner may read or write a private key.
    case keyFileExposed(path: String, mode: UInt32)
    /// Others than the owner may write into the folder, so that they could put another key there.
    case folderExposed(path: String, mode: UInt32)
    case settingsCorrupt(path: String)
    case indexCorrupt(path: String, line: Int)
    case indexFull(max: Int)
    case fileTooLarge(path: String, bytesMax: Int)
    /// Another process kept the lock for longer than an operation can take.
    case lockTimeout(path: String)

    case notFound(CertificateSelector)
    case alreadyRevoked(CertificateSelector)
    /// A revoked certificate is not renewed: issue a new one.
    case revoked(CertificateSerial)
    /// The key was made by whoever sent the signing request, so that it is not here.
    case keyNotHeld(CertificateSerial)
    case passwordLength(bytesMin: Int, bytesMax: Int)
    case passwordHasNUL

    case requestMalformed
    /// The request is not signed by the key that it carries: no proof of possession (RFC 2986 §3).
    case requestSignatureInvalid
    /// Its signature is made with something weaker than SHA-256.
    case requestDigestNotAllowed
    /// Not ECDSA P-256 or P-384 by name, RSA of 2048 to 4096 bits with an exponent from 65537 on, or Ed25519; or the key's own numbers are wrong.
    case requestKeyNotAllowed
    case requestNameNotAllowed(String)
    /// The request's key has a certificate of another identity, or is the authority's own.
    case keyBelongsToAnother
    /// A certificate of the request's key was revoked because the key had leaked.
    case keyCompromised

    /// Unknown, used, revoked or past its end: whoever presents it is not told which.
    case tokenNotAccepted
    case tokenNotFound(EnrolmentTokenID)
    /// It is not open any more, so that there is nothing to revoke.
    case tokenEnded(EnrolmentTokenID, EnrolmentTokenStatus)
    case tokenValidityOutOfRange(daysMax: Int)
    case tokensFull(max: Int)
    case tokenCorrupt(path: String)

    /// The certificate that was presented is not a valid client certificate of this authority.
    case notPresentable
    /// A certificate that renewed this one has been renewed itself, or this one was renewed too often.
    case superseded(CertificateSerial)
    case renewalTooEarly(until: UnixTime)

    case malformedPEM(path: String)
    case system(operation: String, path: String, code: Int32)
    case cryptography(operation: String, reason: String)
}

/// What is wrong with a name. The name itself is left out of messages where it may hold control characters.
package enum NameFault: Hashable, Sendable {
    case empty
    case tooLong(bytesMax: Int)
    /// A byte that this kind of name never holds: controls, NUL, newline, blanks, commas, anything beyond ASCII.
    case forbiddenByte(UInt8, offset: Int)
    case syntax(String)
}

/// What a name is used as.
package enum NameKind: String, Hashable, Sendable {
    case dns = "DNS"
    case ip = "IP"
    case uri = "URI"
    case email
    /// Of none of these kinds.
    case unknown = "name"
    case label
    case commonName = "common name"
    case clientName = "client name"

    /// What a sentence calls it.
    var noun: String {
        switch self {
        case .dns, .ip, .uri, .email: rawValue + " name"
        case .unknown, .label, .commonName, .clientName: rawValue
        }
    }
}

extension CertificateAuthorityFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidName(let fault, let kind): "this \(kind.noun) is not acceptable: \(fault)"
        case .noNames: "a certificate needs at least one name"
        case .tooManyNames(let max): "a certificate takes at most \(max) names"
        case .nameKindNotAllowed(let name, let kind): "a \(kind.rawValue) certificate does not carry a name of the kind \(name.rawValue)"
        case .labelInUse(let label): "a valid certificate already goes by '\(label)': renew it, revoke it, or choose another label"
        case .labelOfServer(let label): "'\(label)' is what a server goes by: choose another label"
        case .validityOutOfRange(let days): "the validity must be between one second and \(days) days"
        case .alreadyExists(let path): "\(path) already holds a certificate authority"
        case .noAuthority(let path): "\(path) holds no certificate authority, or only a part of one"
        case .authorityNotValid(let from, let to): "the authority's own certificate is valid only from \(from) to \(to)"
        case .keyMismatch(let path): "\(path) is not the key of the authority's certificate"
        case .keyFileExposed(let path, let mode): "\(path) has mode \(String(mode, radix: 8)): a private key must be its owner's alone (600)"
        case .folderExposed(let path, let mode): "\(path) has mode \(String(mode, radix: 8)): nobody but its owner may write there (700)"
        case .settingsCorrupt(let path): "\(path) cannot be read as the authority's settings"
        case .indexCorrupt(let path, let line): "\(path), line \(line), is not an entry of the index"
        case .indexFull(let max): "the index is full: \(max) certificates"
        case .fileTooLarge(let path, let max): "\(path) is larger than \(max) bytes"
        case .lockTimeout(let path): "another process keeps \(path) locked"
        case .notFound(let selector): "no certificate with \(selector)"
        case .alreadyRevoked(let selector): "the certificate with \(selector) is revoked already"
        case .revoked(let serial): "the certificate \(serial) is revoked, issue a new one instead of renewing it"
        case .keyNotHeld(let serial): "the private key of \(serial) is not here: its owner made it"
        case .passwordLength(let min, let max): "the password must have between \(min) and \(max) bytes"
        case .passwordHasNUL: "the password must not hold a NUL"
        case .requestMalformed: "this is not a PEM certificate signing request"
        case .requestSignatureInvalid: "the signing request is not signed by its own key"
        case .requestDigestNotAllowed: "the signing request must be signed with SHA-256, SHA-384, SHA-512 or Ed25519"
        case .requestKeyNotAllowed:
            "the request's key must be ECDSA P-256 or P-384, RSA 2048 to 4096 with an exponent of at least 65537, or Ed25519"
        case .requestNameNotAllowed(let name): "the request asks for a name that it may not have: \(name)"
        case .keyBelongsToAnother: "the request's key belongs to another identity: make one of its own"
        case .keyCompromised: "the request's key was revoked as compromised: make another one"
        case .tokenNotAccepted: "the enrolment token is unknown, used, revoked or expired"
        case .tokenNotFound(let identifier): "no enrolment token goes by \(identifier)"
        case .tokenEnded(let identifier, let status): "the enrolment token \(identifier) is \(status.rawValue) already"
        case .tokenValidityOutOfRange(let days): "a token can be valid for one second to \(days) days"
        case .tokensFull(let max): "there are \(max) enrolment tokens: they are forgotten a week after their end"
        case .tokenCorrupt(let path): "\(path) cannot be read as an enrolment token"
        case .notPresentable: "this is not a valid client certificate of this authority"
        case .superseded(let serial): "the certificate \(serial) has been renewed already: present the newest one"
        case .renewalTooEarly(let moment): "the certificate can be renewed from \(moment) on"
        case .malformedPEM(let path): "\(path) does not hold the expected PEM"
        case .system(let operation, let path, let code): "\(operation) \(path): \(systemErrorText(code))"
        case .cryptography(let operation, let reason): "\(operation): \(reason)"
        }
    }
}

extension NameFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooLong(let max): "it is longer than \(max) bytes"
        case .forbiddenByte(let byte, let offset): "byte \(offset) (0x\(String(byte, radix: 16))) is not allowed"
        case .syntax(let reason): reason
        }
    }
}
