import CLinux
import Glibc
import Reactor
import RelayClient
import RelayRooms
import Signalling
import TLSTransport

/// A relay as the command line names it: `HOST:PORT`, `[IPv6]:PORT`.
struct RelayEndpoint: Equatable {
    let host: String
    let port: UInt16

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        self.host = host
        self.port = port
    }

    /// The address to connect to. Names are looked up by the system, which may wait; IPv4 goes first, as the development mode listens there.
    func resolve() throws(CommandFailure) -> SocketAddress {
        if let address = SocketAddress(host: host, port: port) { return address }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let fault = unsafe getaddrinfo(host, nil, &hints, &list)
        guard fault == 0 else {
            let reason = unsafe gai_strerror(fault).map { unsafe String(cString: $0) } ?? "unknown"
            throw CommandFailure(code: .connection, message: "\(host): \(reason)")
        }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let address = unsafe current.pointee.ai_addr, unsafe Int(current.pointee.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size {
                var storage = sockaddr_storage()
                unsafe withUnsafeMutableBytes(of: &storage) {
                    unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(current.pointee.ai_addrlen)))
                }
                if let address = SocketAddress(storage) { found.append(address.withPort(port)) }
            }
            unsafe entry = unsafe current.pointee.ai_next
        }
        guard let address = found.first(where: \.isIPv4) ?? found.first else {
            throw CommandFailure(code: .connection, message: "\(host): no address")
        }
        return address
    }
}

/// What the clients' commands have in common: where to, and as whom.
struct ClientConnect {
    static let options: [OptionSpec] = [
        .option("--connect", "HOST:PORT", "The relay; 127.0.0.1:8443 by default."),
        .option("--as", "NAME", "Which client of the state folder to be."),
        StateDirectory.option,
        .option(
            "--ca", "FILE", "The authority that the relay's certificate must come from (PEM), with --cert and --key, in place of --state.",
            completion: .file),
        .option("--cert", "FILE", "The client's certificate (PEM).", completion: .file),
        .option("--key", "FILE", "The certificate's private key (PEM).", completion: .file),
        .option(
            "--token-file", "FILE",
            "A bearer token (JWT), the first line of FILE, - for standard input: a second factor, or with --ca alone the only proof.",
            completion: .file),
        .option("--http", "VERSION", "How the WebSocket is opened: an upgrade of HTTP/1.1, or a stream of HTTP/2.", choices: ["1.1", "2"]),
        .option("--tls", "VERSION", "Speak this version of TLS only.", choices: ["1.2", "1.3"]),
    ]

    /// For commands whose session may last.
    static let resumeOption = OptionSpec.flag("--no-resume", "End when the connection is lost, instead of coming back over another.")
    /// For commands that take a role in a room.
    static let roleOption = OptionSpec.option(
        "--role", "ROLE", "What to be in the room; else what the relay's policy gives first.", choices: Role.allCases.map(\.rawValue))
    static let defaultEndpoint = "127.0.0.1:8443"
    /// The longest token that is read: no request that carries a longer one is taken by a relay.
    private static let tokenBytesMax = 16_384

    let template: ClientOptions
    let context: TLSContext
    let role: Role?

    /// - Parameter role: what the command is in every room; `nil` leaves it to the command line.
    /// - Parameter endpoint: where to, in place of what `--connect` says.
    init(_ arguments: Arguments, defaultName: String, role: Role? = nil, endpoint: RelayEndpoint? = nil) throws {
        let text = arguments.string("--connect") ?? Self.defaultEndpoint
        guard let endpoint = endpoint ?? RelayEndpoint(text) else {
            throw UsageFault.badChoice(option: "--connect", value: text, choices: ["HOST:PORT"])
        }
        let http = arguments.string("--http").flatMap(ClientHTTPVersion.init(rawValue:)) ?? .http1
        let token = try arguments.string("--token-file").map { try ClientConnect.token($0) }
        let credentials = try ClientConnect.credentials(arguments, defaultName: defaultName, hasToken: token != nil)
        let versions: (TLSVersion, TLSVersion) =
            switch arguments.string("--tls") {
            case "1.2": (.tls12, .tls12)
            case "1.3": (.tls13, .tls13)
            default: (.tls12, .tls13)
            }
        do {
            context = try credentials.context(http: http, minimumVersion: versions.0, maximumVersion: versions.1)
        } catch {
            throw CommandFailure(code: .configuration, message: "\(error)")
        }
        var template = ClientOptions(address: try endpoint.resolve(), host: endpoint.host, http: http)
        template.clientName = "segue"
        template.clientVersion = SegueVersion.text
        template.token = token
        self.template = template
        self.role = role ?? arguments.string("--role").flatMap { Role(rawValue: $0) }
    }

    /// The options of `arguments` that a command to be typed next needs as well.
    static func repeated(_ arguments: Arguments) -> [String] {
        ["--connect", StateDirectory.option.name].flatMap { name in arguments.string(name).map { [name, $0] } ?? [] }
    }

    private static func token(_ path: String) throws(CommandFailure) -> String {
        let token = SecretInput.firstLine(try SecretInput.bytes(path)).filter { $0 != " " && $0 != "\t" }
        // Not repeated in what is said: it may be most of one.
        guard token.utf8.count <= tokenBytesMax, isCompactToken(token) else {
            throw CommandFailure(
                code: .configuration,
                message: "\(path == "-" ? "standard input" : path): the first line is no token (a JWT: three parts with points between)")
        }
        return token
    }

    /// The compact form of a JWS (RFC 7515 §3.1): three parts of base64url.
    static func isCompactToken(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                            UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }

    func join(_ room: String) -> ClientRequest {
        .join(.init(room: room, displayName: nil, role: role))
    }

    private static func credentials(_ arguments: Arguments, defaultName: String, hasToken: Bool) throws -> ClientCredentials {
        let files = ["--ca", "--cert", "--key"].compactMap(arguments.string)
        if !files.isEmpty {
            if arguments.string("--state") != nil { throw UsageFault.conflict("either --state, or --ca with --cert and --key") }
            if hasToken, files.count == 1, let authority = arguments.string("--ca") {
                return ClientCredentials(authorityFile: authority, keyPair: nil)
            }
            guard files.count == 3 else {
                throw UsageFault.conflict("--ca, --cert and --key belong together; --ca may stand alone with --token-file")
            }
            return ClientCredentials(authorityFile: files[0], keyPair: .init(certificateFile: files[1], keyFile: files[2]))
        }
        let state = try StateDirectory.find(arguments)
        let name = arguments.string("--as") ?? defaultName
        guard name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") }), !name.isEmpty else {
            throw UsageFault.conflict("--as: '\(name)' is no client's name")
        }
        let certificate = state.clientCertificate(name)
        guard unsafe access(certificate, R_OK) == 0 else {
            throw CommandFailure(code: .configuration, message: "there is no \(certificate). \(remedy(state, name)), or give --ca, --cert and --key.")
        }
        return ClientCredentials(
            authorityFile: state.trustStore, keyPair: .init(certificateFile: certificate, keyFile: state.clientKey(name)))
    }

    /// Where a client's certificate comes from: the development mode makes those of its three, the authority everybody else's.
    private static func remedy(_ state: StateDirectory, _ name: String) -> String {
        let words = state.isNamed ? ["--state", state.path] : []
        guard unsafe access(state.trustStore, R_OK) == 0 else {
            let serve = ShellQuote.join(["segue", "serve"] + words)
            return "Start a relay in development mode with `\(serve)`, which makes alice, bob and operator"
        }
        return "`\(ShellQuote.join(["segue", "ca", "issue", "client", name] + words))` makes it"
    }
}

extension ClientFault {
    /// The failure of a command whose session ended by this fault.
    func failure(wasOpen: Bool) -> CommandFailure {
        let isRefusal = if case .refused = self { true } else { false }
        return CommandFailure(code: wasOpen || isRefusal ? .relay : .connection, message: Console.plain(description) + hint(wasOpen: wasOpen))
    }

    private func hint(wasOpen: Bool) -> String {
        switch self {
        case .connect: ". Is a relay running there? `segue serve` starts one."
        case .transport(.tls(.unknownAuthority)): ". The relay's certificate is of another authority than --ca or --state names."
        case .transport(.tls(.alertReceived)) where !wasOpen: ". The relay did not accept this client's certificate, or the TLS version."
        default: ""
        }
    }
}
