internal import COpenSSL

/// Everything that a ``TLSConfiguration`` names, read and parsed, with a hash over the very bytes that were parsed.
@safe
final class Credentials {
    @safe
    struct Pair {
        let source: TLSConfiguration.KeyPair
        /// The leaf, then the authorities sent with it.
        let chain: [LibraryObject]
        let key: OpaquePointer
    }

    private(set) var pairs: [Pair] = []
    private(set) var authorities: [LibraryObject] = []
    /// With the file that each is from.
    private(set) var revocationLists: [(list: LibraryObject, path: String)] = []
    /// SHA-256 over the policy, the authorities, the revocation lists and the own certificates, in the configuration's order.
    let trustVersion: SHA256Digest

    init(_ configuration: TLSConfiguration) throws(TLSSetupError) {
        var transcript = Transcript()
        transcript.append("policy", Array("\(configuration.clientCertificate) \(configuration.revocation)".utf8))
        var files: [CredentialFile] = []
        for path in configuration.authorityFiles { files.append(try CredentialFile(path: path)) }
        for path in configuration.revocationListFiles { files.append(try CredentialFile(path: path)) }
        for pair in configuration.keyPairs { files.append(try CredentialFile(path: pair.certificateFile)) }
        for file in files { transcript.append("file", file.bytes) }
        trustVersion = SHA256Digest(hashing: transcript.bytes)
        // From here on every field has its value, so a throw runs `deinit` and frees what was parsed.
        try load(configuration, files[...])
    }

    private func load(_ configuration: TLSConfiguration, _ files: ArraySlice<CredentialFile>) throws(TLSSetupError) {
        var files = files
        for file in files.prefix(configuration.authorityFiles.count) { authorities += try file.certificates() }
        files = files.dropFirst(configuration.authorityFiles.count)
        let listFiles = files.prefix(configuration.revocationListFiles.count)
        for file in listFiles {
            for list in try file.revocationLists() { revocationLists.append((list, path: file.path)) }
        }
        files = files.dropFirst(configuration.revocationListFiles.count)
        try checkDeltas()
        for (source, file) in zip(configuration.keyPairs, files) { try loadPair(source, file) }
    }

    private func loadPair(_ source: TLSConfiguration.KeyPair, _ file: CredentialFile) throws(TLSSetupError) {
        let key = try unsafe CredentialFile(path: source.keyFile).privateKey()
        let chain: [LibraryObject]
        do throws(TLSSetupError) {
            chain = try file.certificates()
        } catch {
            unsafe EVP_PKEY_free(key)
            throw error
        }
        unsafe pairs.append(Pair(source: source, chain: chain, key: key))
        guard unsafe X509_check_private_key(chain[0].pointer, key) == 1 else {
            ErrorQueue.clear()
            throw .keyMismatch(certificate: source.certificateFile, key: source.keyFile)
        }
        let kind = unsafe Self.kind(of: key)
        for pair in pairs.dropLast() where unsafe Self.kind(of: pair.key) == kind {
            throw .duplicateKeyKind(kind: kind, path: source.certificateFile)
        }
    }

    /// The library passes over a delta whose complete list does not point to deltas, and a revocation would go unnoticed.
    private func checkDeltas() throws(TLSSetupError) {
        for (delta, path) in revocationLists where unsafe X509_CRL_get_ext_by_NID(delta.pointer, NID_delta_crl, -1) >= 0 {
            let hasBase = revocationLists.contains { base, _ in
                unsafe X509_CRL_get_ext_by_NID(base.pointer, NID_delta_crl, -1) < 0
                    && X509_CRL_get_ext_by_NID(base.pointer, NID_freshest_crl, -1) >= 0
                    && X509_NAME_cmp(X509_CRL_get_issuer(base.pointer), X509_CRL_get_issuer(delta.pointer)) == 0
            }
            guard hasBase else { throw .deltaWithoutBase(path: path) }
        }
    }

    /// Authorities that must have a revocation list and have none. With ``RevocationPolicy/leaf`` an authority above others is not asked for its own: it is
    /// taken to issue no clients.
    func authoritiesWithoutList(_ policy: RevocationPolicy) -> [String] {
        guard !revocationLists.isEmpty, policy != .whereListed else { return [] }
        let missing = authorities.filter { authority in
            let name = unsafe X509_get_subject_name(authority.pointer)
            let hasList = revocationLists.contains { list, _ in
                unsafe X509_CRL_get_ext_by_NID(list.pointer, NID_delta_crl, -1) < 0 && X509_NAME_cmp(X509_CRL_get_issuer(list.pointer), name) == 0
                    && X509_CRL_verify(list.pointer, X509_get0_pubkey(authority.pointer)) == 1
            }
            if hasList { return false }
            guard policy == .leaf else { return true }
            return !authorities.contains { other in
                unsafe X509_cmp(other.pointer, authority.pointer) != 0 && X509_NAME_cmp(X509_get_issuer_name(other.pointer), name) == 0
            }
        }
        ErrorQueue.clear()
        return missing.map { authority in unsafe CertificateReader.text(of: X509_get_subject_name(authority.pointer)) ?? "?" }
    }

    private static func kind(of key: OpaquePointer) -> String {
        guard let name = unsafe EVP_PKEY_get0_type_name(key) else { return "unknown" }
        return unsafe String(cString: name)
    }

    deinit {
        for pair in pairs {
            for certificate in pair.chain { unsafe X509_free(certificate.pointer) }
            unsafe EVP_PKEY_free(pair.key)
        }
        for authority in authorities { unsafe X509_free(authority.pointer) }
        for (list, _) in revocationLists { unsafe X509_CRL_free(list.pointer) }
    }
}

/// Bytes to be hashed, each part preceded by its label and length, so that no two different lists of parts give the same bytes.
private struct Transcript {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ label: String, _ part: [UInt8]) {
        bytes += Array("\(label) \(part.count)\n".utf8)
        bytes += part
    }
}
