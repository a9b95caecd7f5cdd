import CertificateAuthority
import FoundationEssentials
import Glibc

/// `segue ca sign`: certificates for keys that were made elsewhere.
enum CASignCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "sign",
        summary: "sign a request whose key was made elsewhere",
        text: [
            "The private key never leaves its owner. Nothing of the request matters but its key, which must have signed it: the names are those that "
                + "you give. PEM (PKCS#10); ECDSA P-256 or P-384, RSA 2048 to 4096, Ed25519."
        ],
        options: CALocation.options + [.option("--client", "NAME", "For a client: the identity urn:segue:client:NAME.")] + ClientNames.options + [
            .option("--server", "HOST", "For a server: a host name or an IP address.", repeatable: true),
            .option(
                "--label", "NAME",
                "What the certificate goes by; else the client's name, the first host, or what a file name can hold of the first name."),
            .option("--days", "N", "How long it holds; 90 for servers (at most 397), 365 for clients (at most 825) by default."),
            CACommand.jsonOption,
        ],
        operand: OperandSpec(name: "CSR", help: "The signing request's file; - for standard input.", minimum: 1, maximum: 1, completion: .file),
        examples: [
            .init(
                "openssl req -new -newkey rsa:2048 -nodes -subj / -keyout dave-key.pem -out dave.csr",
                "A key and a request, where the key is to stay."),
            .init("segue ca sign dave.csr --client dave", "The certificate for it."),
            .init("segue ca sign cam.csr --dns cam-3.archive.example.org --label cam-3", "For a device that the policy knows by a DNS name."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let path = arguments.operands.first else { throw UsageFault.missingOperand("CSR") }
        let location = try CALocation(arguments)
        let hosts = arguments.strings("--server")
        let isOfClient = arguments.string("--client") != nil || ClientNames.count(arguments) > 0
        guard isOfClient == hosts.isEmpty else {
            throw UsageFault.conflict("either --client, --uri, --dns or --email, or --server must say whose certificate it is")
        }
        let kind: CertificateKind = hosts.isEmpty ? .client : .server
        let validity = try CACommand.validity(arguments, daysMax: kind.validityDaysMax)
        let authority = try location.open()
        let request = try SecretInput.bytes(path)
        let issued = try withAuthority {
            let client = try arguments.string("--client").map { try SubjectAlternativeName.client(named: $0) }
            let names = try (client.map { [$0] } ?? []) + ClientNames.read(arguments) + hosts.map { try .host($0) }
            let label =
                arguments.string("--label") ?? arguments.string("--client") ?? hosts.first.map(label(forHost:))
                ?? names.first.map(CertificateAuthority.deviceLabel(for:)) ?? ""
            return try authority.sign(
                request: request, policy: SigningPolicy(kind: kind, allowedNames: names), label: label, validity: validity, now: .current())
        }
        if kind == .client { try location.state?.linkClient(issued) }
        if arguments.has("--json") {
            Console.json(CertificateReport(issued.entry, files: issued.livePaths, now: .current()))
            return .ok
        }
        CAIssueCommand.tell(issued)
        Console.out("Hand over the certificate and \(authority.certificatePath).")
        return .ok
    }
}

extension CASignCommand {
    /// A label must be fit to be a file name, which colons and asterisks are not.
    fileprivate static func label(forHost host: String) -> String {
        if host.contains(":") { return "ip-" + host.replacing(":", with: "-") }
        return host.hasPrefix("*") ? "wildcard" + host.dropFirst() : host
    }
}

/// `segue ca export`: a certificate with its key for a browser.
enum CAExportCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "export",
        summary: "write a certificate and its key as PKCS#12",
        text: [
            "For browsers and mobile devices. The password is read from a file, or from standard input; on a terminal it is asked for. It is never an "
                + "argument: those can be seen by others."
        ],
        options: CALocation.options + [
            .option("--out", "FILE", "Where to write it (mode 0600).", completion: .file),
            .option("--password-file", "FILE", "The password is the first line of FILE; - for standard input.", completion: .file),
        ],
        operand: CACommand.nameOperand,
        examples: [.init("segue ca export carol --out carol.p12", "Asks for a password, and writes a file that a browser imports.")])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let name = arguments.operands.first else { throw UsageFault.missingOperand("NAME") }
        let path = try arguments.required("--out")
        let authority = try CALocation(arguments).open()
        let password = try SecretInput.password(file: arguments.string("--password-file"))
        _ = try withAuthority { try authority.exportPKCS12(try CertificateSelector(name, of: authority), password: password, to: path) }
        Console.out("Wrote \(path). Import it together with \(authority.certificatePath), then remove it.")
        return .ok
    }
}

/// Secrets that come by file, by pipe or from a terminal without being shown.
enum SecretInput {
    /// The content of a file, or of standard input for `-`.
    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        if path == "-" { return standardInput() }
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw CommandFailure(code: .failure, message: "cannot read \(path)") }
        return Array(data)
    }

    /// - Parameter file: as `--password-file` names it; `nil` asks on a terminal, and reads standard input otherwise.
    static func password(file: String?) throws(CommandFailure) -> String {
        if file == nil, Console.inputIsTerminal {
            let first = ask("Password: ")
            guard ask("Once more: ") == first else { throw CommandFailure(code: .failure, message: "the two passwords differ") }
            return first
        }
        return firstLine(try bytes(file ?? "-"))
    }

    /// Makes a file for a secret, which is to be there before the secret is made: 0600, and nothing is overwritten.
    static func create(_ path: String) throws(CommandFailure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw CommandFailure(code: .failure, message: "\(path) is there already; nothing was made") }
            throw .system("open", path)
        }
        close(descriptor)
    }

    /// Fills what ``create(_:)`` has made.
    static func fill(_ path: String, _ line: String) throws(CommandFailure) {
        let descriptor = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("open", path) }
        defer { close(descriptor) }
        let bytes = Array((line + "\n").utf8)
        let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count, fsync(descriptor) == 0 else { throw .system("write", path) }
    }

    static func firstLine(_ bytes: [UInt8]) -> String {
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }

    private static let inputBytesMax = 1 << 20

    private static func standardInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < inputBytesMax {
            let count = unsafe read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Reads a line from the terminal, which does not show it.
    private static func ask(_ prompt: String) -> String {
        Console.errorText(prompt)
        var mode = termios()
        let isTerminal = unsafe tcgetattr(STDIN_FILENO, &mode) == 0
        let shown = mode
        mode.c_lflag &= ~tcflag_t(ECHO)
        if isTerminal { unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) }
        let line = readLine(strippingNewline: true) ?? ""
        mode = shown
        if isTerminal { unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) }
        Console.error("")
        return line
    }
}
