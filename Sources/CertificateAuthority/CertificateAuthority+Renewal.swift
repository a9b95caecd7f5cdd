/// The certificate that a device has shown in a handshake, which has verified it and proven that the device has its key.
package struct PresentedCertificate: Hashable, Sendable {
    package let serial: CertificateSerial
    /// Beside the number, since another authority that the relay trusts may use the same numbers.
    package let keyFingerprint: KeyFingerprint

    package init(serial: CertificateSerial, keyFingerprint: KeyFingerprint) {
        self.serial = serial
        self.keyFingerprint = keyFingerprint
    }
}

/// When a device may renew its certificate by itself.
package struct RenewalPolicy: Hashable, Sendable {
    /// The share of its life that a certificate must have behind it, in percent: 0 to 99.
    package let lifePercent: Int
    /// Between two renewals that end up in the same label.
    static let interval = Duration.seconds(60)
    /// One certificate is renewed this often at most: more often than answers are lost, and few enough for the index.
    static let successorsMax = 8

    /// Half of its life unless told otherwise; values outside of 0 to 99 are taken to the nearer end.
    package init(lifePercent: Int = 50) {
        self.lifePercent = min(max(lifePercent, 0), 99)
    }
}

extension CertificateAuthority {
    /// Issues a client's certificate anew for the key of a signing request, the same key or another: same label, same names, and as long a life as
    /// the one before.
    ///
    /// The one before stays valid until it ends or is revoked, so that a device that never got the answer can try again; it is superseded, and not
    /// renewed any more, as soon as a certificate that renewed it has been renewed in its turn.
    ///
    /// `live/<label>` stays with what the operator issued: whoever has a stolen certificate could hide it behind its renewal.
    ///
    /// - Throws: ``CertificateAuthorityFault/notPresentable`` for a certificate that is not a valid client certificate of this authority;
    ///   ``CertificateAuthorityFault/revoked(_:)`` also for one that was renewed from a revoked one, ``CertificateAuthorityFault/superseded(_:)``,
    ///   ``CertificateAuthorityFault/renewalTooEarly(until:)``; what is wrong with the request; ``CertificateAuthorityFault/keyBelongsToAnother``.
    package func renew(
        presenting presented: PresentedCertificate, request pem: [UInt8], policy: RenewalPolicy = RenewalPolicy(), now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        // Before the lock: a strange request costs nobody else anything.
        try AuthorityTransaction.readIndex(files).requireRenewable(presented, policy: policy, now: now)
        let request = try SigningRequest(pem: pem)
        var transaction = try AuthorityTransaction.begin(files)
        let entry = try transaction.index.requireRenewable(presented, policy: policy, now: now)
        try transaction.requireOwnKey(of: request, names: entry.names)
        let keepsKey = try request.publicKey.fingerprint() == entry.keyFingerprint
        let lifetime = Duration.seconds(max(entry.lifeSeconds, 1))
        // A key that is kept here as well stays with its newest certificate.
        if keepsKey, let algorithm = entry.key {
            let held = try PrivateKey.read(path: AuthorityFiles.key(in: files.issued(entry.serial)))
            return try transaction.issue(
                kind: .client, label: entry.label, names: entry.names, validity: lifetime, subjectKey: held, heldKey: algorithm,
                origin: CertificateOrigin(predecessor: entry.serial), now: now)
        }
        return try transaction.issue(
            kind: .client, label: entry.label, names: entry.names, validity: lifetime, subjectKey: request.publicKey, heldKey: nil,
            origin: CertificateOrigin(predecessor: entry.serial), now: now)
    }
}

extension CertificateIndex {
    @discardableResult
    fileprivate func requireRenewable(
        _ presented: PresentedCertificate, policy: RenewalPolicy, now: UnixTime
    ) throws(CertificateAuthorityFault) -> CertificateEntry {
        guard let entry = latest(.serial(presented.serial)), entry.kind == .client, entry.keyFingerprint == presented.keyFingerprint else {
            throw .notPresentable
        }
        switch entry.status(at: now) {
        case .valid: break
        case .revoked: throw .revoked(entry.serial)
        case .expired, .notYetValid: throw .notPresentable
        }
        if let ancestor = revokedAncestor(of: entry) { throw .revoked(ancestor) }
        let successors = entries.filter { $0.origin.predecessor == entry.serial }
        let serials = Set(successors.map(\.serial))
        let isSuperseded = entries.contains { $0.origin.predecessor.map(serials.contains) ?? false }
        guard !isSuperseded, successors.count < RenewalPolicy.successorsMax else { throw .superseded(entry.serial) }
        let ripe = entry.issued + .seconds(entry.lifeSeconds / 100 * Int64(policy.lifePercent))
        guard now >= ripe else { throw .renewalTooEarly(until: ripe) }
        // Whoever has renewed within the last minute has lost the answer, or is mad: both can wait.
        let last = entries.last { $0.label == entry.label && $0.origin.predecessor != nil }
        if let last, now < last.issued + RenewalPolicy.interval { throw .renewalTooEarly(until: last.issued + RenewalPolicy.interval) }
        return entry
    }
}

extension CertificateEntry {
    /// When it was made, give or take: its beginning lies before that, but never before its issuer's.
    fileprivate var issued: UnixTime { notBefore + CertificateBuilder.backdating }
    fileprivate var lifeSeconds: Int64 { notAfter.seconds - issued.seconds }
}
