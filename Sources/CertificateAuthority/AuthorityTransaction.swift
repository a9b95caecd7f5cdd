internal import COpenSSL

/// One change to the authority, from taking its lock to dropping it. Nobody else changes any of its files meanwhile.
///
/// A certificate is first written whole into a staging folder, then entered into the index, then moved into place and linked. Whatever
/// point a crash strikes, ``recover()`` at the next change either completes it (the index knows it) or removes it (nobody has seen it).
struct AuthorityTransaction: ~Copyable {
    private let lock: FileLock
    let files: AuthorityFiles
    let settings: AuthoritySettings
    let certificate: Certificate
    private let key: PrivateKey
    private let validity: (notBefore: UnixTime, notAfter: UnixTime)
    private(set) var index: CertificateIndex

    private init(
        lock: consuming FileLock, files: AuthorityFiles, settings: AuthoritySettings, certificate: consuming Certificate,
        key: consuming PrivateKey, validity: (notBefore: UnixTime, notAfter: UnixTime), index: CertificateIndex
    ) {
        self.lock = lock
        self.files = files
        self.settings = settings
        self.certificate = certificate
        self.key = key
        self.validity = validity
        self.index = index
    }

    /// Takes the lock, reads everything and mends what a crash left half done.
    static func begin(_ files: AuthorityFiles) throws(CertificateAuthorityFault) -> AuthorityTransaction {
        guard Files.exists(files.certificate), Files.exists(files.key), Files.exists(files.index) else { throw .noAuthority(path: files.folder) }
        let lock = try FileLock(path: files.lock, timeout: files.lockTimeout)
        let settings = try AuthoritySettings.read(path: files.settings)
        let certificate = try PEM.read(CertificateObject.self, path: files.certificate)
        let key = try PrivateKey.read(path: files.key)
        guard unsafe X509_check_private_key(certificate.reference, key.reference) == 1 else {
            ERR_clear_error()
            throw .keyMismatch(path: files.key)
        }
        guard let validity = certificate.validity() else { throw .malformedPEM(path: files.certificate) }
        let transaction = AuthorityTransaction(
            lock: lock, files: files, settings: settings, certificate: certificate, key: key, validity: validity, index: try readIndex(files))
        try transaction.recover()
        return transaction
    }

    static func readIndex(_ files: AuthorityFiles) throws(CertificateAuthorityFault) -> CertificateIndex {
        guard Files.exists(files.index) else { throw .noAuthority(path: files.folder) }
        return try CertificateIndex(parsing: try Files.read(files.index, bytesMax: CertificateIndex.bytesMax).copy, path: files.index)
    }

    /// Signs, records and files one certificate.
    ///
    /// - Parameters:
    ///   - heldKey: the algorithm when `subjectKey` has a private half to be kept, else `nil`.
    ///   - origin: written into the index in the same step as the certificate.
    mutating func issue(
        kind: CertificateKind, label: String, names: [SubjectAlternativeName], validity lifetime: Duration,
        subjectKey: borrowing PrivateKey, heldKey: KeyAlgorithm?, origin: CertificateOrigin = CertificateOrigin(), now: UnixTime
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        try requireValidAuthority(at: now)
        let serial = try CertificateBuilder.randomSerial()
        // A leaf that outlives its issuer would only fail later and less clearly.
        let notBefore = max(now - CertificateBuilder.backdating, validity.notBefore)
        let notAfter = min(now + lifetime, validity.notAfter)
        let leaf = CertificateBuilder.Leaf(
            kind: kind, commonName: label, names: names, serial: serial, notBefore: notBefore, notAfter: notAfter,
            crlDistributionPoint: settings.crlDistributionPoint)
        let signed = try CertificateBuilder.leaf(leaf, publicKey: subjectKey, issuer: certificate, issuerKey: key)
        let entry = CertificateEntry(
            serial: serial, kind: kind, label: label, names: names, notBefore: notBefore, notAfter: notAfter, key: heldKey,
            keyFingerprint: try subjectKey.fingerprint(), origin: origin, revocation: nil)

        let staged = files.staged(serial)
        try Files.makeFolder(staged)
        try PEM.write(signed, to: AuthorityFiles.certificate(in: staged), mode: Files.publicMode)
        if heldKey != nil { try PEM.write(subjectKey, to: AuthorityFiles.key(in: staged), mode: Files.secretMode) }
        try index.append(entry)
        try writeIndex()
        try publish(entry)
        return IssuedCertificate(entry, in: files)
    }

    mutating func revoke(at positions: [Int], _ revocation: CertificateEntry.Revocation, now: UnixTime) throws(CertificateAuthorityFault) {
        for position in positions { index.revoke(at: position, revocation) }
        try writeIndex()
        try writeRevocationList(now: now)
    }

    /// Numbers only ever grow (RFC 5280 §5.2.3): one more than the list before; where that cannot be read, the seconds of `now`, which is more
    /// than any count of lists.
    func writeRevocationList(now: UnixTime) throws(CertificateAuthorityFault) {
        try requireValidAuthority(at: now)
        let list = try RevocationListBuilder.build(
            entries: index.entries, number: nextRevocationListNumber(now: now), now: now, validity: .days(settings.crlValidityDays),
            issuer: certificate, key: key)
        try PEM.write(list, to: files.revocationList, mode: Files.publicMode)
    }

    private func nextRevocationListNumber(now: UnixTime) -> UInt64 {
        guard let list = try? PEM.read(RevocationListObject.self, path: files.revocationList), let number = list.number(), number < UInt64.max else {
            return UInt64(now.seconds)
        }
        return number + 1
    }

    private func requireValidAuthority(at now: UnixTime) throws(CertificateAuthorityFault) {
        guard validity.notBefore <= now, now < validity.notAfter else {
            throw .authorityNotValid(notBefore: validity.notBefore, notAfter: validity.notAfter)
        }
    }

    private func writeIndex() throws(CertificateAuthorityFault) {
        try Files.write(try index.encoded(), to: files.index, mode: Files.secretMode)
    }

    /// Moves a staged certificate into place and, unless a device renewed it by itself, makes it its label's newest.
    private func publish(_ entry: CertificateEntry) throws(CertificateAuthorityFault) {
        try Files.move(files.staged(entry.serial), to: files.issued(entry.serial))
        if entry.origin.predecessor == nil { try Files.link(files.live(entry.label), to: files.liveTarget(entry.serial)) }
    }

    private func recover() throws(CertificateAuthorityFault) {
        for name in try Files.list(files.issued) where name.hasPrefix(".") {
            if let serial = CertificateSerial(String(name.dropFirst())), let entry = index.latest(.serial(serial)) {
                try publish(entry)
            } else {
                try Files.removeFolder(files.issued + "/" + name)
            }
        }
        // Only the newest of all can lack its link: every earlier one was linked before the next change began.
        if let last = index.entries.last, last.origin.predecessor == nil, Files.exists(files.issued(last.serial)),
            Files.linkTarget(files.live(last.label)) != files.liveTarget(last.serial)
        {
            try Files.link(files.live(last.label), to: files.liveTarget(last.serial))
        }
    }

    /// Whether the list on disk can be read, names everyone whom it must, and holds until `moment`.
    func revocationListIsComplete(now: UnixTime, until moment: UnixTime) throws(CertificateAuthorityFault) -> Bool {
        guard let list = try? PEM.read(RevocationListObject.self, path: files.revocationList), let nextUpdate = list.nextUpdate(), nextUpdate > moment
        else { return false }
        for entry in RevocationListBuilder.listed(index.entries, at: now) where try !list.names(entry.serial) { return false }
        return true
    }
}
