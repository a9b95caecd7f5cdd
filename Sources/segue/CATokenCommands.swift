import CertificateAuthority
import Glibc

/// `segue ca token`: a one-time token for a device that is to enrol by itself.
enum CATokenCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "token",
        summary: "make a one-time enrolment token",
        text: [
            "Whoever has the token gets one certificate for the identity that you name here: hand it over by a way that nobody else reads. The device "
                + "makes its own key, which never leaves it. A token is good once and for a limited time.",
            "With --out the token goes into a file that nobody else can read; without, it alone is printed on standard output. This once: the authority "
                + "keeps only its SHA-256. All else goes to standard error. A shell's > makes files that others can read: umask 077 before it.",
        ],
        options: CALocation.options + [
            .option("--out", "FILE", "A new file for the token, which only its owner can read (mode 0600).", completion: .file),
            .option("--client", "NAME", "The identity urn:segue:client:NAME."),
        ] + ClientNames.options + [
            .option("--label", "NAME", "What the certificate goes by, in place of the client's name."),
            .option("--valid", "TIME", "How long the token can be used: seconds, or with s, m, h, d; 1h by default, 30d at most."),
            .option(
                "--certificate-days", "N", "How long the certificate holds, 1 to \(CertificateKind.client.validityDaysMax) days; 365 by default."),
            CACommand.jsonOption,
        ],
        examples: [
            .init("segue ca token --uri urn:segue:client:carol --out carol.token", "Then, on the device: segue enroll --token-file carol.token …"),
            .init("segue ca token --client carol --label carol-phone --valid 10m", "A second device of the same identity."),
        ])

    private struct Report: Encodable {
        /// Not when it is in a file.
        let token: String?
        let file: String?
        let id: String
        let names: [String]
        let name: String
        let expires: String
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let location = try CALocation(arguments)
        let validity = try arguments.string("--valid").map { try duration($0, option: "--valid") } ?? EnrolmentToken.validityDefault
        let days = try arguments.integer("--certificate-days", in: 1...CertificateKind.client.validityDaysMax)
        guard arguments.string("--client") != nil || ClientNames.count(arguments) > 0 else {
            throw UsageFault.conflict("--client, --uri, --dns or --email must say whom the token is for")
        }
        let authority = try location.open()
        let path = arguments.string("--out")
        let (token, secret) = try withFile(path) {
            var names: [SubjectAlternativeName] = []
            if let client = arguments.string("--client") { names.append(try .client(named: client)) }
            names += try ClientNames.read(arguments)
            return try authority.createEnrolmentToken(
                names: names, label: arguments.string("--label"), validity: validity, certificateValidity: days.map(Duration.days), now: .current())
        }
        if arguments.has("--json") {
            Console.json(
                Report(
                    token: path == nil ? secret.text : nil, file: path, id: token.id.description, names: token.names.map(\.description),
                    name: token.label,
                    expires: token.expires.description))
            return .ok
        }
        if path == nil { Console.out(secret.text) }
        Console.error(
            """
            An enrolment token for \(token.names.map(\.description).joined(separator: ", ")); it goes by \(token.id), and ends at \(token.expires).
            On the device, with \(authority.certificatePath) as ca.pem and \(path.map { "\($0), by a way that nobody else reads" } ?? "the token in a file"):
                segue enroll --connect HOST:PORT --ca ca.pem --token-file \(path.map(ShellQuote.quote) ?? "FILE") --out DIR
            """)
        return .ok
    }

    /// The file is made before the token, and goes again when there is none: a token that could not be kept would be one that nobody has.
    private static func withFile(
        _ path: String?, _ make: () throws -> (EnrolmentToken, EnrolmentSecret)
    ) throws -> (EnrolmentToken, EnrolmentSecret) {
        guard let path else { return try withAuthority(make) }
        try SecretInput.create(path)
        do {
            let made = try withAuthority(make)
            try SecretInput.fill(path, made.1.text)
            return made
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    /// `90`, `90s`, `15m`, `12h`, `7d`.
    static func duration(_ text: String, option: String) throws(UsageFault) -> Duration {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? Substring(text) : text.dropLast()
        let seconds = Int64(digits).map { $0.multipliedReportingOverflow(by: unit ?? 1) }
        let maximum = EnrolmentToken.validityMax.components.seconds
        guard let seconds, !seconds.overflow, (1...maximum).contains(seconds.partialValue) else {
            throw .badNumber(option: option, value: text, range: "of seconds, minutes (m), hours (h) or days (d), from 1s to 30d")
        }
        return .seconds(seconds.partialValue)
    }
}

/// `segue ca tokens`.
enum CATokensCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "tokens", summary: "show the enrolment tokens",
        text: ["Open ones, and those that were used, revoked or ended within the last week. The tokens themselves cannot be shown: nobody has them."],
        options: CALocation.options + [CACommand.jsonOption],
        examples: [.init("segue ca tokens --ca /etc/segue/ca", "Which tokens are open, and what became of the others.")])

    private struct Report: Encodable {
        let id: String
        let status: String
        let name: String
        let names: [String]
        let created: String
        let expires: String
        let usedAt: String?
        let serial: String?
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let now = UnixTime.current()
        let authority = try CALocation(arguments).open()
        let tokens = try withAuthority { try authority.enrolmentTokens() }
        if arguments.has("--json") {
            Console.json(
                tokens.map { token in
                    Report(
                        id: token.id.description, status: token.status(at: now).rawValue, name: token.label, names: token.names.map(\.description),
                        created: token.created.description, expires: token.expires.description, usedAt: token.use?.at.description,
                        serial: token.use?.serial.description)
                })
            return .ok
        }
        let rows = tokens.map { token in
            [
                token.id.description, token.status(at: now).rawValue, token.expires.description, token.use?.serial.description ?? "-",
                token.names.map(\.description).joined(separator: ", "),
            ]
        }
        Console.text(CAListCommand.columns([["ID", "STATUS", "UNTIL", "SERIAL", "FOR"]] + rows))
        return .ok
    }
}

/// `segue ca token-revoke`.
enum CATokenRevokeCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "token-revoke", summary: "make an enrolment token worthless",
        text: ["A certificate that the token was used for is not touched: 'segue ca revoke' does that."],
        options: CALocation.options,
        operand: OperandSpec(name: "ID", help: "The token's identifier, as 'segue ca tokens' shows it.", minimum: 1, maximum: 1),
        examples: [.init("segue ca token-revoke 2f9c0d6e1a7b4c35", "It went to the wrong person.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let text = arguments.operands.first else { throw UsageFault.missingOperand("ID") }
        // Not repeated: it may be the token itself.
        guard let identifier = EnrolmentTokenID(text) else { throw UsageFault.conflict("ID must be the 16 digits that 'segue ca tokens' shows") }
        let authority = try CALocation(arguments).open()
        let token = try withAuthority { try authority.revokeEnrolmentToken(identifier, now: .current()) }
        Console.out("Revoked the enrolment token \(token.id) for \(token.names.map(\.description).joined(separator: ", "))")
        return .ok
    }
}
