/// What the relay runs on when nobody has configured anything: an authority of its own, server certificates for this machine alone, and three demo
/// clients: two who meet, and the one who may administrate.
package struct DevelopmentState: Hashable, Sendable {
    /// Whatever ends within this time is made anew.
    package static let renewalMargin = Duration.days(7)
    package static let clientNames = ["alice", "bob", "operator"]

    package struct Client: Hashable, Sendable {
        package let name: String
        package let certificate: IssuedCertificate
    }

    package let authorityDirectory: String
    /// What both sides trust.
    package let trustStorePath: String
    package let revocationListPath: String
    /// For `localhost`, 127.0.0.1 and ::1. Their ``IssuedCertificate/livePaths`` stay the same over renewals.
    package let serverECDSA: IssuedCertificate
    package let serverRSA: IssuedCertificate
    package let clients: [Client]
    /// Whether anything at all was made or renewed this time.
    package let changed: Bool

    /// Makes what is missing below `directory`, renews what ends within a week, and leaves the rest alone. Safe to call again at any time and from
    /// several processes; a relay that runs for weeks calls it every day.
    ///
    /// A demo client that the developer has revoked stays revoked. A root that ends within a week is set aside, with all that it signed.
    package static func prepare(directory: String, now: UnixTime) throws(CertificateAuthorityFault) -> DevelopmentState {
        try Files.makeFolder(directory)
        let lock = try FileLock(path: directory + "/development.lock")
        var changed = false
        let authority = try authority(directory: directory + "/ca", now: now, changed: &changed)
        let hosts: [SubjectAlternativeName] = [try .dns("localhost"), try .ip("127.0.0.1"), try .ip("::1")]
        let serverECDSA = try server(authority, label: "localhost-ecdsa", names: hosts, key: .ecdsaP256, now: now, changed: &changed)
        let serverRSA = try server(authority, label: "localhost-rsa", names: hosts, key: .rsa2048, now: now, changed: &changed)
        var clients: [Client] = []
        for name in clientNames {
            clients.append(Client(name: name, certificate: try client(authority, name: name, now: now, changed: &changed)))
        }
        if try authority.refreshCRL(ifEndingWithin: renewalMargin, now: now) { changed = true }
        lock.release()
        return DevelopmentState(
            authorityDirectory: authority.directory, trustStorePath: authority.certificatePath,
            revocationListPath: authority.revocationListPath, serverECDSA: serverECDSA, serverRSA: serverRSA, clients: clients, changed: changed)
    }

    private static func authority(
        directory: String, now: UnixTime, changed: inout Bool
    ) throws(CertificateAuthorityFault) -> CertificateAuthority {
        if Files.exists(directory + "/ca.pem") {
            let authority = try CertificateAuthority.open(directory: directory)
            let end = try authority.validity().notAfter
            if end > now + renewalMargin { return authority }
            try Files.move(directory, to: directory + "-until-\(end)")
        }
        changed = true
        // A month, so that a list is not due for renewal from the day that it is made.
        return try CertificateAuthority.create(
            directory: directory, commonName: "Segue development CA", settings: try AuthoritySettings(crlValidityDays: 30), now: now)
    }

    private enum Standing {
        case good(IssuedCertificate)
        case ending
        case revoked(IssuedCertificate)
        case missing
    }

    private static func standing(
        _ authority: CertificateAuthority, label: String, now: UnixTime
    ) throws(CertificateAuthorityFault) -> Standing {
        let found: IssuedCertificate
        do {
            found = try authority.find(.label(label))
        } catch .notFound {
            return .missing
        }
        if found.entry.revocation != nil { return .revoked(found) }
        let filesExist = Files.exists(found.livePaths.certificate) && (found.livePaths.key.map(Files.exists) ?? false)
        return filesExist && found.entry.notAfter > now + renewalMargin ? .good(found) : .ending
    }

    private static func server(
        _ authority: CertificateAuthority, label: String, names: [SubjectAlternativeName], key: KeyAlgorithm, now: UnixTime, changed: inout Bool
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        switch try standing(authority, label: label, now: now) {
        case .good(let found):
            return found
        case .ending:
            changed = true
            return try authority.renew(.label(label), now: now)
        case .revoked, .missing:
            changed = true
            return try authority.issueServer(names: names, label: label, key: key, now: now)
        }
    }

    private static func client(
        _ authority: CertificateAuthority, name: String, now: UnixTime, changed: inout Bool
    ) throws(CertificateAuthorityFault) -> IssuedCertificate {
        switch try standing(authority, label: name, now: now) {
        case .good(let found), .revoked(let found):
            return found
        case .ending:
            changed = true
            // A fresh key in any case: one that was renewed by a request has left for elsewhere.
            return try authority.renew(.label(name), key: .ecdsaP256, now: now)
        case .missing:
            changed = true
            return try authority.issueClient(name: name, now: now)
        }
    }
}
