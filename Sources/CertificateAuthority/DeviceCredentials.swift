internal import COpenSSL

/// The device's side of enrolment: a key that never leaves it, the request for a certificate, and the files that both end up in.
///
/// Everything that can fail here fails before the request is sent: a token is spent once, and a disk that is full must not be what it was spent on.
package struct DeviceCredentials: Sendable {
    package let certificatePath: String
    package let keyPath: String

    /// Where a new key waits for its certificate, and a certificate for the key beside it.
    private var pendingKeyPath: String { keyPath + ".new" }
    private var pendingCertificatePath: String { certificatePath + ".new" }

    package init(certificatePath: String, keyPath: String) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
    }

    package var exist: Bool { Files.exists(certificatePath) || Files.exists(keyPath) }

    /// Makes a key, which is not in force before ``install(certificate:keyIsNew:)``.
    ///
    /// - Returns: the signing request for it in PEM (PKCS#10). It names nobody: the authority knows whom a token is for.
    package func requestWithNewKey(_ algorithm: KeyAlgorithm = .ecdsaP256) throws(CertificateAuthorityFault) -> String {
        for path in [certificatePath, keyPath] { try Files.makeFolder(Files.folder(of: path)) }
        let key = try algorithm.generate()
        try PEM.write(key, to: pendingKeyPath, mode: Files.secretMode)
        return try Self.request(key)
    }

    /// The signing request for the key that is in force.
    package func requestWithPresentKey() throws(CertificateAuthorityFault) -> String { try Self.request(try PrivateKey.read(path: keyPath)) }

    /// Forgets a key whose request came to nothing.
    package func discardNewKey() { try? Files.remove(pendingKeyPath) }

    /// Puts the certificate, and the new key with it, into force. ``recover()`` completes it after a crash.
    ///
    /// - Parameter certificate: PEM.
    /// - Returns: whom it is for, and until when.
    /// - Throws: ``CertificateAuthorityFault/keyMismatch(path:)`` for one that is about another key: nothing is changed.
    package func install(
        certificate: String, keyIsNew: Bool
    ) throws(CertificateAuthorityFault) -> (names: [SubjectAlternativeName], notAfter: UnixTime) {
        let used = keyIsNew ? pendingKeyPath : keyPath
        let bytes = Array(certificate.utf8)
        guard let object = try PEM.read(CertificateObject.self, from: SecretBytes(bytes.span)), let validity = object.validity() else {
            throw .malformedPEM(path: "what the relay sent")
        }
        guard try Self.isAbout(object, keyAt: used) else { throw .keyMismatch(path: used) }
        let names = try object.names()
        try Files.write(certificate, to: pendingCertificatePath, mode: Files.publicMode)
        if keyIsNew { try Files.move(pendingKeyPath, to: keyPath) }
        try Files.move(pendingCertificatePath, to: certificatePath)
        return (names, validity.notAfter)
    }

    /// Mends what was cut short between the two moves of ``install(certificate:keyIsNew:)``.
    package func recover() throws(CertificateAuthorityFault) {
        guard Files.exists(pendingCertificatePath), Files.exists(keyPath) else { return }
        let object = try PEM.read(CertificateObject.self, path: pendingCertificatePath)
        if try Self.isAbout(object, keyAt: keyPath) {
            try Files.move(pendingCertificatePath, to: certificatePath)
        } else {
            try Files.remove(pendingCertificatePath)
        }
    }

    /// When the certificate in force ends.
    package func notAfter() throws(CertificateAuthorityFault) -> UnixTime {
        guard let validity = try PEM.read(CertificateObject.self, path: certificatePath).validity() else {
            throw .malformedPEM(path: certificatePath)
        }
        return validity.notAfter
    }

    /// Writes the authorities above the certificate, which are no secret, to a file beside it.
    package func writeChain(_ text: String, to path: String) throws(CertificateAuthorityFault) {
        try Files.write(text, to: path, mode: Files.publicMode)
    }

    private static func isAbout(_ certificate: borrowing Certificate, keyAt path: String) throws(CertificateAuthorityFault) -> Bool {
        try certificate.publicKey().fingerprint() == PrivateKey.read(path: path).fingerprint()
    }

    private static func request(_ key: borrowing PrivateKey) throws(CertificateAuthorityFault) -> String {
        let request = try unsafe CertificateRequest(X509_REQ_new(), "X509_REQ_new")
        try unsafe require(X509_REQ_set_version(request.reference, 0) == 1, "version 1")
        try unsafe require(X509_REQ_set_pubkey(request.reference, key.reference) == 1, "public key")
        // Ed25519 hashes by itself (RFC 8410), and takes no digest.
        let digest = unsafe EVP_PKEY_get_base_id(key.reference) == EVP_PKEY_ED25519 ? nil : EVP_sha256()
        try unsafe require(X509_REQ_sign(request.reference, key.reference, digest) > 0, "signing the request")
        return try PEM.text(request)
    }
}

extension Owned<CertificateObject> {
    /// Its subject alternative names; none when it has no such extension.
    func names() throws(CertificateAuthorityFault) -> [SubjectAlternativeName] {
        guard let reference = unsafe X509_get_ext_d2i(reference, NID_subject_alt_name, nil, nil) else {
            ERR_clear_error()
            return []
        }
        return try unsafe Owned<NamesObject>(OpaquePointer(reference), "subjectAltName").checked()
    }
}
