/// Where everything lies below the authority's folder (mode 0700).
///
/// ```
/// ca.pem  ca-key.pem  crl.pem  index.jsonl  settings.json  lock
/// issued/<serial>/certificate.pem  key.pem      every certificate that was ever signed
/// tokens/<identifier>.json                      enrolment tokens, of each only its digest
/// live/<label> -> ../issued/<serial>            the newest of each label that no device renewed by itself, swapped in one step
/// ```
struct AuthorityFiles: Sendable {
    let folder: String
    /// How long a change waits for another one's end.
    var lockTimeout = Duration.seconds(30)

    var certificate: String { folder + "/ca.pem" }
    var key: String { folder + "/ca-key.pem" }
    var revocationList: String { folder + "/crl.pem" }
    var index: String { folder + "/index.jsonl" }
    var settings: String { folder + "/settings.json" }
    var lock: String { folder + "/lock" }
    var issued: String { folder + "/issued" }
    var live: String { folder + "/live" }
    var tokens: String { folder + "/tokens" }

    func issued(_ serial: CertificateSerial) -> String { issued + "/" + serial.description }
    /// Where a certificate waits until the index knows it. No serial number begins with a dot.
    func staged(_ serial: CertificateSerial) -> String { issued + "/." + serial.description }
    func token(_ identifier: EnrolmentTokenID) -> String { tokens + "/" + identifier.description + ".json" }
    func live(_ label: String) -> String { live + "/" + label }
    func liveTarget(_ serial: CertificateSerial) -> String { "../issued/" + serial.description }

    static func certificate(in folder: String) -> String { folder + "/certificate.pem" }
    static func key(in folder: String) -> String { folder + "/key.pem" }
}

/// The files of one certificate.
package struct CertificatePaths: Hashable, Sendable {
    package let certificate: String
    /// `nil` when the key was made elsewhere.
    package let key: String?
}

/// A certificate that an operation made or found, with its files.
package struct IssuedCertificate: Hashable, Sendable {
    package let entry: CertificateEntry
    /// The files of exactly this certificate; they never change.
    package let paths: CertificatePaths
    /// The files of whatever is the label's newest certificate of the operator's: what a server's configuration names, so that a renewal reaches it.
    package let livePaths: CertificatePaths

    init(_ entry: CertificateEntry, in files: AuthorityFiles) {
        self.entry = entry
        let issued = files.issued(entry.serial)
        let live = files.live(entry.label)
        paths = CertificatePaths(
            certificate: AuthorityFiles.certificate(in: issued), key: entry.key == nil ? nil : AuthorityFiles.key(in: issued))
        livePaths = CertificatePaths(
            certificate: AuthorityFiles.certificate(in: live), key: entry.key == nil ? nil : AuthorityFiles.key(in: live))
    }
}
