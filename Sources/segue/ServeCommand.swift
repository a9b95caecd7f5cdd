import CertificateAuthority
import FoundationEssentials
import Glibc
import Reactor
import RelayServer

/// `segue serve`: the relay.
enum ServeCommand {
    static var command: Command { Command(spec, run: run) }

    static let spec = CommandSpec(
        name: "serve",
        summary: "run the relay",
        text: [
            "Without --config the relay runs in development mode: it makes a certificate authority, certificates for localhost and three demo clients "
                + "(alice, bob, operator) under the state folder, listens on 127.0.0.1:8443 and prints what to type next. For this machine only.",
            "Flags override environment variables (SEGUE_LOOPS for the key 'loops', SEGUE_TLS_MAXIMUM_VERSION for 'tls.maximumVersion'), which override "
                + "the file. All faults of a configuration are told at once. --state and SEGUE_STATE are for development mode only: with --config the relay keeps "
                + "its state where the key 'state' of the file says.",
            "When the relay accepts connections it prints 'ready https://ADDRESS:PORT', one line for each address. SIGTERM or Ctrl-C drains (a second one "
                + "stops at once); SIGHUP reads certificates and revocation lists anew, which changed files do by themselves too.",
        ],
        options: [
            ServeConfiguration.configOption,
            .option("--listen", "ADDRESS:PORT", "Where to listen; port 0 lets the kernel choose.", repeatable: true),
            StateDirectory.option,
            .option("--loops", "N", "Event loops, 1 to \(ServerConfiguration.loopsMax); else as many as there are cores."),
            .option("--client-certificates", "POLICY", "Whether clients must show a certificate.", choices: ["required", "optional"]),
            .option("--web", "FOLDER", "The web client to serve at /, as Deploy/web assembles it.", completion: .folder),
            .option("--tls-max", "VERSION", "The highest TLS version to speak.", choices: ["1.2", "1.3"]),
            .flag("--echo", "For conformance tests only: a WebSocket at /echo that sends back what it gets."),
            .option("--echo-message-bytes-max", "N", "The longest message of /echo in bytes."),
            .option("--log", "FORMAT", "The log on standard error; else human on a terminal, JSON otherwise.", choices: ["human", "json"]),
        ],
        examples: [
            .init("segue serve", "Development mode."),
            .init("segue serve --listen 127.0.0.1:0 --state /tmp/segue", "On any free port, with a state folder to throw away."),
            .init("segue serve --config /etc/segue/segue.json5 --log json", "As deployed."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        // Threads inherit the mask, so it is set before the first of them starts.
        try SignalReceiver.block(Server.signals)
        let environment = ProcessInfo.processInfo.environment
        let path = ServeConfiguration.path(arguments, environment: environment)
        let state = path == nil ? try StateDirectory.find(arguments) : nil
        let text = try path.map { try ServeConfiguration.read($0) }
        var configuration = try configure(arguments, text, environment, state, path)
        configuration.version = SegueVersion.text
        let token = try state.flatMap { try developmentToken($0, &configuration) }

        let log = try Log(format: logFormat(arguments))
        defer { log.stop() }
        let server = try start(configuration, log)
        if let state {
            try DevelopmentRenewal.start(state, log: log)
            Console.text(
                DevelopmentBanner(state: state, addresses: server.addresses, program: DevelopmentBanner.program, token: token).text)
        }
        for address in server.proxyAddresses { Console.out("proxy http://\(address)") }
        for address in server.addresses { Console.out("ready https://\(address)") }
        server.supervise()
        return .ok
    }

    private static func configure(
        _ arguments: Arguments, _ text: [UInt8]?, _ environment: [String: String], _ state: StateDirectory?, _ path: String?
    ) throws -> ServerConfiguration {
        do {
            // Faults first, and the certificates only when there are none: a wrong flag leaves no state behind.
            let cores = ServeConfiguration.cores
            let configuration = try ServeConfiguration.resolve(
                text: text, environment: environment, arguments: arguments, development: nil, cores: cores)
            guard let state else { return configuration }
            let development = try state.prepare(now: .current())
            var developed = try ServeConfiguration.resolve(
                text: text, environment: environment, arguments: arguments, development: development, cores: cores)
            if developed.stateFolder == nil { developed.stateFolder = state.relay }
            return developed
        } catch let invalid as ServerConfiguration.Invalid {
            throw ServeConfiguration.failure(invalid, path: path)
        }
    }

    /// With a web client, tokens of the relay's own are in use unless others are configured.
    private static func developmentToken(_ state: StateDirectory, _ configuration: inout ServerConfiguration) throws(CommandFailure) -> String? {
        guard configuration.webFolder != nil, configuration.tokens == nil else { return nil }
        let token = try DevelopmentToken.prepare(state)
        configuration.tokens = token.settings
        return try token.token(now: Int64(WallClock.now() / 1_000))
    }

    private static func logFormat(_ arguments: Arguments) -> Log.Format {
        switch arguments.string("--log") {
        case "human": .human
        case "json": .json
        default: Log.detectedFormat
        }
    }

    private static func start(_ configuration: ServerConfiguration, _ log: Log) throws(CommandFailure) -> Server {
        do {
            return try Server(configuration, log: log)
        } catch {
            switch error {
            case .tls, .state, .enrolment, .tokens, .web: throw CommandFailure(code: .configuration, message: "\(error)")
            case .listen(_, let fault) where fault.errno == EADDRINUSE:
                throw CommandFailure(code: .failure, message: "\(error)\nIs another relay running there? Choose another address with --listen.")
            case .listen, .auditLog, .system: throw CommandFailure(code: .failure, message: "\(error)")
            }
        }
    }
}
