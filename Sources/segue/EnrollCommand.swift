import CertificateAuthority
import FoundationEssentials
import Glibc
import HTTPProtocol
import RelayClient
import TLSTransport

/// `segue enroll`: a device gets its certificate from the relay, and a new one before it ends.
enum EnrollCommand {
    static var command: Command { Command(spec, run: run) }

    private static let tokenVariable = "SEGUE_ENROLMENT_TOKEN"
    private static let daySeconds: Int64 = 86_400

    private static let spec = CommandSpec(
        name: "enroll",
        summary: "get a certificate from the relay by a one-time token, or renew it",
        text: [
            "Makes a key here, which never leaves this machine, and has the relay's authority certify it for the identity that the token was made for "
                + "('segue ca token'). Writes key.pem (mode 0600), certificate.pem and chain.pem into DIR.",
            "The token comes from a file, from standard input, or from the variable \(tokenVariable); never from the command line, which others can see.",
            "With --renew the certificate in DIR proves who asks, and is replaced by one with the same identity. The relay allows that from half of its "
                + "life on unless told otherwise; before that the command fails, or, with --if-ending-within, does nothing.",
        ],
        options: [
            .option("--connect", "HOST:PORT", "The relay; 127.0.0.1:8443 by default."),
            .option("--ca", "FILE", "The authority that the relay's certificate must come from (PEM).", completion: .file),
            .option("--out", "DIR", "Where the files go, or are.", completion: .folder),
            .option("--token-file", "FILE", "The token is the first line of FILE; - for standard input.", completion: .file),
            CACommand.keyOption,
            .flag("--renew", "Renew the certificate in DIR by itself."),
            .flag("--new-key", "With --renew: for a new key. Pairs and grants know the old one, and have to be made anew."),
            .option("--if-ending-within", "DAYS", "With --renew: only if the certificate ends within so many days. 0 to 825."),
            CACommand.jsonOption,
        ],
        examples: [
            .init(
                "segue enroll --connect media.example.org:8443 --ca ca.pem --token-file carol.token --out ./carol",
                "Three files, for 'segue publish --ca ca.pem --cert carol/certificate.pem --key carol/key.pem'."),
            .init("segue enroll --renew --connect media.example.org:8443 --ca ca.pem --out ./carol --if-ending-within 30", "From a daily timer."),
        ])

    private struct TokenBody: Encodable {
        let token: String
        let csr: String
    }

    private struct RenewalBody: Encodable {
        let csr: String
    }

    private struct Issued: Decodable {
        let certificate: String
        let chain: String
    }

    private struct Problem: Decodable {
        let type: String?
        let title: String?
        let detail: String?
    }

    private struct Report: Encodable {
        let certificate: String
        let privateKey: String
        let chain: String
        let names: [String]
        let notAfter: String
        let isNew: Bool
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let text = arguments.string("--connect") ?? "127.0.0.1:8443"
        guard let endpoint = RelayEndpoint(text) else { throw UsageFault.badChoice(option: "--connect", value: text, choices: ["HOST:PORT"]) }
        let authority = try arguments.required("--ca")
        let folder = StateDirectory.absolute(try arguments.required("--out"), FileManager.default.currentDirectoryPath)
        let credentials = DeviceCredentials(certificatePath: folder + "/certificate.pem", keyPath: folder + "/key.pem")
        let renews = arguments.has("--renew")
        let margin = try arguments.integer("--if-ending-within", in: 0...CertificateKind.client.validityDaysMax)
        for option in ["--new-key", "--if-ending-within"] where !renews && (arguments.has(option) || arguments.string(option) != nil) {
            throw UsageFault.conflict("\(option) belongs to --renew")
        }
        if renews, arguments.string("--token-file") != nil { throw UsageFault.conflict("either --token-file or --renew") }
        if renews {
            return try renew(arguments, endpoint, authority, folder, credentials, margin: margin)
        }
        guard !credentials.exist else {
            throw CommandFailure(
                code: .failure, message: "\(folder) holds a key or a certificate already; --renew renews it, and another --out makes another device")
        }
        let token = try readToken(arguments)
        let isNewFolder = unsafe access(folder, F_OK) != 0
        let exchange = EnrollExchange(endpoint: endpoint, context: try context(authority, nil))
        return try withNewKey(credentials, newFolder: isNewFolder ? folder : nil) {
            let request = try withAuthority { try credentials.requestWithNewKey(CACommand.key(arguments)) }
            let response = try exchange.post("/v1/enroll", encoded(TokenBody(token: token, csr: request)))
            return try install(response, folder, credentials, keyIsNew: true, arguments)
        }
    }

    private static func renew(
        _ arguments: Arguments, _ endpoint: RelayEndpoint, _ authority: String, _ folder: String, _ credentials: DeviceCredentials, margin: Int?
    ) throws -> ExitCode {
        try withAuthority { try credentials.recover() }
        if let margin {
            let end = try withAuthority { try credentials.notAfter() }
            if end.seconds - UnixTime.current().seconds > Int64(margin) * daySeconds {
                if !arguments.has("--json") { Console.out("\(credentials.certificatePath) holds until \(end): nothing to do") }
                return .ok
            }
        }
        let pair = TLSConfiguration.KeyPair(certificateFile: credentials.certificatePath, keyFile: credentials.keyPath)
        let exchange = EnrollExchange(endpoint: endpoint, context: try context(authority, pair))
        guard arguments.has("--new-key") else {
            if arguments.string(CACommand.keyOption.name) != nil { throw UsageFault.conflict("--key with --renew needs --new-key") }
            let request = try withAuthority { try credentials.requestWithPresentKey() }
            let response = try exchange.post("/v1/renew", encoded(RenewalBody(csr: request)))
            return try install(response, folder, credentials, keyIsNew: false, arguments)
        }
        return try withNewKey(credentials) {
            let request = try withAuthority { try credentials.requestWithNewKey(CACommand.key(arguments)) }
            let response = try exchange.post("/v1/renew", encoded(RenewalBody(csr: request)))
            return try install(response, folder, credentials, keyIsNew: true, arguments)
        }
    }

    /// A key whose request came to nothing is not left lying about, nor the folder that was made for it.
    private static func withNewKey(
        _ credentials: DeviceCredentials, newFolder: String? = nil, _ body: () throws -> ExitCode
    ) throws -> ExitCode {
        do {
            return try body()
        } catch {
            credentials.discardNewKey()
            // Only an empty one goes.
            if let newFolder { unsafe rmdir(newFolder) }
            throw error
        }
    }

    private static func context(_ authority: String, _ pair: TLSConfiguration.KeyPair?) throws(CommandFailure) -> TLSContext {
        do {
            return try ClientCredentials(authorityFile: authority, keyPair: pair).context(http: .http1)
        } catch {
            throw CommandFailure(code: .configuration, message: "\(error)")
        }
    }

    private static func readToken(_ arguments: Arguments) throws -> String {
        let text: String
        if let path = arguments.string("--token-file") {
            text = SecretInput.firstLine(try SecretInput.bytes(path))
        } else if let variable = ProcessInfo.processInfo.environment[tokenVariable], !variable.isEmpty {
            text = variable
        } else {
            throw UsageFault.conflict("--token-file or $\(tokenVariable) must bring the token")
        }
        let token = text.filter { $0 != " " && $0 != "\t" }
        // Not repeated: it may be most of one.
        guard EnrolmentSecret(token) != nil else {
            throw CommandFailure(code: .configuration, message: "this is no enrolment token; one begins with \(EnrolmentSecret.prefix)")
        }
        return token
    }

    private static func encoded(_ value: some Encodable) -> [UInt8] {
        guard let data = try? JSONEncoder().encode(value) else { preconditionFailure("strings always encode") }
        return Array(data)
    }

    private static func install(
        _ response: EnrollExchange.Response, _ folder: String, _ credentials: DeviceCredentials, keyIsNew: Bool, _ arguments: Arguments
    ) throws -> ExitCode {
        guard response.status == .created else { throw failure(response) }
        guard let issued = try? JSONDecoder().decode(Issued.self, from: Data(response.body)) else {
            throw CommandFailure(code: .relay, message: "the relay's answer has no certificate")
        }
        let (names, notAfter) = try withAuthority { try credentials.install(certificate: issued.certificate, keyIsNew: keyIsNew) }
        let chain = folder + "/chain.pem"
        try withAuthority { try credentials.writeChain(issued.chain, to: chain) }
        if arguments.has("--json") {
            Console.json(
                Report(
                    certificate: credentials.certificatePath, privateKey: credentials.keyPath, chain: chain, names: names.map(\.description),
                    notAfter: notAfter.description, isNew: keyIsNew))
            return .ok
        }
        Console.out("Certificate for \(names.map(\.description).joined(separator: ", "))")
        Console.out("  holds until  \(notAfter)")
        Console.out("  certificate  \(credentials.certificatePath)")
        Console.out("  private key  \(credentials.keyPath)")
        Console.out("  authority    \(chain)")
        return .ok
    }

    /// A time to wait in the largest unit that does it justice, rounded up so that it is not too early then.
    static func wait(seconds: Int64) -> String {
        let units: [(name: String, seconds: Int64)] = [("day", 86_400), ("hour", 3_600), ("minute", 60)]
        guard seconds >= 0, let unit = units.first(where: { seconds >= 2 * $0.seconds }) else { return "\(seconds) s" }
        return "\(seconds / unit.seconds + (seconds % unit.seconds == 0 ? 0 : 1)) \(unit.name)s"
    }

    private static func failure(_ response: EnrollExchange.Response) -> CommandFailure {
        let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
        let reason = problem?.detail ?? problem?.title ?? response.status.reason
        let wait = response.fields.single("retry-after").map { " Try again in \(Int64($0).map(wait(seconds:)) ?? "\($0) s")." } ?? ""
        let hint = response.status == .notFound ? " The relay has no authority: the configuration lacks 'enrolment'." : ""
        return CommandFailure(code: .relay, message: Console.plain("\(response.status.code): \(reason)\(wait)\(hint)"))
    }
}
