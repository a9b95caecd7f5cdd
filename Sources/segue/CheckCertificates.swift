import COpenSSL
import CertificateAuthority
import FoundationEssentials
import Glibc
import TLSTransport

/// Whether the files of a TLS configuration can be used, and for how long.
enum CheckCertificates {
    /// What ends within this time is worth a warning.
    static let certificateMargin = Duration.days(14)
    static let revocationListMargin = Duration.days(1)

    static func check(_ configuration: TLSConfiguration, now: UnixTime, _ report: inout CheckReport) {
        let failures = report.failures
        defer {
            // What only shows with all of it together, such as two pairs of one kind.
            if report.failures == failures, !configuration.keyPairs.isEmpty, !configuration.authorityFiles.isEmpty {
                _ = usable("tls", &report) { () throws(TLSSetupError) in _ = try TLSContext(server: configuration, tickets: nil) }
            }
        }
        for pair in configuration.keyPairs { check(pair, configuration.authorityFiles, now: now, &report) }
        var alone = TLSConfiguration()
        for path in configuration.authorityFiles {
            var one = TLSConfiguration()
            one.authorityFiles = [path]
            guard usable(path, &report, { () throws(TLSSetupError) in _ = try TLSContext(client: one) }) else { continue }
            for certificate in PEMFile.certificates(path) { validity(of: certificate, in: path, "authority", now: now, &report) }
            alone.authorityFiles.append(path)
        }
        revocationLists(configuration, with: alone, now: now, &report)
    }

    /// - Parameter authorities: those that can be used.
    private static func revocationLists(
        _ configuration: TLSConfiguration, with authorities: TLSConfiguration, now: UnixTime, _ report: inout CheckReport
    ) {
        if configuration.revocationListFiles.isEmpty, !configuration.authorityFiles.isEmpty {
            report.add(.warn, "tls.revocationLists", "empty: a stolen client certificate cannot be shut out", advice: "Name the authority's crl.pem.")
        }
        var all = authorities
        all.revocation = configuration.revocation
        for path in configuration.revocationListFiles {
            let faults = CredentialInspection.faults(ofRevocationList: path)
            for fault in faults { add(fault, path, &report) }
            guard faults.isEmpty else { continue }
            for end in PEMFile.revocationListEnds(path) { freshness(end, path, now: now, &report) }
            all.revocationListFiles.append(path)
        }
        guard !all.authorityFiles.isEmpty else { return }
        do throws(TLSSetupError) {
            for name in try TLSContext(client: all).authoritiesWithoutList {
                report.add(
                    .warn, "tls.revocationLists", "none is of the authority \(name): all its clients are refused (crl_missing)",
                    advice: "Name its list too, or take the authority out of tls.clientAuthorities.")
            }
        } catch {
            add(error, "tls.revocationLists", &report)
        }
    }

    private static func check(_ pair: TLSConfiguration.KeyPair, _ authorityFiles: [String], now: UnixTime, _ report: inout CheckReport) {
        var alone = TLSConfiguration()
        alone.keyPairs = [pair]
        alone.clientCertificate = .none
        // An OCSP response may be signed by an authority that is not in the chain.
        if pair.ocspResponseFile != nil { alone.authorityFiles = authorityFiles }
        let faults = CredentialInspection.faults(of: pair)
        for fault in faults { add(fault, pair.certificateFile, &report) }
        if faults.isEmpty {
            // Authorities at fault are told as such.
            let isUsable = usable(pair.certificateFile, &report, { () throws(TLSSetupError) in _ = try TLSContext(server: alone, tickets: nil) })
            guard isUsable else { return }
        }
        var status = stat()
        if unsafe stat(pair.keyFile, &status) == 0, status.st_mode & 0o077 != 0 {
            report.add(
                .warn, pair.keyFile, "mode \(String(status.st_mode & 0o777, radix: 8)): others than the owner may get at the private key",
                advice: "chmod 600 \(ShellQuote.quote(pair.keyFile))")
        }
        for (place, certificate) in PEMFile.certificates(pair.certificateFile).enumerated() {
            validity(of: certificate, in: pair.certificateFile, place == 0 ? "server certificate" : "chain certificate", now: now, &report)
            if place == 0, !certificate.isForServers {
                report.add(
                    .fail, pair.certificateFile, "the certificate is not one for servers (extended key usage)",
                    advice: "Clients will refuse it. 'segue ca issue server HOST' makes one.")
            }
        }
    }

    /// Reports what making a context of the file says.
    private static func usable(_ path: String, _ report: inout CheckReport, _ make: () throws(TLSSetupError) -> Void) -> Bool {
        do throws(TLSSetupError) {
            try make()
            return true
        } catch {
            add(error, path, &report)
            return false
        }
    }

    /// The same fault of a file may show in several ways, and is told once.
    private static func add(_ error: TLSSetupError, _ path: String, _ report: inout CheckReport) {
        let finding = CheckReport.Finding(status: .fail, subject: fileAtFault(error) ?? path, message: "\(error)")
        if !report.findings.contains(finding) { report.add(finding.status, finding.subject, finding.message) }
    }

    /// The file that has to be mended, which may be another than the one looked at: a certificate's key, a revocation list's authority.
    private static func fileAtFault(_ error: TLSSetupError) -> String? {
        switch error {
        case .unreadableFile(let path, _), .notAFile(let path), .nothingFound(_, let path), .malformed(_, let path, _),
            .duplicateKeyKind(_, let path), .unusableOCSPResponse(let path, _), .deltaWithoutBase(let path):
            path
        case .keyMismatch(_, let key): key
        case .noKeyPair, .noAuthorities, .invalidApplicationProtocol, .invalidVersionRange, .library: nil
        }
    }

    private static func validity(
        of certificate: PEMFile.Certificate, in path: String, _ what: String, now: UnixTime, _ report: inout CheckReport
    ) {
        if now < certificate.notBefore {
            report.add(.fail, path, "the \(what) holds only from \(certificate.notBefore) on", advice: "Is this machine's clock right?")
        } else if now > certificate.notAfter {
            report.add(.fail, path, "the \(what) ended at \(certificate.notAfter)", advice: "Renew it: 'segue ca renew NAME'.")
        } else if now + certificateMargin > certificate.notAfter {
            report.add(.warn, path, "the \(what) ends at \(certificate.notAfter)", advice: "Renew it soon: 'segue ca renew NAME'.")
        } else {
            report.add(.ok, path, "the \(what) holds until \(certificate.notAfter)")
        }
    }

    private static func freshness(_ end: UnixTime?, _ path: String, now: UnixTime, _ report: inout CheckReport) {
        let advice = "Write a new one: 'segue ca crl', best by a timer with --if-ending-within."
        guard let end else {
            report.add(.warn, path, "the revocation list does not say when the next one is due")
            return
        }
        if now > end {
            report.add(.fail, path, "the revocation list ended at \(end): every client of its authority is refused", advice: advice)
        } else if now + revocationListMargin > end {
            report.add(.warn, path, "the revocation list ends at \(end)", advice: advice)
        } else {
            report.add(.ok, path, "the revocation list holds until \(end)")
        }
    }
}

/// Dates and uses out of files that ``TLSContext`` has already taken.
enum PEMFile {
    struct Certificate {
        let notBefore: UnixTime
        let notAfter: UnixTime
        let isForServers: Bool
    }

    static func certificates(_ path: String) -> [Certificate] {
        unsafe withBIO(path) { bio in
            var certificates: [Certificate] = []
            while let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) {
                if let notBefore = unsafe time(X509_get0_notBefore(certificate)), let notAfter = unsafe time(X509_get0_notAfter(certificate)) {
                    let isForServers = unsafe X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1
                    certificates.append(Certificate(notBefore: notBefore, notAfter: notAfter, isForServers: isForServers))
                }
                unsafe X509_free(certificate)
            }
            ERR_clear_error()
            return certificates
        }
    }

    /// When each list of a PEM file, or the one of a DER file, is to be followed by the next one.
    static func revocationListEnds(_ path: String) -> [UnixTime?] {
        let ends = unsafe withBIO(path) { bio in
            var ends: [UnixTime?] = []
            while let list = unsafe PEM_read_bio_X509_CRL(bio, nil, nil, nil) {
                ends.append(unsafe time(X509_CRL_get0_nextUpdate(list)))
                unsafe X509_CRL_free(list)
            }
            ERR_clear_error()
            return ends
        }
        if !ends.isEmpty { return ends }
        return unsafe withBIO(path) { bio in
            guard let list = unsafe d2i_X509_CRL_bio(bio, nil) else {
                ERR_clear_error()
                return []
            }
            defer { unsafe X509_CRL_free(list) }
            return [unsafe time(X509_CRL_get0_nextUpdate(list))]
        }
    }

    private static func withBIO<Element>(_ path: String, _ body: (OpaquePointer) -> [Element]) -> [Element] {
        guard let bio = unsafe BIO_new_file(path, "r") else {
            ERR_clear_error()
            return []
        }
        defer { unsafe BIO_free(bio) }
        return unsafe body(bio)
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
        var fields = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return UnixTime(seconds: Int64(unsafe timegm(&fields)))
    }
}
