import CertificateAuthority
import FoundationEssentials
import Glibc

/// `segue ca issue client` and `segue ca issue server`.
enum CAIssueCommand {
    static var client: Command { Command(clientSpec, run: runClient) }
    static var server: Command { Command(serverSpec, run: runServer) }

    private static let outOption = OptionSpec.option(
        "--out", "DIR", "Copy the certificate, its key and ca.pem there, to be handed over.", completion: .folder)

    private static let clientSpec = CommandSpec(
        name: "client",
        summary: "make a client's key and certificate",
        text: [
            "The relay knows the client as urn:segue:client:NAME, or in place of that by the names that are given: --uri, --dns and --email. Then NAME is "
                + "just what the certificate goes by. Letter case matters."
        ],
        options: CALocation.options + ClientNames.options + [
            .option("--days", "N", "How long it holds, 1 to \(CertificateKind.client.validityDaysMax) days; 365 by default."),
            CACommand.keyOption, outOption, CACommand.jsonOption,
        ],
        operand: OperandSpec(
            name: "NAME", help: "1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or a digit.", minimum: 1, maximum: 1),
        examples: [
            .init("segue ca issue client carol", "For 'segue publish --as carol' with the same state folder."),
            .init("segue ca issue client carol --email carol@example.org", "Known to the policy by the address."),
            .init("segue ca issue client carol --ca /etc/segue/ca --out ./carol", "For a client elsewhere: three files to hand over."),
        ])

    private static let serverSpec = CommandSpec(
        name: "server",
        summary: "make a server's key and certificate",
        text: ["The names are all that clients may call the server by. The first one is what the certificate goes by."],
        options: CALocation.options + [
            .option("--label", "NAME", "What the certificate goes by, in place of the first host; for a second key kind beside the first."),
            .option("--days", "N", "How long it holds, 1 to \(CertificateKind.server.validityDaysMax) days; 90 by default."),
            CACommand.keyOption, outOption, CACommand.jsonOption,
        ],
        operand: OperandSpec(
            name: "HOST", help: "A host name or an IP address.", minimum: 1, maximum: SubjectAlternativeName.countMax),
        examples: [
            .init("segue ca issue server media.example.org 192.0.2.7", "One server by name and by address."),
            .init("segue ca issue server media.example.org --label media-rsa --key rsa-2048", "An RSA certificate beside it, for old clients."),
        ])

    private static func runClient(_ arguments: Arguments) throws -> ExitCode {
        guard let name = arguments.operands.first else { throw UsageFault.missingOperand("NAME") }
        let location = try CALocation(arguments)
        let validity = try CACommand.validity(arguments, daysMax: CertificateKind.client.validityDaysMax)
        let authority = try location.open()
        let handover = try arguments.string(outOption.name).map { try CAHandover(folder: $0, label: name) }
        let issued = try withAuthority {
            let names = try ClientNames.read(arguments)
            return try authority.issueClient(
                name: name, uri: names.first, alternativeNames: Array(names.dropFirst()), key: CACommand.key(arguments), validity: validity,
                now: .current())
        }
        try location.state?.linkClient(issued)
        try handover?.write(issued, authority)
        if arguments.has("--json") {
            Console.json(CertificateReport(issued.entry, files: issued.livePaths, now: .current()))
            return .ok
        }
        tell(issued, handover)
        if let state = location.state {
            Console.out(
                "Next, with --connect HOST:PORT where the relay is not at \(ClientConnect.defaultEndpoint):\n" + "    "
                    + ShellQuote.join(["segue", "publish"] + (state.isNamed ? location.words : []) + ["--as", name, "--room", "demo", "FILE"]))
        } else {
            let files = handover?.files ?? (authority.certificatePath, issued.livePaths.certificate, issued.livePaths.key ?? "")
            Console.out(
                "Next:\n    "
                    + ShellQuote.join([
                        "segue", "publish", "--ca", files.0, "--cert", files.1, "--key", files.2, "--connect", "HOST:PORT", "--room", "demo", "FILE",
                    ]))
        }
        return .ok
    }

    private static func runServer(_ arguments: Arguments) throws -> ExitCode {
        let location = try CALocation(arguments)
        let validity = try CACommand.validity(arguments, daysMax: CertificateKind.server.validityDaysMax)
        let authority = try location.open()
        let names = try withAuthority { try arguments.operands.map { try SubjectAlternativeName.host($0) } }
        let folder = arguments.string(outOption.name)
        let handover = try folder.map { try CAHandover(folder: $0, label: arguments.string("--label") ?? "server") }
        let issued = try withAuthority {
            try authority.issueServer(
                names: names, label: arguments.string("--label"), key: CACommand.key(arguments), validity: validity, now: .current())
        }
        try handover?.write(issued, authority)
        if arguments.has("--json") {
            Console.json(CertificateReport(issued.entry, files: issued.livePaths, now: .current()))
            return .ok
        }
        tell(issued, handover)
        Console.text(
            """
            Next, in the relay's configuration (the paths stay the same over renewals):
                tls: {
                    certificates: [{ chain: "\(issued.livePaths.certificate)", key: "\(issued.livePaths.key ?? "")" }],
                    clientAuthorities: ["\(authority.certificatePath)"],
                    revocationLists: ["\(authority.revocationListPath)"],
                },

            """)
        return .ok
    }

    static func tell(_ issued: IssuedCertificate, _ handover: CAHandover? = nil) {
        let entry = issued.entry
        Console.out("\(entry.kind.rawValue.capitalized) certificate '\(entry.label)' for \(entry.names.map(\.description).joined(separator: ", "))")
        Console.out("  serial       \(entry.serial)")
        Console.out("  holds until  \(entry.notAfter)")
        Console.out("  certificate  \(issued.livePaths.certificate)")
        if let key = issued.livePaths.key { Console.out("  private key  \(key)") }
        if let handover { Console.out("  to hand over \(handover.folder)/ (the key is secret)") }
    }
}

/// Copies of what a client or a server needs, in a folder of its own.
struct CAHandover {
    let folder: String
    let files: (authority: String, certificate: String, key: String)

    /// Refuses to overwrite before anything is issued.
    init(folder: String, label: String) throws(CommandFailure) {
        self.folder = folder
        files = ("\(folder)/ca.pem", "\(folder)/\(label).pem", "\(folder)/\(label)-key.pem")
        for path in [files.certificate, files.key] where unsafe access(path, F_OK) == 0 {
            throw CommandFailure(code: .failure, message: "\(path) is there already; nothing was issued")
        }
    }

    func write(_ issued: IssuedCertificate, _ authority: CertificateAuthority) throws(CommandFailure) {
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw .system("mkdir", folder) }
        try copy(authority.certificatePath, to: files.authority, mode: 0o644)
        try copy(issued.paths.certificate, to: files.certificate, mode: 0o644)
        if let key = issued.paths.key { try copy(key, to: files.key, mode: 0o600) }
    }

    private func copy(_ source: String, to target: String, mode: mode_t) throws(CommandFailure) {
        guard let bytes = try? Data(contentsOf: URL(filePath: source)) else {
            throw CommandFailure(code: .failure, message: "cannot read \(source)")
        }
        let temporary = "\(target).\(getpid()).new"
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .system("open", temporary) }
        defer { close(descriptor) }
        let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count else { throw .system("write", temporary) }
        guard unsafe rename(temporary, target) == 0 else { throw .system("rename", target) }
    }
}

extension CommandFailure {
    /// A system call that has just failed.
    static func system(_ operation: String, _ path: String) -> CommandFailure {
        let text = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "errno \(errno)"
        return CommandFailure(code: .failure, message: "\(operation) \(path): \(text)")
    }
}
