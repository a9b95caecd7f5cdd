internal import COpenSSL

/// The relay's own certificate authority: one root key in a folder of its own, which signs certificates for servers and clients and lists the
/// revoked ones.
///
/// The value holds no key and no file: every operation takes the folder's lock, reads what is there, and leaves it whole, so that several
/// threads and several processes may use one authority at the same time. Operations block on the disk: none belongs on an event loop.
///
/// Its certificates (X.509 version 3, RFC 5280) have ECDSA with SHA-256 signatures unless the root key is RSA, serial numbers of 126 random bits,
/// and begin five minutes before they are made. The root signs leaves only (path length 0).
package struct CertificateAuthority: Sendable {
    /// Ten years of 365 days.
    package static let validityDefault = Duration.days(3_650)
    /// A root may last this long at most.
    package static let validityDaysMax = 7_300

    package let directory: String
    private(set) var files: AuthorityFiles

    /// `ca.pem`: what relying parties trust.
    package var certificatePath: String { files.certificate }
    /// `crl.pem`: who is no longer to be trusted.
    package var revocationListPath: String { files.revocationList }

    private init(directory: String) {
        self.directory = directory
        files = AuthorityFiles(folder: directory)
    }

    /// Makes an authority with an empty revocation list. The folder and what is missing above it are made with mode 0700; one that is there already
    /// keeps its mode, and is refused where others may write (``CertificateAuthorityFault/folderExposed(path:mode:)``).
    ///
    /// - Parameters:
    ///   - commonName: 1 to 64 printable ASCII characters; people see it in dialogs.
    ///   - validity: from `now`, at most 20 years.
    /// - Throws: ``CertificateAuthorityFault/alreadyExists(path:)`` when the folder holds an authority; nothing is overwritten.
    package static func create(
        directory: String, commonName: String, key algorithm: KeyAlgorithm = .ecdsaP256, validity: Duration = validityDefault,
        settings: AuthoritySettings? = nil, now: UnixTime
    ) throws(CertificateAuthorityFault) -> CertificateAuthority {
        try NameSyntax.checkCommonName(commonName)
        try check(validity, daysMax: validityDaysMax)
        let settings = if let settings { settings } else { try AuthoritySettings() }
        let authority = CertificateAuthority(directory: directory)
        let files = authority.files
        try Files.makeFolder(directory)
        let mode = try Files.mode(of: directory)
        guard mode & 0o022 == 0 else { throw .folderExposed(path: directory, mode: mode) }
        let lock = try FileLock(path: files.lock)
        // `ca.pem` is written last: without it and without an issued certificate there is only the rest of a creation that was cut short.
        guard !Files.exists(files.certificate), (try? AuthorityTransaction.readIndex(files).entries.isEmpty) ?? !Files.exists(files.index) else {
            throw .alreadyExists(path: directory)
        }
        try Files.makeFolder(files.issued)
        try Files.makeFolder(files.live)
        let key = try algorithm.generate()
        let certificate = try CertificateBuilder.authority(
            commonName: commonName, key: key, notBefore: now - CertificateBuilder.backdating, notAfter: now + validity)
        try PEM.write(key, to: files.key, mode: Files.secretMode)
        try settings.write(path: files.settings)
        try Files.write("", to: files.index, mode: Files.secretMode)
        let list = try RevocationListBuilder.build(
            entries: [], number: 1, now: now, validity: .days(settings.crlValidityDays), issuer: certificate, key: key)
        try PEM.write(list, to: files.revocationList, mode: Files.publicMode)
        try PEM.write(certificate, to: files.certificate, mode: Files.publicMode)
        lock.release()
        return authority
    }

    /// Finds the authority in a folder, checks that its key is there, its owner's alone, and the certificate's, and mends what a crash left half done.
    ///
    /// - Parameter lockTimeout: how long an operation waits for another's end before it throws ``CertificateAuthorityFault/lockTimeout(path:)``.
    package static func open(
        directory: String, lockTimeout: Duration = .seconds(30)
    ) throws(CertificateAuthorityFault) -> CertificateAuthority {
        var authority = CertificateAuthority(directory: directory)
        authority.files.lockTimeout = lockTimeout
        _ = try AuthorityTransaction.begin(authority.files).index.entries.count
        return authority
    }

    package func settings() throws(CertificateAuthorityFault) -> AuthoritySettings { try AuthoritySettings.read(path: files.settings) }

    /// From when to when the root certificate holds.
    package func validity() throws(CertificateAuthorityFault) -> (notBefore: UnixTime, notAfter: UnixTime) {
        guard let validity = try PEM.read(CertificateObject.self, path: files.certificate).validity() else {
            throw .malformedPEM(path: files.certificate)
        }
        return validity
    }

    /// Every certificate that was ever signed, oldest first. Needs no lock and no key. Ask each for its ``CertificateEntry/status(at:)``.
    package func list() throws(CertificateAuthorityFault) -> [CertificateEntry] {
        try AuthorityTransaction.readIndex(files).entries
    }

    /// The newest certificate that `selector` names.
    package func find(_ selector: CertificateSelector) throws(CertificateAuthorityFault) -> IssuedCertificate {
        guard let entry = try AuthorityTransaction.readIndex(files).latest(selector) else { throw .notFound(selector) }
        return IssuedCertificate(entry, in: files)
    }

    static func check(_ validity: Duration, daysMax: Int) throws(CertificateAuthorityFault) {
        guard validity >= .seconds(1), validity <= .days(daysMax) else { throw .validityOutOfRange(daysMax: daysMax) }
    }
}
