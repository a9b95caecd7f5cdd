import CertificateAuthority
import FoundationEssentials
import Glibc
import HTTPProtocol
import Reactor
import RelayBase
import RelayClient
import RelayServer
import TLSTransport
import Testing

/// A development authority in a folder of its own, made once for all tests: issuing takes a while.
struct TestState: Sendable {
    let folder: String
    let state: DevelopmentState

    static let shared = TestState()

    private init() {
        folder = "/tmp/segue-client-tests-\(getpid())"
        do {
            state = try DevelopmentState.prepare(directory: folder, now: .current())
        } catch {
            preconditionFailure("no development state: \(error)")
        }
        atexit(removeTestState)
    }

    func credentials(_ name: String = "alice") -> ClientCredentials {
        let paths = state.clients.first { $0.name == name }?.certificate.livePaths
        return ClientCredentials(
            authorityFile: state.trustStorePath,
            keyPair: paths.flatMap { paths in paths.key.map { TLSConfiguration.KeyPair(certificateFile: paths.certificate, keyFile: $0) } })
    }
}

private func removeTestState() {
    try? FileManager.default.removeItem(atPath: TestState.shared.folder)
}

/// A relay in this process, on a port of the kernel's choice.
final class Relay {
    let server: Server
    let address: SocketAddress
    private let log: Log
    private var isStopped = false

    init(loops: Int = 1, _ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
        let state = TestState.shared.state
        var configuration = ServerConfiguration()
        configuration.listen = [.loopback(port: 0)]
        configuration.loops = loops
        for certificate in [state.serverECDSA, state.serverRSA] {
            let paths = certificate.livePaths
            configuration.tls.keyPairs.append(.init(certificateFile: paths.certificate, keyFile: try #require(paths.key)))
        }
        configuration.policy = .development
        configuration.tls.authorityFiles = [state.trustStorePath]
        configuration.tls.revocationListFiles = [state.revocationListPath]
        // Nothing is to end because the machine is slow.
        configuration.limits.audioDeadlineMilliseconds = 600_000
        configuration.limits.videoDeadlineMilliseconds = 600_000
        configuration.limits.dataDeadlineMilliseconds = 600_000
        configuration.limits.stallMillisecondsMax = 600_000
        configuration.limits.silenceMillisecondsMax = 600_000
        configuration.limits.handshakeMillisecondsMax = 600_000
        configuration.limits.helloMillisecondsMax = 600_000
        configuration.limits.closeHandshakeMillisecondsMax = 600_000
        configuration.limits.incompleteMessageMillisecondsMax = 600_000
        configuration.limits.controlMessagesPerSecondMax = 1_000_000
        adjust(&configuration)
        log = try Log(format: .json)
        server = try Server(configuration, log: log)
        address = try #require(server.addresses.first)
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        server.stop()
        log.stop()
    }

    deinit {
        stop()
    }
}

/// One way to reach the relay.
struct Route: Sendable, CustomTestStringConvertible {
    var http = ClientHTTPVersion.http1
    var tls = TLSVersion.tls13
    var loops = 1

    var testDescription: String { "HTTP/\(http.rawValue), TLS \(tls == .tls12 ? "1.2" : "1.3"), \(loops) loop(s)" }

    /// Both HTTP versions, both TLS versions, one loop and four.
    static let all: [Route] = [1, 4].flatMap { loops in
        TLSVersion.allCases.flatMap { tls in ClientHTTPVersion.allCases.map { Route(http: $0, tls: tls, loops: loops) } }
    }

    static let bothHTTP = ClientHTTPVersion.allCases.map { Route(http: $0) }
}
