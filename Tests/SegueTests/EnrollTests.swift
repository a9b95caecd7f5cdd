import CertificateAuthority
import Foundation
import Testing

@testable import segue

@Suite("Enrolment by command line")
struct EnrollTests {
    @Test(
        "times are seconds, or have a unit",
        arguments: [("90", 90), ("1s", 1), ("15m", 900), ("12h", 43_200), ("30d", 2_592_000), ("2592000", 2_592_000)] as [(String, Int64)])
    func durations(text: String, seconds: Int64) throws {
        #expect(try CATokenCommand.duration(text, option: "--valid") == .seconds(seconds))
    }

    @Test(
        "a time that is none, or out of range, is a usage fault",
        arguments: ["", "0", "-1", "1.5h", "h", "1 h", "31d", "9223372036854775807d", "99999999999999999999", "1w", "1hh", "０"])
    func badDurations(text: String) {
        #expect(throws: UsageFault.self) { try CATokenCommand.duration(text, option: "--valid") }
    }

    @Test("the token alone is on standard output, to be piped; what to do with it is on standard error")
    func tokenOutput() throws {
        let folder = try TemporaryFolder()
        _ = try Program.segue("ca", "init", "--ca", folder.file("ca"))
        let made = try Program.segue("ca", "token", "--ca", folder.file("ca"), "--client", "carol", "--email", "carol@example.org")
        let token = made.output.trimmingCharacters(in: .newlines)
        #expect(made.status == 0 && EnrolmentSecret(token) != nil && !made.errors.contains(token))
        #expect(made.errors.contains("URI:urn:segue:client:carol, email:carol@example.org"))
        let listed = try Program.segue("ca", "tokens", "--ca", folder.file("ca"))
        #expect(listed.output.contains("open") && !listed.output.contains(token.suffix(48)))
        let nobody = try Program.segue("ca", "token", "--ca", folder.file("ca"))
        #expect(nobody.status == ExitCode.usage.rawValue && nobody.output.isEmpty)
    }

    @Test("a token on the command line is refused, and not repeated as one")
    func tokenArgument() throws {
        let token = "segue-enrol-" + String(repeating: "7", count: 48)
        let common = ["enroll", "--ca", "ca.pem", "--out", "device"]
        #expect(try Program.run(Program.path, common + ["--token", token]).status == ExitCode.usage.rawValue)
        let unset = try Program.run(Program.path, common)
        #expect(unset.status == ExitCode.usage.rawValue && unset.errors.contains("SEGUE_ENROLMENT_TOKEN"))
        let renewal = try Program.run(Program.path, common + ["--renew", "--token-file", "x"])
        #expect(renewal.status == ExitCode.usage.rawValue)
        let early = try Program.run(Program.path, common + ["--new-key"])
        #expect(early.status == ExitCode.usage.rawValue && early.errors.contains("--renew"))
    }

    @Test("check says what keeps devices from enrolling")
    func check() throws {
        let folder = try TemporaryFolder()
        _ = try Program.segue("ca", "init", "--ca", folder.file("ca"))
        _ = try Program.segue("ca", "issue", "server", "localhost", "--ca", folder.file("ca"))
        _ = try Program.segue("ca", "init", "--ca", folder.file("other"))
        func check(_ authority: String, _ policy: String) throws -> Program {
            let live = folder.file("ca/live/localhost")
            let text = """
                { listen: ["127.0.0.1:0"], enrolment: { authority: "\(folder.file(authority))" }, tls: { clientCertificates: "\(policy)",
                  certificates: [{ chain: "\(live)/certificate.pem", key: "\(live)/key.pem" }],
                  clientAuthorities: ["\(folder.file("ca/ca.pem"))"], revocationLists: ["\(folder.file("ca/crl.pem"))"] } }
                """
            try text.write(toFile: folder.file("segue.json5"), atomically: false, encoding: .utf8)
            return try Program.segue("check", "--config", folder.file("segue.json5"))
        }
        let good = try check("ca", "optional")
        #expect(good.output.contains("can sign until") && !good.output.contains("lacks the authority"))
        #expect(try check("other", "required").output.contains("lacks the authority of 'enrolment'"))
        #expect(try check("ca", "required").output.contains("does not get through the handshake"))
        #expect(try check("absent", "optional").status == ExitCode.configuration.rawValue)
    }
}
