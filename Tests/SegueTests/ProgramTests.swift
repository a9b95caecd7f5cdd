import Foundation
import Testing

@testable import segue

@Suite("The program")
struct ProgramTests {
    @Test(
        "exit codes tell usage, configuration and failure apart",
        arguments: [
            (["--version"], 0), (["--help"], 0), (["help", "ca", "issue", "client"], 0), (["serve", "--help"], 0), ([], 2), (["ca"], 2),
            (["serv"], 2),
            (["serve", "--nonsense"], 2), (["serve", "--loops", "x"], 2), (["ca", "revoke"], 2), (["serve", "--config", "/nonexistent"], 3),
            (["check", "--config", "/nonexistent"], 3), (["ca", "list", "--ca", "/nonexistent"], 1), (["completions", "bash"], 0),
            (["completions", "csh"], 2), (["describe", "asyncapi"], 0), (["describe", "openapi"], 0), (["describe", "smoke"], 2),
        ] as [([String], Int32)])
    func exitCodes(words: [String], status: Int32) throws {
        let result = try Program.run(Program.path, words)
        #expect(result.status == status, "\(result.errors)")
        if status == 0 { #expect(!result.output.isEmpty && result.errors.isEmpty) } else if words.first != "check" { #expect(!result.errors.isEmpty) }
    }

    @Test("an unknown command is answered by the nearest one")
    func suggestion() throws {
        #expect(try Program.segue("publsh").errors.contains("did you mean 'publish'?"))
    }

    @Test("the scripts are good bash and zsh")
    func syntax() throws {
        for shell in ["bash", "zsh"] {
            let script = try Program.segue("completions", shell)
            #expect(try Program.run("bash", ["-n"], input: script.output).status == 0)
        }
    }

    @Test("a configuration without certificates is no development mode, and leaves nothing behind")
    func configurationWithoutCertificates() throws {
        let folder = try TemporaryFolder()
        try "{ listen: ['127.0.0.1:0'] }".write(toFile: folder.file("segue.json5"), atomically: true, encoding: .utf8)
        let result = try Program.segue("serve", "--config", folder.file("segue.json5"), "--state", folder.file("state"))
        #expect(result.status == 3)
        #expect(result.errors.contains("tls.certificates: ") && result.errors.contains("tls.clientAuthorities: "))
        #expect(!FileManager.default.fileExists(atPath: folder.file("state")))
    }

    @Test("an authority makes, signs, renews, lists, revokes and exports; openssl agrees")
    func authority() throws {
        let folder = try TemporaryFolder()
        let state = ["SEGUE_STATE": folder.path]
        #expect(try Program.segue("ca", "init", "--name", "Test CA", environment: state).status == 0)
        #expect(try Program.segue("ca", "init", environment: state).status == 1, "nothing is overwritten")
        #expect(try Program.segue("ca", "issue", "client", "carol", "--out", folder.file("carol"), environment: state).status == 0)
        #expect(try Program.segue("ca", "issue", "client", "carol", environment: state).status == 1, "the name is taken")
        #expect(try Program.segue("ca", "issue", "client", "not a name", environment: state).status == 2)
        #expect(try Program.segue("ca", "issue", "server", "localhost", "::1", "--key", "rsa-2048", environment: state).status == 0)

        func verify(_ certificate: String, _ purpose: String) throws -> Program {
            try Program.run(
                "openssl",
                ["verify", "-CAfile", folder.file("ca.pem"), "-CRLfile", folder.file("crl.pem"), "-crl_check", "-purpose", purpose, certificate])
        }
        #expect(try verify(folder.file("carol/carol.pem"), "sslclient").status == 0)
        #expect(try verify(folder.file("carol/carol.pem"), "sslserver").status != 0)
        #expect(try verify(folder.file("clients/carol.pem"), "sslclient").status == 0)
        #expect(try verify(folder.file("ca/live/localhost/certificate.pem"), "sslserver").status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("carol/carol-key.pem"))[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)

        #expect(try Program.segue("ca", "renew", "carol", environment: state).status == 0)
        #expect(try verify(folder.file("clients/carol.pem"), "sslclient").status == 0)
        #expect(try Program.segue("ca", "revoke", "carol", "--reason", "superseded", environment: state).status == 0)
        #expect(try verify(folder.file("clients/carol.pem"), "sslclient").status != 0, "revoked")
        #expect(try Program.segue("ca", "revoke", "carol", environment: state).status == 1, "there is nothing left to revoke")
        #expect(try Program.segue("ca", "renew", "carol", environment: state).status == 1, "a revoked certificate is not renewed")
        #expect(try Program.segue("ca", "crl", environment: state).status == 0)

        let list = try Program.segue("ca", "list", "--json", environment: state)
        let entries = try #require(try JSONSerialization.jsonObject(with: Data(list.output.utf8)) as? [[String: Any]])
        #expect(entries.map { $0["name"] as? String } == ["carol", "localhost", "carol"])
        #expect(entries.map { $0["status"] as? String } == ["revoked", "valid", "revoked"])
        #expect(entries.first?["reason"] as? String == "superseded")
    }

    @Test("a request is signed for the name that the operator gives, whatever it asks for")
    func signing() throws {
        let folder = try TemporaryFolder()
        let state = ["SEGUE_STATE": folder.path]
        _ = try Program.segue("ca", "init", environment: state)
        let request = try Program.run(
            "openssl",
            [
                "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=mallory", "-addext", "subjectAltName=URI:urn:segue:client:mallory",
                "-keyout",
                folder.file("key.pem"), "-out", folder.file("dave.csr"),
            ])
        #expect(request.status == 0)
        #expect(try Program.segue("ca", "sign", folder.file("dave.csr"), environment: state).status == 2, "a name must be given")
        #expect(try Program.segue("ca", "sign", folder.file("dave.csr"), "--client", "dave", environment: state).status == 0)
        let text = try Program.run("openssl", ["x509", "-noout", "-text", "-in", folder.file("clients/dave.pem")]).output
        #expect(text.contains("URI:urn:segue:client:dave") && !text.contains("mallory"))
    }

    @Test("PKCS#12 opens by the password from a file or from standard input", arguments: ["file", "-", "default"])
    func export(source: String) throws {
        let folder = try TemporaryFolder()
        let state = ["SEGUE_STATE": folder.path]
        _ = try Program.segue("ca", "init", environment: state)
        _ = try Program.segue("ca", "issue", "client", "carol", environment: state)
        let secret = "correct horse\n"
        try secret.write(toFile: folder.file("password"), atomically: true, encoding: .utf8)
        var words = ["ca", "export", "carol", "--out", folder.file("carol.p12")]
        if source != "default" { words += ["--password-file", source == "file" ? folder.file("password") : "-"] }
        let result = try Program.run(Program.path, words, environment: state, input: source == "file" ? "" : secret)
        #expect(result.status == 0, "\(result.errors)")
        let open = ["pkcs12", "-in", folder.file("carol.p12"), "-nodes", "-passin"]
        let opened = try Program.run("openssl", open + ["pass:correct horse"])
        #expect(opened.status == 0 && opened.output.contains("PRIVATE KEY"))
        #expect(try Program.run("openssl", open + ["pass:wrong"]).status != 0)
    }

    @Test("check tells what is wrong with certificates, all at once")
    func check() throws {
        let folder = try TemporaryFolder()
        let state = ["SEGUE_STATE": folder.path]
        _ = try Program.segue("ca", "init", environment: state)
        _ = try Program.segue("ca", "issue", "server", "localhost", "--days", "5", environment: state)
        _ = try Program.segue("ca", "issue", "server", "other.example", "--key", "rsa-2048", environment: state)
        _ = try Program.segue("ca", "issue", "client", "carol", environment: state)
        let live = folder.file("ca/live")
        func configuration(_ pairs: [(String, String)]) -> String {
            let list = pairs.map { "{ chain: '\(live)/\($0.0)/certificate.pem', key: '\(live)/\($0.1)/key.pem' }" }.joined(separator: ", ")
            return "{ listen: ['127.0.0.1:0'], tls: { certificates: [\(list)], clientAuthorities: ['\(folder.path)/ca.pem'], "
                + "revocationLists: ['\(folder.path)/crl.pem'] } }"
        }
        func findings(_ text: String) throws -> (status: Int32, failed: [String], warned: [String]) {
            try text.write(toFile: folder.file("segue.json5"), atomically: true, encoding: .utf8)
            let result = try Program.segue("check", "--config", folder.file("segue.json5"), "--json", environment: state)
            let report = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
            let found = try #require(report["findings"] as? [[String: String]])
            #expect(report["ok"] as? Bool == (result.status == 0))
            func messages(_ status: String) -> [String] { found.filter { $0["status"] == status }.compactMap { $0["message"] } }
            return (result.status, messages("fail"), messages("warn"))
        }

        let good = try findings(configuration([("localhost", "localhost"), ("other.example", "other.example")]))
        #expect(good.status == 0, "\(good.failed)")
        #expect(good.warned.contains { $0.contains("ends at") }, "five days are short")

        let bad = try findings(configuration([("localhost", "carol"), ("missing", "missing"), ("carol", "carol")]))
        #expect(bad.status == 3)
        #expect(bad.failed.contains { $0.contains("is not that of the certificate") })
        #expect(bad.failed.contains { $0.contains("missing/certificate.pem") })
        #expect(bad.failed.contains { $0.contains("not one for servers") })
    }
}
