extension CertificateAuthority {
    /// Spends a token: signs the key of a PEM certificate signing request (PKCS#10, RFC 2986) for the identity that the token names. Names, extensions
    /// and attributes of the request are ignored.
    ///
    /// A token is spent in the same step that enters the certificate into the index, so that it is good for exactly one certificate, whatever
    /// crashes, and however many threads and processes try at once. A request that is refused does not spend it.
    ///
    /// - Throws: ``CertificateAuthorityFault/tokenNotAccepted``, the same for one that never was, is spent, revoked or past its end, before the request
    ///   is looked at; then what is wrong with the request; ``CertificateAuthorityFault/keyBelongsToAnother``.
    package func enrol(
        token secret: EnrolmentSecret, request pem: [UInt8], now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        let tokens = EnrolmentTokenFiles(files: files)
        // Without the lock, so that wrong tokens keep nobody waiting.
        guard let presented = try tokens.find(secret), presented.status(at: now) == .open else { throw .tokenNotAccepted }
        let request = try SigningRequest(pem: pem)

        var transaction = try AuthorityTransaction.begin(files)
        guard let found = try tokens.find(secret) else { throw .tokenNotAccepted }
        var token = transaction.index.completed(found)
        guard token.status(at: now) == .open else { throw .tokenNotAccepted }
        try transaction.requireOwnKey(of: request, names: token.names)
        let isFree = transaction.isFree(token.label, now: now) && !transaction.index.hasServer(token.label)
        let label = isFree ? token.label : Self.label(token.label, of: token.id)
        try transaction.requireFree(label, now: now)
        let issued = try transaction.issue(
            kind: .client, label: label, names: token.names, validity: token.certificateValidity, subjectKey: request.publicKey, heldKey: nil,
            origin: CertificateOrigin(token: token.id), now: now)
        token.use = EnrolmentToken.Use(at: now, serial: issued.entry.serial)
        // The index has it already: this only spares the next one who tries the token the way to the lock.
        try? tokens.write(token)
        return issued
    }

    /// PEM of a certificate and of the root, as a device needs them.
    package func bundle(_ issued: IssuedCertificate) throws(CertificateAuthorityFault) -> (certificate: String, chain: String) {
        let texts = try [issued.paths.certificate, files.certificate].map { (path) throws(CertificateAuthorityFault) in
            String(decoding: try Files.read(path, bytesMax: Files.pemBytesMax).copy, as: UTF8.self)
        }
        return (texts[0], texts[1])
    }

    static func label(_ label: String, of identifier: EnrolmentTokenID) -> String {
        let suffix = "-" + identifier.description
        return String(label.prefix(NameSyntax.labelBytesMax - suffix.utf8.count)) + suffix
    }
}

extension AuthorityTransaction {
    /// One key is one identity: pairs, grants and end-to-end keys are bound to its fingerprint. Refuses the key of another identity, of the authority
    /// itself, and one that is known to have leaked. The identity is the name that the relay takes for it, so that the order of names matters.
    func requireOwnKey(of request: borrowing SigningRequest, names: [SubjectAlternativeName]) throws(CertificateAuthorityFault) {
        let fingerprint = try request.publicKey.fingerprint()
        guard try certificate.publicKey().fingerprint() != fingerprint else { throw .keyBelongsToAnother }
        for entry in index.entries where try keyFingerprint(of: entry) == fingerprint {
            guard entry.revocation?.reason != .keyCompromise else { throw .keyCompromised }
            guard entry.kind == .client, entry.names.identifying == names.identifying else { throw .keyBelongsToAnother }
        }
    }

    /// Older entries lack it, and their certificate has it; one whose file is gone cannot be known any more.
    private func keyFingerprint(of entry: CertificateEntry) throws(CertificateAuthorityFault) -> KeyFingerprint? {
        if let known = entry.keyFingerprint { return known }
        let path = AuthorityFiles.certificate(in: files.issued(entry.serial))
        guard Files.exists(path) else { return nil }
        return try PEM.read(CertificateObject.self, path: path).publicKey().fingerprint()
    }
}
