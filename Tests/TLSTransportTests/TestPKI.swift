import Foundation
import TLSTransport

/// A world of certificates for the tests, made once by the `openssl` command in a temporary folder: a root with an intermediate below it, a foreign root, and
/// every good and bad certificate that the tests present.
final class TestPKI: Sendable {
    static let shared: TestPKI = {
        do {
            let pki = try TestPKI()
            atexit { try? FileManager.default.removeItem(atPath: TestPKI.shared.folder) }
            return pki
        } catch {
            fatalError("cannot make the test certificates: \(error)")
        }
    }()

    /// How a certificate is to be made.
    struct Recipe {
        var name: String
        var authority = "root"
        var usage: String? = "clientAuth"
        /// The value of the extension in OpenSSL's notation; `nil`: no alternative names.
        var alternativeNames: String?
        var start = "20200101000000Z"
        var end = "20400101000000Z"
        var keyKind = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    }

    let folder: String

    func path(_ file: String) -> String { "\(folder)/\(file)" }

    func pair(_ name: String, chain: Bool = false) -> TLSConfiguration.KeyPair {
        TLSConfiguration.KeyPair(certificateFile: path(chain ? "\(name)-chain.pem" : "\(name).pem"), keyFile: path("\(name).key"))
    }

    private init() throws {
        folder = NSTemporaryDirectory() + "segue-tls-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for authority in ["root", "foreign"] { try makeRoot(authority) }
        try makeIntermediate()
        for recipe in Self.recipes { try issue(recipe) }
        try makeSelfSigned()
        try makeMismatchedKey()
        try makeRevocationLists()
        try makeResponses()
        try join(["inter-client.pem", "inter.pem"], as: "inter-client-chain.pem")
    }

    private static let rsa = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    private static let serverNames = "DNS:relay.example,IP:127.0.0.1"

    private static let recipes: [Recipe] = [
        Recipe(name: "server", usage: "serverAuth", alternativeNames: serverNames),
        Recipe(name: "server-rsa", usage: "serverAuth", alternativeNames: serverNames, keyKind: rsa),
        Recipe(name: "server-revoked", usage: "serverAuth", alternativeNames: serverNames),
        Recipe(name: "responder", usage: "OCSPSigning"),
        Recipe(name: "server-expired", usage: "serverAuth", alternativeNames: serverNames, end: "20210101000000Z"),
        Recipe(name: "client", alternativeNames: "DNS:alice.example,URI:urn:segue:alice,email:alice@example.org"),
        Recipe(name: "client-rsa", alternativeNames: "DNS:rsa.example", keyKind: rsa),
        Recipe(name: "short-lived", alternativeNames: "URI:urn:segue:short", end: "20350101000000Z"),
        Recipe(name: "nameless"),
        Recipe(name: "expired", alternativeNames: "URI:urn:segue:old", end: "20210101000000Z"),
        Recipe(name: "not-yet", alternativeNames: "URI:urn:segue:future", start: "20390101000000Z"),
        Recipe(name: "wrong-usage", usage: "serverAuth", alternativeNames: "URI:urn:segue:server"),
        Recipe(name: "revoked", alternativeNames: "URI:urn:segue:revoked"),
        Recipe(name: "foreign-client", authority: "foreign", alternativeNames: "URI:urn:segue:alice"),
        Recipe(name: "inter-client", authority: "inter", alternativeNames: "URI:urn:segue:below"),
        // A DNS name "a\0b.example", and a URI that would pass for another key's fingerprint.
        Recipe(name: "nul-name", alternativeNames: "DER:30:0D:82:0B:61:00:62:2E:65:78:61:6D:70:6C:65"),
        Recipe(name: "false-key-name", alternativeNames: "URI:SPKI:0000"),
        Recipe(name: "weak", alternativeNames: "URI:urn:segue:weak", keyKind: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]),
    ]

    private func makeRoot(_ name: String) throws {
        try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "\(name).key")
        try write("\(name).ext", "[req]\ndistinguished_name=dn\n[dn]\n[v3]\n\(Self.authorityExtensions)")
        try openssl(
            "req", "-x509", "-new", "-key", "\(name).key", "-subj", "/CN=\(name)", "-days", "7300", "-config", "\(name).ext", "-extensions", "v3",
            "-out",
            "\(name).pem")
        try prepareAuthority(name)
    }

    private func makeIntermediate() throws {
        try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "inter.key")
        try sign("inter", by: "root", start: "20200101000000Z", end: "20400101000000Z", extensions: Self.authorityExtensions)
        try prepareAuthority("inter")
    }

    private static let authorityExtensions = """
        basicConstraints=critical,CA:TRUE
        keyUsage=critical,keyCertSign,cRLSign
        subjectKeyIdentifier=hash

        """

    private func prepareAuthority(_ name: String) throws {
        try write("\(name).db", "")
        try write("\(name).db.attr", "unique_subject = no\n")
        try write(
            "\(name).cnf",
            """
            [ca]
            default_ca=d
            [d]
            database=\(path("\(name).db"))
            new_certs_dir=\(folder)
            certificate=\(path("\(name).pem"))
            private_key=\(path("\(name).key"))
            rand_serial=yes
            default_md=sha256
            policy=p
            [p]
            commonName=supplied
            [lone_base]
            2.5.29.20=DER:02:01:10
            [base]
            2.5.29.20=DER:02:01:10
            freshestCRL=URI:http://crl.example/delta
            [delta]
            2.5.29.20=DER:02:01:11
            2.5.29.27=critical,DER:02:01:10
            [later_delta]
            2.5.29.20=DER:02:01:21
            2.5.29.27=critical,DER:02:01:20

            """)
    }

    private func issue(_ recipe: Recipe) throws {
        try openssl(["genpkey"] + recipe.keyKind + ["-out", "\(recipe.name).key"])
        var extensions = "basicConstraints=CA:FALSE\nauthorityKeyIdentifier=keyid\n"
        if let usage = recipe.usage { extensions += "extendedKeyUsage=\(usage)\n" }
        if let names = recipe.alternativeNames { extensions += "subjectAltName=\(names)\n" }
        try sign(recipe.name, by: recipe.authority, start: recipe.start, end: recipe.end, extensions: extensions)
    }

    private func sign(_ name: String, by authority: String, start: String, end: String, extensions: String) throws {
        try write("\(name).ext", extensions)
        try openssl("req", "-new", "-key", "\(name).key", "-subj", "/CN=\(name)", "-out", "\(name).csr")
        try openssl(
            "ca", "-batch", "-notext", "-config", "\(authority).cnf", "-in", "\(name).csr", "-extfile", "\(name).ext", "-startdate", start,
            "-enddate", end,
            "-out", "\(name).pem")
    }

    private func makeSelfSigned() throws {
        try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "self-signed.key")
        try openssl(
            "req", "-x509", "-new", "-key", "self-signed.key", "-subj", "/CN=self", "-days", "30", "-addext", "subjectAltName=URI:urn:segue:alice",
            "-out",
            "self-signed.pem")
    }

    /// A key file whose public half is the client's and whose private half is not, as a thief of a certificate would try: it loads, but its signatures do not verify.
    private func makeMismatchedKey() throws {
        try FileManager.default.copyItem(atPath: path("client.pem"), toPath: path("thief.pem"))
        try openssl("ec", "-in", "client.key", "-outform", "DER", "-out", "client.der")
        try openssl("ec", "-in", "foreign-client.key", "-outform", "DER", "-out", "other.der")
        var der = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path("client.der"))))
        let other = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path("other.der"))))
        // RFC 5915: SEQUENCE header (2), version (3), OCTET STRING header (2), then the 32 bytes of the private key.
        der.replaceSubrange(7..<39, with: other[7..<39])
        let body = Data(der).base64EncodedString(options: .lineLength64Characters)
        try write("thief.key", "-----BEGIN EC PRIVATE KEY-----\n\(body)\n-----END EC PRIVATE KEY-----\n")
    }

    private func makeRevocationLists() throws {
        let valid = ["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20400101000000Z"]
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-out", "root-empty.crl"] + valid)
        try openssl(["ca", "-config", "inter.cnf", "-gencrl", "-out", "inter.crl"] + valid)
        try openssl([
            "ca", "-config", "root.cnf", "-gencrl", "-out", "root-stale.crl", "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate",
            "20210101000000Z",
        ])
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-crlexts", "base", "-out", "root-base.crl"] + valid)
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-crlexts", "lone_base", "-out", "root-lone-base.crl"] + valid)
        try openssl("ca", "-config", "root.cnf", "-revoke", "revoked.pem")
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-crlexts", "delta", "-out", "root-delta.crl"] + valid)
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-crlexts", "later_delta", "-out", "root-later-delta.crl"] + valid)
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-out", "root.crl"] + valid)
        try openssl("crl", "-in", "root.crl", "-outform", "DER", "-out", "root.der.crl")
        try openssl("ca", "-config", "root.cnf", "-revoke", "inter.pem")
        try openssl(["ca", "-config", "root.cnf", "-gencrl", "-out", "root-inter-revoked.crl"] + valid)
    }

    /// OCSP responses (RFC 6960), named by what they are; all but `server.ocsp` and `delegated.ocsp` are of no use for the server's certificate.
    private func makeResponses() throws {
        func respond(_ name: String, about subject: String, signer: String = "root", index: String = "root.db", _ more: [String] = ["-ndays", "7"])
            throws
        {
            try openssl(
                ["ocsp", "-index", index, "-rsigner", "\(signer).pem", "-rkey", "\(signer).key", "-CA", "root.pem", "-issuer", "root.pem"]
                    + ["-cert", "\(subject).pem", "-respout", path("\(name).ocsp")] + more)
        }
        try respond("server", about: "server")
        try respond("delegated", about: "server", signer: "responder")
        try respond("not-appointed", about: "server", signer: "client")
        try respond("foreign-signer", about: "server", signer: "foreign")
        try respond("other-certificate", about: "server-rsa")
        try respond("endless", about: "server", [])
        try write("empty.db", "")
        try respond("unknown", about: "server", index: "empty.db")
        try openssl("ca", "-config", "root.cnf", "-revoke", "server-revoked.pem")
        try respond("server-revoked", about: "server-revoked")
        // RFC 6960 §4.2.1: tryLater (3).
        try Data([0x30, 0x03, 0x0A, 0x01, 0x03]).write(to: URL(fileURLWithPath: path("try-later.ocsp")))
        try write("text.ocsp", "no response\n")
    }

    private func join(_ files: [String], as name: String) throws {
        try write(name, try files.map { try String(contentsOfFile: path($0), encoding: .utf8) }.joined())
    }

    private func write(_ file: String, _ text: String) throws {
        try text.write(toFile: path(file), atomically: false, encoding: .utf8)
    }

    private struct CommandFailed: Error {
        let command: String
        let output: String
    }

    private func openssl(_ arguments: String...) throws {
        try openssl(arguments)
    }

    func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let output = Pipe()
        process.standardError = output
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CommandFailed(command: arguments.joined(separator: " "), output: String(decoding: text, as: UTF8.self))
        }
    }
}
