import CertificateAuthority

/// `segue ca list`.
enum CAListCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "list", summary: "show every certificate", options: CALocation.options + [CACommand.jsonOption],
        examples: [.init("segue ca list --json", "For scripts: a list with serial, name, status, and the time until which each one holds.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let now = UnixTime.current()
        let authority = try CALocation(arguments).open()
        let entries = try withAuthority { try authority.list() }
        if arguments.has("--json") {
            Console.json(
                try withAuthority {
                    try entries.map { entry in
                        CertificateReport(entry, files: try authority.find(.serial(entry.serial)).paths, now: now)
                    }
                })
            return .ok
        }
        let rows = entries.map { entry in
            let status = entry.revocation.map { "revoked (\($0.reason.rawValue))" } ?? entry.status(at: now).rawValue
            let names = entry.names.map(\.description).joined(separator: ", ")
            return [entry.label, entry.kind.rawValue, status, entry.notAfter.description, entry.serial.description, names]
        }
        Console.text(CAListCommand.columns([["NAME", "KIND", "STATUS", "UNTIL", "SERIAL", "FOR"]] + rows))
        return .ok
    }

    /// Lines of columns that are as wide as their widest text; the last one is not padded.
    static func columns(_ rows: [[String]]) -> String {
        var widths: [Int] = []
        for row in rows {
            for (column, text) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], text.count)
            }
        }
        return rows.map { row in
            row.enumerated().map { column, text in
                column == row.count - 1 ? text : text + String(repeating: " ", count: widths[column] - text.count)
            }.joined(separator: "  ") + "\n"
        }.joined()
    }
}

/// `segue ca revoke`.
enum CARevokeCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "revoke", summary: "revoke a certificate",
        text: [
            "A name revokes every certificate that goes or went by it, a serial number the one. What its device renewed from a certificate goes with it, "
                + "unless the reason is superseded; with keyCompromise goes whatever has the same key. The revocation list is written anew; a relay that uses "
                + "it reads it by itself."
        ],
        options: CALocation.options + [
            .option("--reason", "REASON", "Why (RFC 5280 section 5.3.1).", choices: RevocationReason.allCases.map(\.rawValue)), CACommand.jsonOption,
        ],
        operand: CACommand.nameOperand,
        examples: [.init("segue ca revoke carol --reason keyCompromise", "Somebody else has carol's key.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let name = arguments.operands.first else { throw UsageFault.missingOperand("NAME") }
        let location = try CALocation(arguments)
        let authority = try location.open()
        let reason = arguments.string("--reason").flatMap(RevocationReason.init(rawValue:)) ?? .unspecified
        let now = UnixTime.current()
        let revoked = try withAuthority { try authority.revoke(try CertificateSelector(name, of: authority), reason: reason, now: now) }
        if arguments.has("--json") {
            Console.json(revoked.map { CertificateReport($0, files: nil, now: now) })
            return .ok
        }
        for entry in revoked {
            let origin = entry.origin.predecessor.map { ", renewed from \($0)" } ?? ""
            Console.out("Revoked the \(entry.kind.rawValue) certificate '\(entry.label)', serial \(entry.serial)\(origin)")
        }
        Console.out(
            "The list is \(authority.revocationListPath); a relay that uses it in place reads it by itself. Copy it to wherever else it is used.")
        return .ok
    }
}

/// `segue ca renew`.
enum CARenewCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "renew", summary: "make a certificate anew before it ends",
        text: [
            "The new one has the same name and the same hosts or identity, and a new key, unless the key is elsewhere. The old one stays good until it "
                + "ends or is revoked."
        ],
        options: CALocation.options + [
            .option("--days", "N", "How long it holds; 90 for servers (at most 397), 365 for clients (at most 825) by default."),
            CACommand.jsonOption,
        ],
        operand: CACommand.nameOperand,
        examples: [.init("segue ca renew media.example.org --ca /etc/segue/ca", "The relay notices the new files by itself.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let name = arguments.operands.first else { throw UsageFault.missingOperand("NAME") }
        let location = try CALocation(arguments)
        let validity = try CACommand.validity(arguments, daysMax: CertificateKind.client.validityDaysMax)
        let authority = try location.open()
        let issued = try withAuthority {
            try authority.renew(try CertificateSelector(name, of: authority), validity: validity, now: .current())
        }
        if issued.entry.kind == .client { try location.state?.linkClient(issued) }
        if arguments.has("--json") {
            Console.json(CertificateReport(issued.entry, files: issued.livePaths, now: .current()))
            return .ok
        }
        CAIssueCommand.tell(issued)
        Console.out("A relay that uses these paths reads them by itself; copies are to be made anew.")
        return .ok
    }
}

/// `segue ca crl`.
enum CACRLCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "crl", summary: "write the revocation list anew",
        text: ["A list past its end refuses everybody: run this often enough, from a timer for instance. The relay reads the new list by itself."],
        options: CALocation.options + [
            .option("--if-ending-within", "DAYS", "Only if the list ends within so many days, or lacks somebody. 0 to 365.")
        ],
        examples: [.init("segue ca crl --ca /etc/segue/ca --if-ending-within 3", "From a daily timer.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let margin = try arguments.integer("--if-ending-within", in: 0...AuthoritySettings.crlValidityDaysMax)
        let authority = try CALocation(arguments).open()
        let isNew = try withAuthority {
            if let margin { return try authority.refreshCRL(ifEndingWithin: .days(margin), now: .current()) }
            try authority.refreshCRL(now: .current())
            return true
        }
        Console.out(isNew ? "Wrote \(authority.revocationListPath)" : "\(authority.revocationListPath) is still good")
        return .ok
    }
}
