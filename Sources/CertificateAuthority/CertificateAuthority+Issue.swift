extension CertificateAuthority {
    /// Makes a key and a certificate for a server.
    ///
    /// - Parameters:
    ///   - names: 1 to 32 DNS names and IP addresses, in the order of the certificate.
    ///   - label: what to call it, a file name too; taken from the first name if `nil` (`ip-127.0.0.1`, `ip-0--1`, `wildcard.example.org`).
    ///   - validity: from `now`, at most 397 days and never beyond the root's own end; 90 days if `nil`.
    @discardableResult
    package func issueServer(
        names: [SubjectAlternativeName], label: String? = nil, key: KeyAlgorithm = .ecdsaP256, validity: Duration? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        guard let first = names.first else { throw .noNames }
        return try issue(kind: .server, names: names, label: label ?? Self.label(for: first), key: key, validity: validity, now: now)
    }

    /// Makes a key and a certificate for a client.
    ///
    /// - Parameters:
    ///   - name: becomes the identity `urn:segue:client:<name>`, see ``SubjectAlternativeName/client(named:)``.
    ///   - uri: an identity to use in its place.
    ///   - alternativeNames: further DNS names, e-mail addresses or URIs. The relay takes the first URI as the identity.
    ///   - label: `name` if `nil`; another one when a client has several devices with a certificate each.
    ///   - validity: from `now`, at most 825 days and never beyond the root's own end; 365 days if `nil`.
    @discardableResult
    package func issueClient(
        name: String, uri: SubjectAlternativeName? = nil, alternativeNames: [SubjectAlternativeName] = [], label: String? = nil,
        key: KeyAlgorithm = .ecdsaP256, validity: Duration? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        let identity = if let uri { uri } else { try SubjectAlternativeName.client(named: name) }
        return try issue(kind: .client, names: [identity] + alternativeNames, label: label ?? name, key: key, validity: validity, now: now)
    }

    /// Signs the public key of a PEM certificate signing request (PKCS#10, RFC 2986), whose own signature must prove possession of the key.
    ///
    /// - Parameter policy: the kind and the names; nothing else of the request matters.
    @discardableResult
    package func sign(
        request pem: [UInt8], policy: SigningPolicy, label: String, validity: Duration? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        let request = try SigningRequest(pem: pem)
        let names = try request.names(under: policy)
        let lifetime = try Self.check(kind: policy.kind, names: names, label: label, validity: validity)
        var transaction = try AuthorityTransaction.begin(files)
        try transaction.requireFree(label, now: now)
        return try transaction.issue(
            kind: policy.kind, label: label, names: names, validity: lifetime, subjectKey: request.publicKey, heldKey: nil, now: now)
    }

    /// Issues the newest certificate that `selector` names anew, with the same label, kind and names, and a fresh key of the same algorithm. Where
    /// the key is held elsewhere, the same public key is certified again. The one before stays valid until it ends or is revoked.
    ///
    /// - Parameter key: a fresh key of this algorithm in any case.
    /// - Throws: ``CertificateAuthorityFault/revoked(_:)`` when it is revoked.
    @discardableResult
    package func renew(
        _ selector: CertificateSelector, key: KeyAlgorithm? = nil, validity: Duration? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        let lifetimeAsked = validity
        let found = try find(selector)
        let heldKey = key ?? found.entry.key
        // The key is made before the lock is taken: an RSA key may need a second.
        let subjectKey =
            if let heldKey { try heldKey.generate() } else {
                try PEM.read(CertificateObject.self, path: found.paths.certificate).publicKey()
            }
        var transaction = try AuthorityTransaction.begin(files)
        guard let entry = transaction.index.latest(.serial(found.entry.serial)) else { throw .notFound(selector) }
        guard entry.revocation == nil else { throw .revoked(entry.serial) }
        let lifetime = try Self.check(kind: entry.kind, names: entry.names, label: entry.label, validity: lifetimeAsked)
        return try transaction.issue(
            kind: entry.kind, label: entry.label, names: entry.names, validity: lifetime, subjectKey: subjectKey, heldKey: heldKey, now: now)
    }

    private func issue(
        kind: CertificateKind, names: [SubjectAlternativeName], label: String, key algorithm: KeyAlgorithm, validity: Duration?, now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        let lifetime = try Self.check(kind: kind, names: names, label: label, validity: validity)
        let subjectKey = try algorithm.generate()
        var transaction = try AuthorityTransaction.begin(files)
        try transaction.requireFree(label, now: now)
        return try transaction.issue(
            kind: kind, label: label, names: names, validity: lifetime, subjectKey: subjectKey, heldKey: algorithm, now: now)
    }

    /// Everything about a certificate that can be refused before the authority is touched.
    ///
    /// - Returns: the lifetime to use.
    static func check(
        kind: CertificateKind, names: [SubjectAlternativeName], label: String, validity: Duration?
    ) throws(CertificateAuthorityFault) -> Duration {
        try NameSyntax.checkLabel(label)
        guard !names.isEmpty else { throw .noNames }
        guard names.count <= SubjectAlternativeName.countMax else { throw .tooManyNames(max: SubjectAlternativeName.countMax) }
        for name in names {
            let allowed =
                switch (kind, name.kind) {
                case (.server, .dns), (.server, .ip), (.client, .uri), (.client, .email): true
                // A client's certificate is for one client: a wildcard would be an identity that is many.
                case (.client, .dns): !name.value.hasPrefix("*")
                case (.server, .uri), (.server, .email), (.client, .ip): false
                }
            guard allowed else { throw .nameKindNotAllowed(name.nameKind, kind) }
        }
        let lifetime = validity ?? kind.validityDefault
        try check(lifetime, daysMax: kind.validityDaysMax)
        return lifetime
    }

    private static func label(for name: SubjectAlternativeName) -> String {
        switch name.kind {
        case .ip: "ip-" + (name.value.hasPrefix(":") ? "0" : "") + name.value.map { $0 == ":" ? "-" : String($0) }.joined()
        case .dns, .uri, .email: name.value.hasPrefix("*") ? "wildcard" + name.value.dropFirst() : name.value
        }
    }
}

extension AuthorityTransaction {
    /// Two valid certificates of one label come about by renewal only.
    func requireFree(_ label: String, now: UnixTime) throws(CertificateAuthorityFault) {
        guard isFree(label, now: now) else { throw .labelInUse(label) }
    }

    func isFree(_ label: String, now: UnixTime) -> Bool {
        index.positions(of: .label(label)).allSatisfy { position in
            switch index.entries[position].status(at: now) {
            case .valid, .notYetValid: false
            case .expired, .revoked: true
            }
        }
    }
}
