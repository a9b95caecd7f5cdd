import Foundation
import Testing

@testable import CertificateAuthority

/// Keys and requests by the openssl command line, as a device without our program would make them.
struct Device {
    let folder: TemporaryFolder

    /// - Parameter key: a file of an earlier request whose key to use again.
    func request(_ name: String, _ key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], subject: String = "/CN=x") throws
        -> [UInt8]
    {
        let path = folder(name + ".csr")
        let output = key.first == "-key" ? [] : ["-keyout", folder(name + "-key.pem")]
        let result = try runOpenSSL(["req", "-new", "-nodes", "-out", path, "-subj", subject] + key + output)
        try #require(result.status == 0, "\(result.output)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func again(_ name: String) throws -> [UInt8] { try request(name + "-again", ["-key", folder(name + "-key.pem")]) }
}

@Suite("Enrolment by token")
struct EnrolmentTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority
    let device: Device

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
        device = Device(folder: folder)
    }

    private func token(_ name: String = "carol", label: String? = nil, validity: Duration = .seconds(3_600)) throws -> EnrolmentSecret {
        try authority.createEnrolmentToken(names: [.client(named: name)], label: label, validity: validity, now: testTime).secret
    }

    @Test("A token becomes a certificate for the token's names, whatever the request asks for; openssl verifies it")
    func enrols() throws {
        let made = try authority.createEnrolmentToken(
            names: [.client(named: "carol"), .email("carol@example.org"), .dns("carol.example.org")], certificateValidity: .days(30), now: testTime)
        let pem = try device.request("carol", subject: "/O=Evil/CN=alice")
        let issued = try authority.enrol(token: made.secret, request: pem, now: testTime + .seconds(60))
        let text = try text(of: issued.paths.certificate)
        #expect(text.contains("URI:urn:segue:client:carol, email:carol@example.org, DNS:carol.example.org\n"))
        #expect(!text.contains("Evil") && !text.contains("alice"))
        #expect(issued.entry.notAfter == testTime + .seconds(60) + .days(30) && issued.entry.label == "carol" && issued.paths.key == nil)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient", at: testTime + .seconds(120)).status == 0)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslserver", at: testTime + .seconds(120)).status != 0)
        let bundle = try authority.bundle(issued)
        #expect(bundle.certificate == (try String(contentsOfFile: issued.paths.certificate, encoding: .utf8)))
        #expect(bundle.chain == (try String(contentsOfFile: authority.certificatePath, encoding: .utf8)))
        #expect(try authority.enrolmentTokens().map { $0.status(at: testTime) } == [.used])
        #expect(try authority.enrolmentTokens().first?.use?.serial == issued.entry.serial)
    }

    @Test(
        "Every good kind of key enrols",
        arguments: [
            ["-newkey", "rsa:2048"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-newkey", "ed25519"],
        ])
    func keys(key: [String]) throws {
        let issued = try authority.enrol(token: try token(), request: try device.request("carol", key), now: testTime)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").status == 0)
    }

    @Test("RFC 5480 §2.2 a key in another form than the uncompressed one would have two fingerprints, and is refused")
    func compressedPoint() throws {
        _ = try device.request("plain")
        try openssl("ec", "-in", folder("plain-key.pem"), "-conv_form", "compressed", "-out", folder("compressed-key.pem"))
        let pem = try device.request("compressed", ["-key", folder("compressed-key.pem")])
        let shown = try openssl("req", "-in", folder("compressed.csr"), "-noout", "-text").output
        try #require(shown.contains(/pub:\s+0[23]:/), "openssl made no compressed point")
        let secret = try token()
        #expect(throws: CertificateAuthorityFault.requestKeyNotAllowed) { try authority.enrol(token: secret, request: pem, now: testTime) }
    }

    @Test("One answer for every token that is not good: unknown, used, expired, revoked; nothing is issued")
    func oneAnswer() throws {
        let pem = try device.request("carol")
        let used = try token("used")
        _ = try authority.enrol(token: used, request: try device.request("used"), now: testTime)
        let short = try token("short", validity: .seconds(10))
        let (revoked, revokedSecret) = try authority.createEnrolmentToken(names: [.client(named: "revoked")], now: testTime)
        try authority.revokeEnrolmentToken(revoked.id, now: testTime)
        let unknown = try #require(EnrolmentSecret("segue-enrol-" + String(repeating: "0", count: 48)))
        for secret in [used, short, revokedSecret, unknown] {
            for request in [pem, Array("nonsense".utf8)] {
                #expect(throws: CertificateAuthorityFault.tokenNotAccepted) {
                    try authority.enrol(token: secret, request: request, now: testTime + .seconds(10))
                }
            }
        }
        #expect(try authority.list().count == 1)
    }

    @Test("A request that is refused does not spend the token")
    func refusedRequest() throws {
        let secret = try token()
        #expect(throws: CertificateAuthorityFault.requestMalformed) { try authority.enrol(token: secret, request: [], now: testTime) }
        let weak = try device.request("weak", ["-newkey", "rsa:1024"])
        #expect(throws: CertificateAuthorityFault.requestKeyNotAllowed) { try authority.enrol(token: secret, request: weak, now: testTime) }
        _ = try authority.enrol(token: secret, request: try device.request("carol"), now: testTime)
    }

    @Test("A key that is another identity's, the authority's own, or leaked is refused")
    func foreignKeys() throws {
        let first = try device.request("carol")
        let carol = try authority.enrol(token: try token(), request: first, now: testTime)
        let dave = try token("dave")
        #expect(throws: CertificateAuthorityFault.keyBelongsToAnother) { try authority.enrol(token: dave, request: first, now: testTime) }
        let own = try device.request("own", ["-key", authority.files.key])
        #expect(throws: CertificateAuthorityFault.keyBelongsToAnother) { try authority.enrol(token: dave, request: own, now: testTime) }
        try authority.revoke(.serial(carol.entry.serial), reason: .keyCompromise, now: testTime)
        let again = try token()
        #expect(throws: CertificateAuthorityFault.keyCompromised) { try authority.enrol(token: again, request: first, now: testTime) }
        _ = try authority.enrol(token: again, request: try device.request("carol-2"), now: testTime)
    }

    @Test("Several devices of one identity enrol under labels of their own")
    func devices() throws {
        let labels = try (0..<3).map { number in
            try authority.enrol(token: try token(), request: try device.request("device-\(number)"), now: testTime).entry.label
        }
        #expect(labels[0] == "carol" && Set(labels).count == 3 && labels.allSatisfy { $0.hasPrefix("carol") })
    }

    @Test("Of many that race for one token, one gets a certificate")
    func threads() async throws {
        let secret = try token()
        let requests = try (0..<6).map { try device.request("device-\($0)") }
        let won = await withTaskGroup(of: Bool.self) { group in
            for request in requests {
                group.addTask { (try? authority.enrol(token: secret, request: request, now: testTime)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(won == 1)
        #expect(try authority.list().count == 1)
    }

    @Test("Of two processes that race for one token, one gets a certificate")
    func processes() async throws {
        let (directory, text) = (authority.directory, try token().text)
        let paths = try ["first", "second"].map { name in
            _ = try device.request(name)
            return folder(name + ".csr")
        }
        async let first = #expect(processExitsWith: .success) { [directory = directory as String, text = text as String, path = paths[0] as String] in
            try race(directory, text, path)
        }
        async let second = #expect(processExitsWith: .success) {
            [directory = directory as String, text = text as String, path = paths[1] as String] in
            try race(directory, text, path)
        }
        _ = await (first, second)
        #expect(try authority.list().count == 1)
    }

    @Test("A crash between the index and the token's file leaves the token spent")
    func crash() throws {
        let secret = try token()
        let path = authority.files.token(try #require(try authority.enrolmentTokens().first?.id))
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        _ = try authority.enrol(token: secret, request: try device.request("carol"), now: testTime)
        try before.write(to: URL(fileURLWithPath: path))
        #expect(try authority.enrolmentTokens().map { $0.status(at: testTime) } == [.used])
        let other = try device.request("other")
        #expect(throws: CertificateAuthorityFault.tokenNotAccepted) { try authority.enrol(token: secret, request: other, now: testTime) }
    }
}

private func race(_ directory: String, _ text: String, _ path: String) throws {
    let authority = try CertificateAuthority.open(directory: directory)
    guard let secret = EnrolmentSecret(text) else { throw CertificateAuthorityFault.tokenNotAccepted }
    let pem = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    do {
        _ = try authority.enrol(token: secret, request: pem, now: testTime)
    } catch .tokenNotAccepted {}
}

@Suite("Enrolment tokens")
struct EnrolmentTokenTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
    }

    @Test("The secret is on no disk and in no description; its file is its owner's alone")
    func secrecy() throws {
        let (token, secret) = try authority.createEnrolmentToken(names: [.client(named: "carol")], now: testTime)
        for path in try contents(of: authority.directory) {
            guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: authority.directory + "/" + path)) else { continue }
            #expect(bytes.range(of: Data(secret.text.utf8)) == nil && bytes.range(of: Data(secret.text.utf8.suffix(48))) == nil, "\(path)")
        }
        #expect(try fileMode(authority.files.token(token.id)) == 0o600 && fileMode(authority.files.tokens) == 0o700)
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!"\(secret)\(String(reflecting: secret))\(dumped)".contains(secret.text.suffix(48)))
        #expect(secret.text.utf8.count == 12 + 48 && !secret.text.contains(token.id.description))
    }

    @Test("Two tokens never are the same")
    func distinct() throws {
        let texts = try (0..<20).map { _ in try authority.createEnrolmentToken(names: [.client(named: "carol")], now: testTime).secret.text }
        #expect(Set(texts).count == 20)
    }

    @Test(
        "What cannot be a token is none",
        arguments: [
            "", "segue-enrol-", "segue-enrol-" + String(repeating: "0", count: 47), "segue-enrol-" + String(repeating: "0", count: 49),
            "segue-enrol-" + String(repeating: "A", count: 48), "segue-enrol-" + String(repeating: "/", count: 48),
            "segue-ENROL-" + String(repeating: "0", count: 48), "segue-enrol-" + String(repeating: "0", count: 47) + "\0",
        ])
    func syntax(text: String) { #expect(EnrolmentSecret(text) == nil) }

    @Test("Names, label and times are checked when the token is made")
    func checked() throws {
        let carol = try SubjectAlternativeName.client(named: "carol")
        #expect(throws: CertificateAuthorityFault.noNames) { try authority.createEnrolmentToken(names: [], now: testTime) }
        #expect(throws: CertificateAuthorityFault.nameKindNotAllowed(.ip, .client)) {
            try authority.createEnrolmentToken(names: [.ip("127.0.0.1")], now: testTime)
        }
        for validity in [Duration.zero, .seconds(-1), .days(30) + .seconds(1)] {
            #expect(throws: CertificateAuthorityFault.tokenValidityOutOfRange(daysMax: 30)) {
                try authority.createEnrolmentToken(names: [carol], validity: validity, now: testTime)
            }
        }
        #expect(throws: CertificateAuthorityFault.validityOutOfRange(daysMax: 825)) {
            try authority.createEnrolmentToken(names: [carol], certificateValidity: .days(826), now: testTime)
        }
        #expect(throws: CertificateAuthorityFault.self) { try authority.createEnrolmentToken(names: [carol], label: "../x", now: testTime) }
        #expect(try authority.enrolmentTokens().isEmpty)
    }

    @Test(
        "A label is made of any name",
        arguments: [
            ("URI:urn:segue:client:carol", "carol"), ("URI:https://example.org/a?b", "https---example.org-a-b"),
            ("DNS:phone.example.org", "phone.example.org"),
            ("email:carol@example.org", "carol-example.org"),
            ("URI:x:" + String(repeating: "y", count: 90), "x-" + String(repeating: "y", count: 62)),
        ])
    func labels(name: String, label: String) throws {
        #expect(try authority.createEnrolmentToken(names: [SubjectAlternativeName(parsing: name)], now: testTime).token.label == label)
    }

    @Test("A revoked, used or unknown token is not revoked again")
    func revocation() throws {
        let token = try authority.createEnrolmentToken(names: [.client(named: "carol")], now: testTime).token
        try authority.revokeEnrolmentToken(token.id, now: testTime)
        #expect(throws: CertificateAuthorityFault.tokenEnded(token.id, .revoked)) { try authority.revokeEnrolmentToken(token.id, now: testTime) }
        let unknown = try #require(EnrolmentTokenID("0123456789abcdef"))
        #expect(throws: CertificateAuthorityFault.tokenNotFound(unknown)) { try authority.revokeEnrolmentToken(unknown, now: testTime) }
    }

    @Test("Tokens are forgotten a week after their end, and only so many are remembered")
    func bounded() throws {
        let names = [try SubjectAlternativeName.client(named: "carol")]
        let first = try authority.createEnrolmentToken(names: names, now: testTime).token
        // The rest as files: making a thousand through the lock takes long.
        let tokens = EnrolmentTokenFiles(files: authority.files)
        for number in 1..<EnrolmentToken.countMax {
            let digest = try SHA256.digest(Array("\(number)".utf8))
            try tokens.write(
                EnrolmentToken(
                    id: EnrolmentTokenID(digest: digest), digest: digest, names: names, label: "carol", created: first.created,
                    expires: first.expires,
                    certificateValidity: .days(1)))
        }
        #expect(throws: CertificateAuthorityFault.tokensFull(max: 1_000)) { try authority.createEnrolmentToken(names: names, now: testTime) }
        let later = first.expires + .days(7) + .seconds(1)
        _ = try authority.createEnrolmentToken(names: names, now: later)
        #expect(try authority.enrolmentTokens().count == 1)
    }

    @Test("A token's file that cannot be read is a fault, not a token", arguments: ["", "{}", "[]", "\0"])
    func corrupt(content: String) throws {
        let (token, secret) = try authority.createEnrolmentToken(names: [.client(named: "carol")], now: testTime)
        let path = authority.files.token(token.id)
        try content.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(throws: CertificateAuthorityFault.tokenCorrupt(path: path)) { try authority.enrol(token: secret, request: [], now: testTime) }
    }
}
