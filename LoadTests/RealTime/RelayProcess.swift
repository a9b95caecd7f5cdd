import BenchmarkSupport
import Glibc
import LinkNetwork
import RelayBase
import RelayClient
import TLSTransport

/// An authority, a server's and a client's certificate, made by `segue ca`.
enum Certificates {
    static func make(_ options: RealTimeOptions) throws {
        let ca = options.folder + "/ca"
        let log = options.folder + "/ca.log"
        for arguments in [
            ["init", "--ca", ca], ["issue", "server", Stage.relayAddress, "--ca", ca, "--out", options.folder + "/server"],
            ["issue", "client", "reader", "--ca", ca, "--out", options.folder + "/client"],
        ] {
            // It tells what it made; nobody wants to read that here.
            let program = try Program([options.relay, "ca"] + arguments, output: .pipe, errors: log)
            guard program.wait(milliseconds: 20_000) == 0 else { throw ScenarioFault("segue ca \(arguments[0]) failed; see \(log)") }
        }
    }

    static func credentials(_ folder: String) -> ClientCredentials {
        ClientCredentials(
            authorityFile: folder + "/ca/ca.pem",
            keyPair: .init(certificateFile: folder + "/client/reader.pem", keyFile: folder + "/client/reader-key.pem"))
    }
}

/// The relay under test: `segue serve` in a namespace.
final class RelayProcess {
    private let program: Program

    init(_ options: RealTimeOptions, _ namespace: NetworkNamespace, _ limits: [String: Int]) throws {
        let policy = options.folder + "/policy.json5"
        let configuration = options.folder + "/segue.json5"
        try RelayProcess.write(policy, #"{access: [{identities: ["*"], rooms: ["*"], roles: ["speaker"]}]}"#)
        let bounds = limits.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        try RelayProcess.write(
            configuration,
            """
            {
                listen: ["\(Stage.relayAddress):\(Stage.port)"],
                loops: 1,
                // The namespace's own, which the scenario sets.
                congestionControl: "",
                policy: "\(policy)",
                tls: {
                    certificates: [{chain: "\(options.folder)/server/server.pem", key: "\(options.folder)/server/server-key.pem"}],
                    clientAuthorities: ["\(options.folder)/ca/ca.pem"],
                    revocationLists: ["\(options.folder)/ca/crl.pem"],
                },
                limits: {\(bounds)},
            }
            """)
        // Should this process die before it can end the relay, the kernel does.
        let arguments = ["ip", "netns", "exec", namespace.name, "setpriv", "--pdeathsig", "KILL", options.relay, "serve", "--config", configuration]
        program = try Program(
            (options.isRelayHurried ? Instruments.prefix : ["nice", "-n", "0"]) + arguments, output: .pipe, errors: options.folder + "/relay.log")
        while let line = program.line(milliseconds: 20_000) {
            if line.hasPrefix("ready") { return }
        }
        program.end()
        throw ScenarioFault("the relay did not start; see \(options.folder)/relay.log")
    }

    private static func write(_ path: String, _ text: String) throws {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ScenarioFault("\(path) cannot be written") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw ScenarioFault("\(path) cannot be written") }
    }

    /// Resident memory in bytes (proc(5)).
    func residentBytes() throws -> Int {
        let text = SmallFile.text("/proc/\(program.identifier)/status") ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            if let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) }) {
                return kibibytes << 10
            }
        }
        throw ScenarioFault("the relay has ended")
    }

    func end() {
        // The second signal ends the drain.
        program.signal(SIGTERM)
        usleep(50_000)
        program.end()
    }
}
