import CertificateAuthority
import FoundationEssentials
import Glibc

/// `segue ca`: the certificate authority.
enum CACommand {
    static var command: Command {
        Command(
            group: spec,
            [
                CAInitCommand.command, Command(group: issueSpec, [CAIssueCommand.client, CAIssueCommand.server]), CASignCommand.command,
                CAListCommand.command, CARevokeCommand.command, CARenewCommand.command, CACRLCommand.command, CAExportCommand.command,
                CATokenCommand.command, CATokensCommand.command, CATokenRevokeCommand.command,
            ])
    }

    private static let spec = CommandSpec(
        name: "ca",
        summary: "make and revoke certificates",
        text: [
            "A small certificate authority of your own, in one folder: servers and clients are known by certificates that it has signed, and by nothing "
                + "else. The relay reads renewed certificates and revocation lists by itself.",
            "A certificate goes by a name (a client's name, a server's first host) that stays the same over renewals, or by its serial number.",
        ],
        examples: [
            .init("segue ca init --ca /etc/segue/ca --name 'Example media CA'", "A new authority."),
            .init("segue ca issue client carol", "One more client for the relay in development mode."),
            .init("segue ca revoke carol --reason keyCompromise", "From the next moment on the relay refuses carol."),
            .init("segue ca token --client dave", "A token with which dave's device gets its certificate by itself: 'segue enroll'."),
        ])

    private static let issueSpec = CommandSpec(
        name: "issue",
        summary: "make a key and a certificate",
        examples: [
            .init("segue ca issue client carol", "For a client."), .init("segue ca issue server media.example.org 192.0.2.7", "For a server."),
        ])

    static let keyOption = OptionSpec.option(
        "--key", "KIND", "The kind of key; ecdsa-p256 unless told otherwise.", choices: KeyAlgorithm.allCases.map(\.rawValue))
    static let jsonOption = OptionSpec.flag("--json", "The result as JSON.")
    static let nameOperand = OperandSpec(name: "NAME", help: "The certificate's name, or its serial number.", minimum: 1, maximum: 1)

    static func key(_ arguments: Arguments) -> KeyAlgorithm { arguments.string(keyOption.name).flatMap(KeyAlgorithm.init(rawValue:)) ?? .ecdsaP256 }

    /// `--days N` as a lifetime.
    static func validity(_ arguments: Arguments, daysMax: Int) throws(UsageFault) -> Duration? {
        try arguments.integer("--days", in: 1...daysMax).map(Duration.days)
    }
}

/// Which authority a command works on.
struct CALocation {
    static let options = [
        OptionSpec.option("--ca", "DIR", "The authority's folder; else 'ca' in the state folder.", completion: .folder),
        StateDirectory.option,
    ]

    let directory: String
    /// When the authority is that of the state folder, where clients look for certificates.
    let state: StateDirectory?

    init(_ arguments: Arguments) throws {
        if let directory = arguments.string("--ca") {
            guard arguments.string(StateDirectory.option.name) == nil else { throw UsageFault.conflict("either --ca or --state") }
            guard !directory.isEmpty else { throw UsageFault.missingValue("--ca") }
            self.directory = StateDirectory.absolute(directory, FileManager.default.currentDirectoryPath)
            state = nil
        } else {
            let state = try StateDirectory.find(arguments)
            directory = state.authority
            self.state = state
        }
    }

    func open() throws(CommandFailure) -> CertificateAuthority {
        do {
            return try CertificateAuthority.open(directory: directory)
        } catch {
            let absent =
                switch error {
                case .noAuthority: true
                case .system(_, _, let code): code == ENOENT
                default: false
                }
            let hint = absent ? "\n'segue ca init' makes one; 'segue serve' makes one for development." : ""
            throw CommandFailure(code: .failure, message: "\(error)\(hint)")
        }
    }

    /// The options that name the same authority in a command to be typed next.
    var words: [String] {
        guard let state else { return ["--ca", directory] }
        return state.isNamed ? ["--state", state.path] : []
    }

    /// A line to type next.
    func next(_ words: [String]) -> String { "    " + ShellQuote.join(["segue"] + words + self.words) }
}

extension CertificateSelector {
    /// What an operator types: a name that the authority knows, or else a serial number.
    init(_ text: String, of authority: CertificateAuthority) throws(CertificateAuthorityFault) {
        let isKnown = try authority.list().contains { $0.label == text }
        if !isKnown, let serial = CertificateSerial(text) { self = .serial(serial) } else { self = .label(text) }
    }
}

/// Runs an operation of the authority; its faults become the command's.
func withAuthority<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let fault as CertificateAuthorityFault {
        throw CommandFailure(code: fault.isOfCommandLine ? .usage : .failure, message: Console.plain(fault.description))
    }
}

extension CertificateAuthorityFault {
    /// Whether what was typed is at fault, not what is on disk.
    fileprivate var isOfCommandLine: Bool {
        switch self {
        case .invalidName, .noNames, .tooManyNames, .nameKindNotAllowed, .validityOutOfRange, .passwordLength, .passwordHasNUL,
            .tokenValidityOutOfRange:
            true
        case .labelInUse, .labelOfServer, .requestDigestNotAllowed, .alreadyExists, .noAuthority, .authorityNotValid, .keyMismatch, .keyFileExposed,
            .folderExposed, .settingsCorrupt,
            .indexCorrupt, .indexFull, .fileTooLarge, .lockTimeout, .notFound, .alreadyRevoked, .revoked, .keyNotHeld, .requestMalformed,
            .requestSignatureInvalid, .requestKeyNotAllowed, .requestNameNotAllowed, .keyBelongsToAnother, .keyCompromised, .tokenNotAccepted,
            .tokenNotFound, .tokenEnded, .tokensFull, .tokenCorrupt, .notPresentable, .superseded, .renewalTooEarly, .malformedPEM, .system,
            .cryptography:
            false
        }
    }
}

/// A certificate as scripts get it. Times are RFC 3339 in UTC.
struct CertificateReport: Encodable {
    let serial: String
    let kind: String
    let name: String
    let names: [String]
    let status: String
    let notBefore: String
    let notAfter: String
    let key: String?
    let revokedAt: String?
    let reason: String?
    /// The certificate by which its owner asked for this one.
    let renews: String?
    /// Where the files of what is called `name` now are; they change with renewals.
    let certificate: String?
    let privateKey: String?

    init(_ entry: CertificateEntry, files: CertificatePaths?, now: UnixTime) {
        serial = entry.serial.description
        kind = entry.kind.rawValue
        name = entry.label
        names = entry.names.map(\.description)
        status = entry.status(at: now).rawValue
        notBefore = entry.notBefore.description
        notAfter = entry.notAfter.description
        key = entry.key?.rawValue
        revokedAt = entry.revocation?.at.description
        reason = entry.revocation?.reason.rawValue
        renews = entry.origin.predecessor?.description
        certificate = files?.certificate
        privateKey = files?.key
    }
}
