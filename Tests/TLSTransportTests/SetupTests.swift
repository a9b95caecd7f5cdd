import Foundation
import TLSTransport
import Testing

@Suite struct SetupTests {
    private func failure(_ change: (inout TLSConfiguration) -> Void) -> TLSSetupError? {
        do {
            _ = try Contexts.server(change)
            return nil
        } catch {
            return error as? TLSSetupError
        }
    }

    @Test("a key that is not the certificate's is refused, naming both files")
    func keyMismatch() {
        let pki = Contexts.pki
        let pair = TLSConfiguration.KeyPair(certificateFile: pki.path("server.pem"), keyFile: pki.path("client.key"))
        #expect(failure { $0.keyPairs = [pair] } == .keyMismatch(certificate: pair.certificateFile, key: pair.keyFile))
        let otherKind = TLSConfiguration.KeyPair(certificateFile: pki.path("server.pem"), keyFile: pki.path("server-rsa.key"))
        #expect(failure { $0.keyPairs = [otherKind] } == .keyMismatch(certificate: otherKind.certificateFile, key: otherKind.keyFile))
    }

    @Test("two certificates for one kind of key are refused, instead of one replacing the other")
    func duplicateKind() {
        let pki = Contexts.pki
        #expect(failure { $0.keyPairs = [pki.pair("server"), pki.pair("client")] } == .duplicateKeyKind(kind: "EC", path: pki.path("client.pem")))
    }

    @Test("a missing file is named with the system's error")
    func missing() {
        #expect(failure { $0.authorityFiles = ["/nonexistent/ca.pem"] } == .unreadableFile(path: "/nonexistent/ca.pem", errno: ENOENT))
        #expect("\(TLSSetupError.unreadableFile(path: "x", errno: ENOENT))" == "cannot read x: No such file or directory")
    }

    @Test(
        "what is no regular file is refused at once, and never waited for", .timeLimit(.minutes(1)),
        arguments: ["fifo", "folder", "device"])
    func notAFile(kind: String) throws {
        let pki = Contexts.pki
        let path = kind == "device" ? "/dev/zero" : pki.path("not-a-file-\(kind)")
        if kind == "fifo" { #expect(unsafe mkfifo(path, 0o600) == 0) }
        if kind == "folder" { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
        let pair = pki.pair("server")
        #expect(failure { $0.authorityFiles = [path] } == .notAFile(path: path))
        #expect(failure { $0.revocationListFiles = [path] } == .notAFile(path: path))
        #expect(failure { $0.keyPairs = [.init(certificateFile: path, keyFile: pair.keyFile)] } == .notAFile(path: path))
        #expect(failure { $0.keyPairs = [.init(certificateFile: pair.certificateFile, keyFile: path)] } == .notAFile(path: path))
        #expect(failure { $0.keyPairs[0].ocspResponseFile = path } == .notAFile(path: path))
    }

    @Test("a file of the wrong kind is refused")
    func wrongKind() {
        let pki = Contexts.pki
        #expect(failure { $0.authorityFiles = [pki.path("server.key")] } == .nothingFound(kind: "certificate", path: pki.path("server.key")))
        #expect(failure { $0.revocationListFiles = [pki.path("root.pem")] } == .nothingFound(kind: "revocation list", path: pki.path("root.pem")))
        let pair = TLSConfiguration.KeyPair(certificateFile: pki.path("server.pem"), keyFile: pki.path("server.pem"))
        #expect(failure { $0.keyPairs = [pair] } == .nothingFound(kind: "private key", path: pki.path("server.pem")))
    }

    @Test("a damaged file is refused with the library's reason")
    func damaged() throws {
        let pki = Contexts.pki
        let text = try String(contentsOfFile: pki.path("root.pem"), encoding: .utf8)
        let path = pki.path("damaged.pem")
        try text.replacingOccurrences(of: "MII", with: "AAA").write(toFile: path, atomically: true, encoding: .utf8)
        guard case .malformed("certificate", path, let detail) = failure({ $0.authorityFiles = [path] }) else {
            Issue.record("accepted or refused otherwise")
            return
        }
        #expect(!detail.isEmpty)
    }

    @Test("an encrypted key is refused without asking for its password")
    func encryptedKey() throws {
        let pki = Contexts.pki
        try pki.openssl(["pkey", "-in", "server.key", "-aes128", "-passout", "pass:secret", "-out", "encrypted.key"])
        let pair = TLSConfiguration.KeyPair(certificateFile: pki.path("server.pem"), keyFile: pki.path("encrypted.key"))
        guard case .malformed("private key", pair.keyFile, _) = failure({ $0.keyPairs = [pair] }) else {
            Issue.record("accepted or refused otherwise")
            return
        }
    }

    @Test("a key below 112 bits of strength is refused")
    func weakKey() {
        guard case .malformed("certificate", _, let detail) = failure({ $0.keyPairs = [Contexts.pki.pair("weak")] }) else {
            Issue.record("accepted or refused otherwise")
            return
        }
        #expect(detail.contains("key too small"))
    }

    @Test("RFC 5280 §5.2.4 a delta list is refused without its issuer's complete list, or one that points to no deltas (§5.2.6)")
    func deltas() throws {
        func outcome(_ lists: [String]) -> TLSSetupError? { failure { $0.revocationListFiles = lists.map(Contexts.pki.path) } }
        let delta = TLSSetupError.deltaWithoutBase(path: Contexts.pki.path("root-delta.crl"))
        #expect(outcome(["root-delta.crl"]) == delta)
        #expect(outcome(["root-lone-base.crl", "root-delta.crl"]) == delta)
        #expect(outcome(["inter.crl", "root-delta.crl"]) == delta)
        #expect(outcome(["root-delta.crl", "root-base.crl"]) == nil)
    }

    @Test("settings that make no sense are refused")
    func settings() {
        #expect(failure { $0.keyPairs = [] } == .noKeyPair)
        #expect(failure { $0.authorityFiles = [] } == .noAuthorities)
        #expect(failure { $0.applicationProtocols = [""] } == .invalidApplicationProtocol(""))
        let long = String(repeating: "a", count: 256)
        #expect(failure { $0.applicationProtocols = [long] } == .invalidApplicationProtocol(long))
        let range = failure {
            $0.minimumVersion = .tls13
            $0.maximumVersion = .tls12
        }
        #expect(range == .invalidVersionRange(minimum: .tls13, maximum: .tls12))
        #expect(throws: TLSSetupError.noAuthorities) { try TLSContext(client: TLSConfiguration()) }
    }

    @Test("the trust version changes with authorities, lists, certificates and policy, and with nothing else")
    func trustVersion() throws {
        let base = try Contexts.server().trustVersion
        #expect(try Contexts.server { $0.applicationProtocols = ["h2"] }.trustVersion == base)
        let changes: [(inout TLSConfiguration) -> Void] = [
            { $0.authorityFiles.append(Contexts.pki.path("foreign.pem")) },
            { $0.revocationListFiles = [Contexts.pki.path("root.crl")] },
            { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")] },
            { $0.keyPairs = [Contexts.pki.pair("server-rsa")] },
            { $0.clientCertificate = .optional },
            { $0.revocation = .chain },
        ]
        var versions: Set<SHA256Digest> = [base]
        for change in changes { versions.insert(try Contexts.server(change).trustVersion) }
        #expect(versions.count == changes.count + 1)
    }
}
