internal import COpenSSL

extension CertificateAuthority {
    /// 100,000 rounds of PBKDF2: about 50 times OpenSSL's own default, still a tenth of a second for a browser that imports the file.
    private static let pkcs12Rounds: Int32 = 100_000
    package static let passwordBytesMax = 256

    /// Writes the certificate, its key and the root as PKCS#12 (RFC 7292), for browsers: AES-256-CBC under PBKDF2 with HMAC-SHA-256, MAC with
    /// SHA-256.
    ///
    /// - Parameters:
    ///   - password: 1 to 256 bytes of UTF-8 without NUL.
    ///   - path: where to write it, mode 0600, instead of `bundle.p12` beside the certificate.
    /// - Returns: the path.
    /// - Throws: ``CertificateAuthorityFault/keyNotHeld(_:)`` when the key was made elsewhere.
    @discardableResult
    package func exportPKCS12(
        _ selector: CertificateSelector, password: String, to path: String? = nil
    ) throws(CertificateAuthorityFault) -> String {
        guard (1...Self.passwordBytesMax).contains(password.utf8.count) else {
            throw .passwordLength(bytesMin: 1, bytesMax: Self.passwordBytesMax)
        }
        guard !password.utf8.contains(0) else { throw .passwordHasNUL }
        let found = try find(selector)
        guard let keyPath = found.paths.key else { throw .keyNotHeld(found.entry.serial) }
        let certificate = try PEM.read(CertificateObject.self, path: found.paths.certificate)
        let key = try PrivateKey.read(path: keyPath)
        let root = try PEM.read(CertificateObject.self, path: files.certificate)
        let chain = try unsafe Owned<CertificateStackObject>(segue_x509_stack_of(root.reference), "certificate stack")
        let bundle = try unsafe Owned<PKCS12Object>(
            PKCS12_create(
                password, found.entry.label, key.reference, certificate.reference, chain.reference, NID_aes_256_cbc, NID_aes_256_cbc,
                Self.pkcs12Rounds, Self.pkcs12Rounds, 0),
            "PKCS12_create")
        let bio = try unsafe Owned<BIOObject>(BIO_new(BIO_s_mem()), "BIO_new")
        try require(unsafe i2d_PKCS12_bio(bio.reference, bundle.reference) == 1, "i2d_PKCS12")
        let target = path ?? files.issued(found.entry.serial) + "/bundle.p12"
        let lock = try FileLock(path: files.lock)
        try PEM.write(bio, to: target, mode: Files.secretMode)
        lock.release()
        return target
    }
}
