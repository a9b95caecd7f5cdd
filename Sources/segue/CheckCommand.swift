import CertificateAuthority
import FoundationEssentials
import RelayServer
import TLSTransport

/// `segue check`: whether a relay would start here, and what would trouble it later.
enum CheckCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "check",
        summary: "check the configuration, the certificates and the machine",
        text: [
            "Looks at everything at once and changes nothing: all faults of the configuration; whether certificates can be read, match their keys and hold "
                + "long enough; whether revocation lists are fresh; addresses, limits of the system, kernel features and library versions.",
            "Exit code 0 when nothing failed (warnings are no failure), 3 otherwise.",
        ],
        options: [ServeConfiguration.configOption, StateDirectory.option, .flag("--json", "The findings as JSON.")],
        examples: [
            .init("segue check --config /etc/segue/segue.json5", "Before a relay is started or told to reload."),
            .init("segue check --json", "For scripts: 'ok', and a list of findings with status, subject, message and advice."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        var report = CheckReport()
        let environment = ProcessInfo.processInfo.environment
        if let configuration = try configuration(arguments, environment, &report) {
            CheckCertificates.check(configuration.tls, now: .current(), &report)
            tokens(configuration, &report)
            CheckEnrolment.check(configuration, now: .current(), &report)
            CheckSystem.addresses(configuration, &report)
            CheckSystem.descriptors(configuration, &report)
        }
        CheckSystem.kernel(&report)
        CheckLibraries.check(&report)
        report.show(asJSON: arguments.has("--json"))
        return report.hasFailed ? .configuration : .ok
    }

    private static func configuration(
        _ arguments: Arguments, _ environment: [String: String], _ report: inout CheckReport
    ) throws -> ServerConfiguration? {
        let path = ServeConfiguration.path(arguments, environment: environment)
        do {
            let text = try path.map { try ServeConfiguration.read($0) }
            let configuration = try ServeConfiguration.resolve(
                text: text, environment: environment, arguments: arguments, development: nil, cores: ServeConfiguration.cores)
            if let path {
                report.add(.ok, "configuration", "\(path) is valid")
                return configuration
            }
            return try development(configuration, StateDirectory.find(arguments), &report)
        } catch let invalid as ServerConfiguration.Invalid {
            for fault in invalid.faults { report.add(.fail, path ?? "configuration", fault.description) }
            report.advise("Mend it there, or in the variables, which override the file. Segue's own Deploy/segue.json5 explains every key.")
        } catch let failure as CommandFailure {
            report.add(.fail, "configuration", failure.message)
        }
        return nil
    }

    /// Whether the keys of bearer tokens can be had, and what they mean for clients without a certificate.
    private static func tokens(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        guard let settings = configuration.tokens else { return }
        do {
            let keys = try settings.countKeys()
            report.add(
                .ok, settings.keysFile, "\(keys.used) keys for bearer tokens" + (keys.passedOver > 0 ? ", \(keys.passedOver) passed over" : ""))
        } catch {
            report.add(.fail, "tokens.keys", "\(error)", advice: "It must be a JWK set of public keys for ES256 or EdDSA.")
        }
        guard configuration.tls.clientCertificate == .required, configuration.proxies.listen.isEmpty else { return }
        report.add(
            .ok, "tokens", "second factor only: tls.clientCertificates is \"required\"",
            advice: "With \"optional\", clients without a certificate get in by a token.")
    }

    /// The development certificates as they are, without making any.
    private static func development(
        _ configuration: ServerConfiguration, _ state: StateDirectory, _ report: inout CheckReport
    ) -> ServerConfiguration {
        report.add(.ok, "configuration", "none: development mode, for this machine only")
        var configuration = configuration
        do throws(CertificateAuthorityFault) {
            let authority = try CertificateAuthority.open(directory: state.authority)
            for label in ["localhost-ecdsa", "localhost-rsa"] {
                let files = try authority.find(.label(label)).livePaths
                if let key = files.key { configuration.tls.keyPairs.append(.init(certificateFile: files.certificate, keyFile: key)) }
            }
            configuration.tls.authorityFiles = [authority.certificatePath]
            configuration.tls.revocationListFiles = [authority.revocationListPath]
            report.add(.ok, "state", "\(state.path) holds the development certificates; 'segue serve' renews them")
        } catch .noAuthority {
            report.add(.ok, "state", "\(state.path) holds no certificates yet; 'segue serve' makes them")
        } catch .notFound {
            report.add(.ok, "state", "\(state.path) holds no certificates of a relay yet; 'segue serve' makes them")
        } catch {
            report.add(.fail, "state", "\(error)", advice: "Mend it, or name another folder with --state.")
        }
        return configuration
    }
}
