internal import COpenSSL

/// What is wrong with each of the files of a configuration by itself, for who wants to know of all of them at once. ``TLSContext`` stops at the first.
package enum CredentialInspection {
    /// Blocks on the disk.
    package static func faults(of pair: TLSConfiguration.KeyPair) -> [TLSSetupError] {
        var faults: [TLSSetupError] = []
        faults += fault { () throws(TLSSetupError) in
            for certificate in try CredentialFile(path: pair.certificateFile).certificates() { unsafe X509_free(certificate.pointer) }
        }
        faults += fault { () throws(TLSSetupError) in unsafe EVP_PKEY_free(try CredentialFile(path: pair.keyFile).privateKey()) }
        if let path = pair.ocspResponseFile { faults += fault { () throws(TLSSetupError) in _ = try CredentialFile(path: path) } }
        return faults
    }

    /// Blocks on the disk.
    package static func faults(ofRevocationList path: String) -> [TLSSetupError] {
        fault { () throws(TLSSetupError) in
            for list in try CredentialFile(path: path).revocationLists() { unsafe X509_CRL_free(list.pointer) }
        }
    }

    private static func fault(_ body: () throws(TLSSetupError) -> Void) -> [TLSSetupError] {
        do throws(TLSSetupError) {
            LibraryMemory.prepare()
            try body()
            return []
        } catch {
            return [error]
        }
    }
}
