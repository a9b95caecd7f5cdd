internal import COpenSSL

/// What a signing request may become. The request itself brings nothing but its public key and, where ``RequestedNames/mustBeAllowed`` says so, a
/// choice among the allowed names; subject, extensions and attributes of the request are never copied.
package struct SigningPolicy: Hashable, Sendable {
    package enum RequestedNames: Hashable, Sendable {
        /// The certificate carries exactly the allowed names.
        case ignored
        /// The certificate carries the names that the request asks for, each of which must be allowed, and all allowed ones if it asks for none.
        case mustBeAllowed
    }

    package let kind: CertificateKind
    package let allowedNames: [SubjectAlternativeName]
    package let requestedNames: RequestedNames

    package init(kind: CertificateKind, allowedNames: [SubjectAlternativeName], requestedNames: RequestedNames = .ignored) {
        self.kind = kind
        self.allowedNames = allowedNames
        self.requestedNames = requestedNames
    }
}

/// A request whose form, key and proof of possession are good.
struct SigningRequest: ~Copyable {
    private let request: CertificateRequest
    let publicKey: PrivateKey

    /// - Parameter pem: at most 64 KiB of PEM.
    init(pem: [UInt8]) throws(CertificateAuthorityFault) {
        guard pem.count <= Files.pemBytesMax, let request = try PEM.read(RequestObject.self, from: SecretBytes(pem.span)) else {
            throw .requestMalformed
        }
        guard let reference = unsafe X509_REQ_get_pubkey(request.reference) else {
            ERR_clear_error()
            throw .requestKeyNotAllowed
        }
        let publicKey = try unsafe PrivateKey(reference, "X509_REQ_get_pubkey")
        try publicKey.checkForeignPublicKey()
        // A weak digest proves nothing: somebody else's signature could be made to fit.
        guard unsafe segue_x509_request_digest_is_good(request.reference) == 1 else {
            ERR_clear_error()
            throw .requestDigestNotAllowed
        }
        guard unsafe X509_REQ_verify(request.reference, publicKey.reference) == 1 else {
            ERR_clear_error()
            throw .requestSignatureInvalid
        }
        self.request = request
        self.publicKey = publicKey
    }

    /// The names that the certificate gets.
    func names(under policy: SigningPolicy) throws(CertificateAuthorityFault) -> [SubjectAlternativeName] {
        switch policy.requestedNames {
        case .ignored:
            return policy.allowedNames
        case .mustBeAllowed:
            let requested = try requestedNames()
            for name in requested where !policy.allowedNames.contains(name) { throw .requestNameNotAllowed(name.description) }
            return requested.isEmpty ? policy.allowedNames : requested
        }
    }

    /// The names in the request's subjectAltName, each held to the same rules as the operator's own.
    private func requestedNames() throws(CertificateAuthorityFault) -> [SubjectAlternativeName] {
        var present: Int32 = 0
        guard let reference = unsafe segue_x509_request_names(request.reference, &present) else {
            ERR_clear_error()
            if present == 0 { return [] }
            throw .requestMalformed
        }
        let list = try unsafe Owned<NamesObject>(reference, "subjectAltName")
        return try list.checked()
    }
}

extension Owned<NamesObject> {
    /// The names, each held to the rules of ``SubjectAlternativeName``.
    func checked() throws(CertificateAuthorityFault) -> [SubjectAlternativeName] {
        let count = unsafe segue_x509_names_count(reference)
        guard count <= SubjectAlternativeName.countMax else { throw .tooManyNames(max: SubjectAlternativeName.countMax) }
        var names: [SubjectAlternativeName] = []
        for index in 0..<count {
            var type: Int32 = 0
            var length: Int32 = 0
            let start = unsafe segue_x509_names_get(reference, index, &type, &length)
            guard let start = unsafe start, length >= 0 else { throw .requestNameNotAllowed("one of another kind than DNS, IP, URI and email") }
            let octets = unsafe Array(UnsafeBufferPointer(start: start, count: Int(length)))
            names.append(try Self.name(type: type, octets: octets))
        }
        return names
    }

    private static func name(type: Int32, octets: [UInt8]) throws(CertificateAuthorityFault) -> SubjectAlternativeName {
        // Invalid UTF-8 becomes U+FFFD, which no kind of name allows.
        let text = String(decoding: octets, as: UTF8.self)
        switch type {
        case GEN_DNS: return try .dns(text)
        case GEN_URI: return try .uri(text)
        case GEN_EMAIL: return try .email(text)
        default: return try .ip(NameSyntax.addressText(octets) ?? "")
        }
    }
}
