import CertificateAuthority
import FoundationEssentials
import Glibc
import Reactor
import RelayServer
import TLSTransport

/// What `segue serve` and `segue check` run on: flags before environment before file before defaults.
enum ServeConfiguration {
    static let configOption = OptionSpec.option(
        "--config", "FILE", "A JSON5 configuration; else $SEGUE_CONFIG. Without one: development mode.", completion: .file)

    /// Flags that set keys of the configuration, with the variable that sets the same key.
    private static let variables: [(option: String, variable: String)] = [
        ("--loops", "SEGUE_LOOPS"), ("--client-certificates", "SEGUE_TLS_CLIENT_CERTIFICATES"), ("--tls-max", "SEGUE_TLS_MAXIMUM_VERSION"),
        ("--echo-message-bytes-max", "SEGUE_ECHO_MESSAGE_BYTES_MAX"), ("--web", "SEGUE_WEB"),
    ]

    /// The file that the flag or the environment names.
    static func path(_ arguments: Arguments, environment: [String: String]) -> String? {
        if let path = arguments.string(configOption.name) { return path }
        guard let path = environment["SEGUE_CONFIG"], !path.isEmpty else { return nil }
        return path
    }

    static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw CommandFailure(code: .configuration, message: "cannot read the configuration \(path)")
        }
    }

    /// - Parameters:
    ///   - text: the file's content; `nil` in development mode.
    ///   - development: the certificates to use where nothing else names any.
    ///   - cores: how many loops there are when nobody says.
    /// - Throws: ``UsageFault`` for a flag that is wrong in itself, `ServerConfiguration.Invalid` with all faults otherwise.
    static func resolve(
        text: [UInt8]?, environment: [String: String], arguments: Arguments, development: DevelopmentState?, cores: Int
    ) throws -> ServerConfiguration {
        let (configuration, faults) = try examine(text: text, environment: environment, arguments: arguments, development: development, cores: cores)
        guard let configuration, faults.isEmpty else { throw ServerConfiguration.Invalid(faults: faults) }
        return configuration
    }

    /// The same for whoever wants to look further in spite of faults.
    ///
    /// - Returns: the configuration without what is at fault, `nil` when the text is none at all; and all faults, those of the policy's file included.
    /// - Throws: ``UsageFault``.
    static func examine(
        text: [UInt8]?, environment: [String: String], arguments: Arguments, development: DevelopmentState?, cores: Int
    ) throws -> (configuration: ServerConfiguration?, faults: [ConfigurationFault]) {
        var environment = environment
        for (option, variable) in variables {
            if let value = arguments.string(option) { environment[variable] = value }
        }
        _ = try arguments.integer("--loops", in: 1...ServerConfiguration.loopsMax)
        if arguments.has("--echo") { environment["SEGUE_ECHO_ENABLED"] = "true" }
        let addresses = arguments.strings("--listen")
        for address in addresses where SocketAddress(address) == nil {
            throw UsageFault.conflict("--listen: '\(address)' is not ADDRESS:PORT, such as 127.0.0.1:8443 or [::1]:8443")
        }
        if !addresses.isEmpty { environment["SEGUE_LISTEN"] = addresses.joined(separator: ",") }

        var defaults = ServerConfiguration()
        defaults.loops = min(max(cores, 1), ServerConfiguration.loopsMax)
        if let development {
            defaults.tls.keyPairs = [development.serverECDSA, development.serverRSA].compactMap { certificate in
                certificate.livePaths.key.map { TLSConfiguration.KeyPair(certificateFile: certificate.livePaths.certificate, keyFile: $0) }
            }
            defaults.tls.authorityFiles = [development.trustStorePath]
            defaults.tls.revocationListFiles = [development.revocationListPath]
            defaults.enrolment = EnrolmentConfiguration(authority: development.authorityDirectory)
        }
        if text == nil {
            defaults.policy = .development
            // Browsers that have no certificate get in by a token.
            if environment["SEGUE_WEB"] != nil { defaults.tls.clientCertificate = .optional }
        }
        var (configuration, faults) = ServerConfiguration.examine(
            text: text, environment: environment, defaults: defaults, certificatesRequired: text != nil)
        if let file = configuration?.policyFile, !file.isEmpty {
            do {
                configuration?.policy = try PolicyFile.read(file)
            } catch {
                faults += error.faults
            }
        }
        return (configuration, faults)
    }

    /// All faults on lines of their own.
    static func failure(_ invalid: ServerConfiguration.Invalid, path: String?) -> CommandFailure {
        let place = path ?? "(flags and environment)"
        let faults = invalid.faults.map { "  " + Console.plain($0.description) }
        return CommandFailure(code: .configuration, message: (["the configuration \(place) is not valid:"] + faults).joined(separator: "\n"))
    }

    static var cores: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
}
