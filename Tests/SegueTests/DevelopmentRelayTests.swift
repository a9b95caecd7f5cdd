import Foundation
import Testing

@testable import segue

@Suite("serve in development mode", .serialized)
struct DevelopmentRelayTests {
    /// A relay as a process of its own, ended with its owner.
    private final class Relay {
        let process = Process()
        private let folder: TemporaryFolder

        init(state: String, _ words: [String] = []) throws {
            folder = try TemporaryFolder()
            // Nothing between, as programs that Foundation starts inherit a mask that blocks SIGTERM: `timeout` would never see it.
            process.executableURL = URL(filePath: Program.path)
            process.arguments = ["serve", "--listen", "127.0.0.1:0", "--loops", "1", "--state", state] + words
            process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SEGUE_") }
            for name in ["output", "errors"] { _ = FileManager.default.createFile(atPath: folder.file(name), contents: nil) }
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle(forWritingAtPath: folder.file("output"))
            process.standardError = FileHandle(forWritingAtPath: folder.file("errors"))
            try process.run()
        }

        deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

        var output: String { (try? String(contentsOfFile: folder.file("output"), encoding: .utf8)) ?? "" }
        var errors: String { (try? String(contentsOfFile: folder.file("errors"), encoding: .utf8)) ?? "" }

        /// The port of the `ready` line, once it is there.
        func port() throws -> Int {
            let isReady = waitUntil { self.output.contains("\nready https://") || !self.process.isRunning }
            let line = output.split(separator: "\n").first { $0.hasPrefix("ready https://127.0.0.1:") }
            guard isReady, let port = line?.split(separator: ":").last.flatMap({ Int($0) }) else { throw NotReady(text: output + errors) }
            return port
        }

        /// SIGTERM, and the status after the drain.
        func stop() -> Int32 {
            process.terminate()
            if !waitUntil({ !self.process.isRunning }) { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
            return process.terminationStatus
        }
    }

    private struct NotReady: Error {
        let text: String
    }

    private static func health(_ state: String, _ port: Int, client: String) throws -> Program {
        try Program.run(
            "curl",
            [
                "--silent", "--show-error", "--fail", "--max-time", "60", "--cacert", state + "/ca.pem", "--cert", "\(state)/clients/\(client).pem",
                "--key",
                "\(state)/clients/\(client)-key.pem", "https://localhost:\(port)/healthz",
            ])
    }

    @Test("the state is laid out, both demo clients are served, a second relay on it is refused and does no harm, and SIGTERM ends with 0")
    func twoRelays() throws {
        let folder = try TemporaryFolder()
        let state = folder.file("the state")
        let first = try Relay(state: state)
        let port = try first.port()
        let links = ["ca.pem", "crl.pem", "clients/alice.pem", "clients/alice-key.pem", "clients/bob.pem", "clients/bob-key.pem"]
        let targets = try links.map { try FileManager.default.destinationOfSymbolicLink(atPath: "\(state)/\($0)") }
        #expect(targets.allSatisfy { !$0.hasPrefix("/") }, "the folder may be moved")
        for name in ["alice", "bob", "operator"] { #expect(try Self.health(state, port, client: name).status == 0) }

        let serials = try Program.segue("ca", "list", "--state", state, "--json").output
        let second = try Program.segue("serve", "--listen", "127.0.0.1:0", "--state", state)
        #expect(second.status == 3)
        #expect(second.errors.contains("\(state)/relay: is in use by another relay"))
        #expect(try Program.segue("ca", "list", "--state", state, "--json").output == serials, "nothing was made anew")
        #expect(try Self.health(state, port, client: "alice").status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: state + "/clients").count == 6, "no temporary links are left")

        #expect(first.output.contains("curl --cacert '\(state)/ca.pem'"))
        #expect(first.stop() == 0)
    }

    @Test("a client that is revoked by 'segue ca revoke' is shut out of the running relay without a signal")
    func revocation() throws {
        let folder = try TemporaryFolder()
        let relay = try Relay(state: folder.path)
        let port = try relay.port()
        #expect(try Program.segue("ca", "issue", "client", "carol", "--state", folder.path).status == 0)
        #expect(try Self.health(folder.path, port, client: "carol").status == 0)
        #expect(try Program.segue("ca", "revoke", "carol", "--state", folder.path).status == 0)
        #expect(waitUntil { (try? Self.health(folder.path, port, client: "carol").status) != 0 })
        #expect(try Self.health(folder.path, port, client: "alice").status == 0)
        #expect(relay.stop() == 0)
    }

    @Test("a file of somebody's own in the place of a link is left alone, and said so")
    func inTheWay() throws {
        let folder = try TemporaryFolder()
        try "mine".write(toFile: folder.file("ca.pem"), atomically: true, encoding: .utf8)
        let result = try Program.segue("serve", "--listen", "127.0.0.1:0", "--state", folder.path)
        #expect(result.status == 1)
        #expect(result.errors.contains("\(folder.path)/ca.pem is in the way"))
        #expect(try String(contentsOfFile: folder.file("ca.pem"), encoding: .utf8) == "mine")
    }
}
