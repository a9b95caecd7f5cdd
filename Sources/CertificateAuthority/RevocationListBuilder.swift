internal import COpenSSL

/// Makes and reads certificate revocation lists, version 2 (RFC 5280 §5).
enum RevocationListBuilder {
    /// A revoked certificate stays on the lists this long beyond its own end, so that at least one list made after that names it (§3.3).
    static let keptAfterExpiry = Duration.days(30)

    /// The entries that a list made at `now` must name.
    static func listed(_ entries: [CertificateEntry], at now: UnixTime) -> [CertificateEntry] {
        entries.filter { $0.revocation != nil && $0.notAfter + keptAfterExpiry >= now }
    }

    static func build(
        entries: [CertificateEntry], number: UInt64, now: UnixTime, validity: Duration, issuer: borrowing Certificate, key: borrowing PrivateKey
    ) throws(CertificateAuthorityFault) -> RevocationList {
        let list = try unsafe RevocationList(X509_CRL_new(), "X509_CRL_new")
        try unsafe require(X509_CRL_set_version(list.reference, 1) == 1, "version 2")
        try unsafe require(X509_CRL_set_issuer_name(list.reference, X509_get_subject_name(issuer.reference)) == 1, "issuer")
        let lastUpdate = try time(now - CertificateBuilder.backdating)
        try unsafe require(X509_CRL_set1_lastUpdate(list.reference, lastUpdate.pointer) == 1, "lastUpdate")
        let nextUpdate = try time(now + validity)
        try unsafe require(X509_CRL_set1_nextUpdate(list.reference, nextUpdate.pointer) == 1, "nextUpdate")
        for entry in listed(entries, at: now) { try add(entry, to: list) }
        try unsafe require(X509_CRL_sort(list.reference) == 1, "sorting")
        try unsafe require(segue_x509_crl_add_authority_key_identifier(list.reference, issuer.reference) == 1, "authority key identifier")
        let numberValue = try unsafe Owned<IntegerObject>(ASN1_INTEGER_new(), "ASN1_INTEGER_new")
        try unsafe require(ASN1_INTEGER_set_uint64(numberValue.pointer, number) == 1, "CRL number")
        try unsafe require(
            X509_CRL_add1_ext_i2d(list.reference, NID_crl_number, UnsafeMutableRawPointer(numberValue.pointer), 0, 0) == 1, "CRL number")
        try unsafe require(X509_CRL_sign(list.reference, key.reference, EVP_sha256()) > 0, "signing the revocation list")
        return list
    }

    private static func add(_ entry: CertificateEntry, to list: borrowing RevocationList) throws(CertificateAuthorityFault) {
        guard let revocation = entry.revocation else { return }
        let revoked = try unsafe Owned<RevokedObject>(X509_REVOKED_new(), "X509_REVOKED_new")
        let serial = try entry.serial.integer()
        try unsafe require(X509_REVOKED_set_serialNumber(revoked.reference, serial.pointer) == 1, "serial number")
        let date = try time(revocation.at)
        try unsafe require(X509_REVOKED_set_revocationDate(revoked.reference, date.pointer) == 1, "revocation date")
        // §5.3.1: rather no reason at all than "unspecified".
        if revocation.reason != .unspecified {
            let reason = try unsafe Owned<EnumeratedObject>(ASN1_ENUMERATED_new(), "ASN1_ENUMERATED_new")
            try unsafe require(ASN1_ENUMERATED_set(reason.pointer, revocation.reason.code) == 1, "reason")
            try unsafe require(
                X509_REVOKED_add1_ext_i2d(revoked.reference, NID_crl_reason, UnsafeMutableRawPointer(reason.pointer), 0, 0) == 1, "reason")
        }
        // The list takes over its own duplicate, so that ours is freed here whether or not that succeeds.
        let duplicate = unsafe X509_REVOKED_dup(revoked.reference)
        guard unsafe X509_CRL_add0_revoked(list.reference, duplicate) == 1 else {
            unsafe X509_REVOKED_free(duplicate)
            throw .cryptography("adding a revoked certificate")
        }
    }

    private static func time(_ time: UnixTime) throws(CertificateAuthorityFault) -> Owned<TimeObject> {
        try unsafe Owned<TimeObject>(ASN1_TIME_set(nil, time_t(time.seconds)), "ASN1_TIME_set")
    }
}

extension Owned<RevocationListObject> {
    /// `nil` when the list carries none, or one beyond 64 bits.
    func number() -> UInt64? {
        guard let raw = unsafe X509_CRL_get_ext_d2i(reference, NID_crl_number, nil, nil),
            let integer = try? unsafe Owned<IntegerObject>(raw.assumingMemoryBound(to: ASN1_INTEGER.self), "CRL number")
        else { return nil }
        var value: UInt64 = 0
        return unsafe ASN1_INTEGER_get_uint64(&value, integer.pointer) == 1 ? value : nil
    }

    func nextUpdate() -> UnixTime? { unsafe unixTime(X509_CRL_get0_nextUpdate(reference)) }

    func names(_ serial: CertificateSerial) throws(CertificateAuthorityFault) -> Bool {
        let integer = try serial.integer()
        var found: OpaquePointer?
        return unsafe X509_CRL_get0_by_serial(reference, &found, integer.pointer) == 1
    }
}
