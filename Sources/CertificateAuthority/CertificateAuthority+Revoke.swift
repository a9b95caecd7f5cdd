extension CertificateAuthority {
    /// Revokes what `selector` names, and writes a new revocation list. A label names all its certificates, those from before a
    /// renewal included, so that nothing of it remains good. Unless the reason is `superseded`, what devices renewed from a certificate goes with it, and
    /// with a compromised key whatever else certifies it: see ``CertificateIndex/reached(from:by:)``.
    ///
    /// - Returns: all that was revoked, oldest first. What had been revoked before keeps its date and reason.
    /// - Throws: ``CertificateAuthorityFault/notFound(_:)``; ``CertificateAuthorityFault/alreadyRevoked(_:)`` when nothing is left to revoke.
    @discardableResult
    package func revoke(
        _ selector: CertificateSelector, reason: RevocationReason = .unspecified, now: UnixTime
    ) throws(CertificateAuthorityFault) -> [CertificateEntry] {
        var transaction = try AuthorityTransaction.begin(files)
        let found = transaction.index.positions(of: selector)
        guard !found.isEmpty else { throw .notFound(selector) }
        let unrevoked = transaction.index.reached(from: found, by: reason).filter { transaction.index.entries[$0].revocation == nil }
        guard !unrevoked.isEmpty else { throw .alreadyRevoked(selector) }
        try transaction.revoke(at: unrevoked, CertificateEntry.Revocation(at: now, reason: reason), now: now)
        return unrevoked.map { transaction.index.entries[$0] }
    }

    /// Writes a new revocation list with the next number, good from `now` for ``AuthoritySettings/crlValidityDays``.
    package func refreshCRL(now: UnixTime) throws(CertificateAuthorityFault) {
        try AuthorityTransaction.begin(files).writeRevocationList(now: now)
    }

    /// Writes a new revocation list only if the one on disk ends within `margin`, cannot be read, or lacks someone (a revocation that
    /// was cut short between index and list).
    ///
    /// - Returns: whether it wrote one.
    @discardableResult
    package func refreshCRL(ifEndingWithin margin: Duration, now: UnixTime) throws(CertificateAuthorityFault) -> Bool {
        let transaction = try AuthorityTransaction.begin(files)
        if try transaction.revocationListIsComplete(now: now, until: now + margin) { return false }
        try transaction.writeRevocationList(now: now)
        return true
    }
}
