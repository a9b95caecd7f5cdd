extension CertificateAuthority {
    /// Makes a one-time token, with which one device gets one client certificate by ``enrol(token:request:now:)``.
    ///
    /// - Parameters:
    ///   - names: the identity that the device gets: URIs, DNS names, e-mail addresses, in the order of the certificate.
    ///   - label: what the certificate goes by; from the first name if `nil`. Another one is taken at enrolment if something goes by it then, so that
    ///     several devices of one identity need no thought.
    ///   - validity: how long the token can be used, a second to 30 days; an hour by default.
    ///   - certificateValidity: the certificate's lifetime from enrolment on, at most 825 days; a year if `nil`.
    /// - Returns: what is remembered, and the secret, which cannot be had again.
    /// - Throws: ``CertificateAuthorityFault/tokensFull(max:)`` when 1,000 are remembered already.
    package func createEnrolmentToken(
        names: [SubjectAlternativeName], label: String? = nil, validity: Duration = EnrolmentToken.validityDefault,
        certificateValidity: Duration? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> (token: EnrolmentToken, secret: EnrolmentSecret) {
        guard let first = names.first else { throw .noNames }
        let label = label ?? Self.deviceLabel(for: first)
        let lifetime = try Self.check(kind: .client, names: names, label: label, validity: certificateValidity)
        guard validity >= .seconds(1), validity <= EnrolmentToken.validityMax else {
            throw .tokenValidityOutOfRange(daysMax: Int(EnrolmentToken.validityMax.components.seconds / 86_400))
        }
        let secret = try EnrolmentSecret()
        let digest = try secret.digest()
        let token = EnrolmentToken(
            id: EnrolmentTokenID(digest: digest), digest: digest, names: names, label: label, created: now, expires: now + validity,
            certificateValidity: lifetime, use: nil, revoked: nil)
        let transaction = try AuthorityTransaction.begin(files)
        let tokens = EnrolmentTokenFiles(files: transaction.files)
        try tokens.makeRoom(now: now)
        try tokens.write(token)
        return (token, secret)
    }

    /// Every token that is remembered, oldest first: open ones, and those that were used, revoked or ended within the last week.
    package func enrolmentTokens() throws(CertificateAuthorityFault) -> [EnrolmentToken] {
        let index = try AuthorityTransaction.readIndex(files)
        return try EnrolmentTokenFiles(files: files).list().map { index.completed($0) }
    }

    /// Makes an open token worthless.
    ///
    /// - Throws: ``CertificateAuthorityFault/tokenNotFound(_:)``; ``CertificateAuthorityFault/tokenEnded(_:_:)`` when it is not open any more.
    @discardableResult
    package func revokeEnrolmentToken(_ identifier: EnrolmentTokenID, now: UnixTime) throws(CertificateAuthorityFault) -> EnrolmentToken {
        let transaction = try AuthorityTransaction.begin(files)
        let tokens = EnrolmentTokenFiles(files: transaction.files)
        var token = transaction.index.completed(try tokens.read(identifier))
        let status = token.status(at: now)
        guard status == .open else { throw .tokenEnded(identifier, status) }
        token.revoked = now
        try tokens.write(token)
        return token
    }

    /// `carol` for `urn:segue:client:carol`; of any other name what a label can hold of it.
    package static func deviceLabel(for name: SubjectAlternativeName) -> String {
        let prefix = "urn:segue:client:"
        let text = name.kind == .uri && name.value.hasPrefix(prefix) ? String(name.value.dropFirst(prefix.utf8.count)) : name.value
        let label = text.utf8.map { byte in
            NameSyntax.isLabelByte(byte) ? Character(Unicode.Scalar(byte)) : "-"
        }.drop { !NameSyntax.isLabelByte($0.asciiValue ?? 0) || ".-_".contains($0) }
        return label.isEmpty ? "device" : String(String(label).prefix(NameSyntax.labelBytesMax))
    }
}

extension CertificateIndex {
    /// The index is what decides whether a token is used: the token's own file may lag behind it after a crash.
    func completed(_ token: EnrolmentToken) -> EnrolmentToken {
        guard token.use == nil, let entry = entries.first(where: { $0.origin.token == token.id }) else { return token }
        var token = token
        token.use = EnrolmentToken.Use(at: entry.notBefore + CertificateBuilder.backdating, serial: entry.serial)
        return token
    }
}
