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
            "Looks at everything at once and changes nothing: all faults of the configuration and of the policy, and what in the policy surely is a mistake; "
                + "whether certificates can be read, match their keys and hold long enough; whether revocation lists are there and fresh; tokens' keys, enrolment, "
                + "the state folder, the audit log, proxies; addresses, limits of the system, kernel features and library versions.",
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
        let isDevelopment = ServeConfiguration.path(arguments, environment: environment) == nil
        if let (configuration, faults) = try configuration(arguments, environment, &report) {
            // Each by itself: a fault of one says nothing of the others.
            if !faults.contains(where: { $0.path.hasPrefix("policy") }) {
                CheckSections.policy(configuration, isDevelopment: isDevelopment, &report)
            }
            CheckCertificates.check(configuration.tls, now: .current(), &report)
            if !faults.contains(where: { $0.path.hasPrefix("tokens") }) { CheckSections.tokens(configuration, &report) }
            if !faults.contains(where: { $0.path == "enrolment.authority" }) { CheckEnrolment.check(configuration, now: .current(), &report) }
            if !isDevelopment || configuration.stateFolder != nil { CheckSections.state(configuration, &report) }
            CheckSections.auditLog(configuration, &report)
            if !faults.contains(where: { $0.path == "web" }) { CheckSections.web(configuration, &report) }
            if !faults.contains(where: { $0.path.hasPrefix("proxies") }) { CheckSections.proxies(configuration, &report) }
            CheckSystem.addresses(configuration, &report)
            CheckSystem.descriptors(configuration, &report)
        }
        CheckSystem.kernel(&report)
        CheckLibraries.check(&report)
        report.show(asJSON: arguments.has("--json"))
        return report.hasFailed ? .configuration : .ok
    }

    /// What to look at further; `nil` when there is no configuration at all.
    private static func configuration(
        _ arguments: Arguments, _ environment: [String: String], _ report: inout CheckReport
    ) throws -> (ServerConfiguration, [ConfigurationFault])? {
        let path = ServeConfiguration.path(arguments, environment: environment)
        do {
            let text = try path.map { try ServeConfiguration.read($0) }
            let (configuration, faults) = try ServeConfiguration.examine(
                text: text, environment: environment, arguments: arguments, development: nil, cores: ServeConfiguration.cores)
            tell(faults, path, &report)
            guard let configuration else { return nil }
            if let path {
                if faults.isEmpty { report.add(.ok, "configuration", "\(path) is valid") }
                return (configuration, faults)
            }
            return (try development(configuration, StateDirectory.find(arguments), &report), faults)
        } catch let failure as CommandFailure {
            report.add(.fail, "configuration", failure.message)
        }
        return nil
    }

    /// Each fault with the file that has to be mended, and behind the last of each file where its keys are explained.
    private static func tell(_ faults: [ConfigurationFault], _ path: String?, _ report: inout CheckReport) {
        let own = faults.filter { $0.file == nil }
        for fault in own { report.add(.fail, path ?? "configuration", fault.text) }
        if !own.isEmpty {
            report.advise("Mend it there, or in the variables, which override the file. Segue's own Deploy/segue.json5 explains every key.")
        }
        let policy = faults.filter { $0.file != nil }
        for fault in policy { report.add(.fail, fault.file ?? "policy", fault.text) }
        if !policy.isEmpty { report.advise("Mend it there. Segue's own Deploy/policy.json5 explains every key of a policy.") }
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
            if configuration.stateFolder == nil { configuration.stateFolder = state.relay }
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
