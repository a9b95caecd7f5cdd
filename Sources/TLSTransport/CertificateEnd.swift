internal import COpenSSL

/// When a certificate that the relay itself runs on ends, for who has to renew it.
package struct CertificateEnd: Hashable, Sendable {
    package enum Part: String, Hashable, Sendable {
        /// One of the relay's own.
        case server
        /// An authority that clients' certificates lead to.
        case authority
    }

    package let part: Part
    package let name: String
    /// Seconds since 1970.
    package let notAfter: Int64

    /// Of everything that a configuration names: the own leaves, then the authorities.
    static func all(in credentials: Credentials) -> [CertificateEnd] {
        credentials.pairs.compactMap { pair in pair.chain.first.flatMap { CertificateEnd(.server, $0) } }
            + credentials.authorities.compactMap { CertificateEnd(.authority, $0) }
    }

    private init?(_ part: Part, _ certificate: LibraryObject) {
        guard let notAfter = unsafe CertificateReader.unixSeconds(X509_get0_notAfter(certificate.pointer)) else { return nil }
        let names = unsafe CertificateReader.subjectNames(of: certificate.pointer)
        let subject = unsafe CertificateReader.text(of: X509_get_subject_name(certificate.pointer))
        self.part = part
        self.notAfter = notAfter
        name = names?.dnsNames.first ?? names?.uris.first ?? subject ?? "?"
    }
}
