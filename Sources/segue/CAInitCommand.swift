import CertificateAuthority

/// `segue ca init`: a new authority.
enum CAInitCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "init",
        summary: "make a certificate authority",
        text: [
            "Makes the root key and certificate and an empty revocation list. Nothing is overwritten. Keep ca-key.pem secret and a copy of the whole "
                + "folder in a safe place: whoever has the key can let anybody in."
        ],
        options: CALocation.options + [
            .option("--name", "NAME", "What people see in certificate dialogs; 1 to 64 printable ASCII characters. 'Segue CA' by default."),
            CACommand.keyOption,
            .option("--days", "N", "How long the root certificate holds, 1 to \(CertificateAuthority.validityDaysMax) days; 3650 by default."),
            .option("--crl-days", "N", "How long each revocation list holds, 1 to \(AuthoritySettings.crlValidityDaysMax) days; 7 by default."),
            .option("--crl-uri", "URI", "Where others can fetch crl.pem; is put into every certificate."),
            CACommand.jsonOption,
        ],
        examples: [
            .init("segue ca init --ca /etc/segue/ca --name 'Example media CA'", "An authority for a relay that is deployed."),
            .init("segue ca init --ca ./ca --key rsa-3072 --crl-days 30", "With an RSA root, and a revocation list that is due monthly."),
        ])

    private struct Report: Encodable {
        let directory: String
        let certificate: String
        let revocationList: String
        let notAfter: String
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let location = try CALocation(arguments)
        let name = arguments.string("--name") ?? "Segue CA"
        let validity = try CACommand.validity(arguments, daysMax: CertificateAuthority.validityDaysMax)
        let crlDays = try arguments.integer("--crl-days", in: 1...AuthoritySettings.crlValidityDaysMax) ?? 7
        let authority = try withAuthority {
            try CertificateAuthority.create(
                directory: location.directory, commonName: name, key: CACommand.key(arguments),
                validity: validity ?? CertificateAuthority.validityDefault,
                settings: try AuthoritySettings(crlDistributionPoint: arguments.string("--crl-uri"), crlValidityDays: crlDays), now: .current())
        }
        try location.state?.linkAuthority()
        let end = try withAuthority { try authority.validity().notAfter }
        if arguments.has("--json") {
            Console.json(
                Report(
                    directory: authority.directory, certificate: authority.certificatePath, revocationList: authority.revocationListPath,
                    notAfter: end.description))
            return .ok
        }
        Console.text(
            """
            Made the certificate authority '\(name)', which holds until \(end).
              trust     \(authority.certificatePath)
              revoked   \(authority.revocationListPath), to be renewed within \(crlDays) days by 'segue ca crl'
              secret    \(authority.directory)/ca-key.pem
            Next:
            \(location.next(["ca", "issue", "server", "HOST"]))
            \(location.next(["ca", "issue", "client", "NAME"]))

            """)
        return .ok
    }
}
