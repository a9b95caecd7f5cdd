import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Signing requests that openssl made")
struct SigningRequestTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
    }

    private func request(key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], extensions: [String] = []) throws -> [UInt8] {
        let path = folder("request.pem")
        let arguments = ["req", "-new", "-nodes", "-keyout", folder("key.pem"), "-out", path, "-subj", "/O=Evil/CN=root"] + key
        let result = try runOpenSSL(arguments + extensions.flatMap { ["-addext", $0] })
        try #require(result.status == 0, "\(result.output)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private func policy(_ requested: SigningPolicy.RequestedNames = .ignored) throws -> SigningPolicy {
        SigningPolicy(kind: .client, allowedNames: [try .client(named: "carol"), try .email("carol@example.org")], requestedNames: requested)
    }

    @Test("Only the public key is taken: subject and extensions of the request are ours, not theirs")
    func onlyTheKey() throws {
        let pem = try request(extensions: [
            "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign", "extendedKeyUsage=serverAuth,codeSigning",
            "subjectAltName=DNS:evil.example,URI:urn:segue:client:alice",
        ])
        let issued = try authority.sign(request: pem, policy: try policy(), label: "carol", now: testTime)
        let text = try text(of: issued.paths.certificate)
        #expect(text.contains("URI:urn:segue:client:carol, email:carol@example.org\n") && text.contains("CA:FALSE"))
        #expect(text.contains("X509v3 Key Usage: critical\n                Digital Signature\n"))
        #expect(text.contains("X509v3 Extended Key Usage: \n                TLS Web Client Authentication\n"))
        for foreign in ["Evil", "evil", "CA:TRUE", "alice", "Certificate Sign", "Code Signing", "Server Authentication"] {
            #expect(!text.contains(foreign))
        }
        #expect(issued.paths.key == nil && issued.entry.key == nil)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").status == 0)
        let ofCertificate = try openssl("x509", "-noout", "-pubkey", "-in", issued.paths.certificate).output
        #expect(try openssl("pkey", "-pubout", "-in", folder("key.pem")).output == ofCertificate)
    }

    @Test("Requested names must all be allowed, and no request at all gives the allowed ones")
    func requestedNames() throws {
        let some = try request(extensions: ["subjectAltName=URI:urn:segue:client:carol"])
        #expect(
            try authority.sign(request: some, policy: try policy(.mustBeAllowed), label: "some", now: testTime).entry.names == [
                try .client(named: "carol")
            ])
        let none = try request()
        #expect(try authority.sign(request: none, policy: try policy(.mustBeAllowed), label: "none", now: testTime).entry.names.count == 2)
        let table: [(String, CertificateAuthorityFault)] = [
            ("URI:urn:segue:client:alice", .requestNameNotAllowed("URI:urn:segue:client:alice")),
            ("URI:urn:segue:client:carol,DNS:evil.example", .requestNameNotAllowed("DNS:evil.example")),
            ("IP:127.0.0.1", .requestNameNotAllowed("IP:127.0.0.1")),
            ("RID:1.2.3.4", .requestNameNotAllowed("one of another kind than DNS, IP, URI and email")),
            ("DNS:a_b.example", .invalidName(.forbiddenByte(UInt8(ascii: "_"), offset: 1), kind: .dns)),
        ]
        for (names, fault) in table {
            let pem = try request(extensions: ["subjectAltName=\(names)"])
            #expect(throws: fault) { try authority.sign(request: pem, policy: try policy(.mustBeAllowed), label: "x", now: testTime) }
        }
        #expect(try authority.list().count == 2)
    }

    @Test("A NUL inside a requested name is refused, not cut off at", arguments: ["urn:segue:client:carol\0x", "\0"])
    func embeddedNUL(name: String) throws {
        // DER: SEQUENCE { [6] name }, which the configuration syntax cannot say.
        let bytes = Array(name.utf8)
        let hex = ([0x30, UInt8(bytes.count + 2), 0x86, UInt8(bytes.count)] + bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(
            separator: ":")
        let pem = try request(extensions: ["2.5.29.17=DER:\(hex)"])
        #expect(throws: CertificateAuthorityFault.self) {
            try authority.sign(request: pem, policy: try policy(.mustBeAllowed), label: "x", now: testTime)
        }
        #expect(try authority.list().isEmpty)
    }

    @Test("RFC 2986 §3: a request that its key did not sign is refused")
    func proofOfPossession() throws {
        let der = folder("request.der")
        _ = try request()
        try openssl("req", "-in", folder("request.pem"), "-outform", "DER", "-out", der)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: der))
        // The subject's last letter: the form stays good, the signature does not.
        let range = try #require(bytes.range(of: Data("root".utf8)))
        bytes[range.upperBound - 1] = UInt8(ascii: "x")
        let pem =
            "-----BEGIN CERTIFICATE REQUEST-----\n\(bytes.base64EncodedString(options: .lineLength64Characters))\n-----END CERTIFICATE REQUEST-----\n"
        #expect(throws: CertificateAuthorityFault.requestSignatureInvalid) {
            try authority.sign(request: Array(pem.utf8), policy: try policy(), label: "x", now: testTime)
        }
    }

    @Test(
        "Keys that are weak, costly or odd are refused",
        arguments: [
            ["-newkey", "rsa:1024"], ["-newkey", "rsa:4104"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-224"],
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"], ["-newkey", "ed448"],
        ])
    func badKeys(key: [String]) throws {
        let pem = try request(key: key)
        #expect(throws: CertificateAuthorityFault.requestKeyNotAllowed) {
            try authority.sign(request: pem, policy: try policy(), label: "x", now: testTime)
        }
        #expect(try authority.list().isEmpty)
    }

    @Test(
        "Good keys are taken",
        arguments: [["-newkey", "rsa:2048"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-newkey", "ed25519"]])
    func goodKeys(key: [String]) throws {
        let issued = try authority.sign(request: try request(key: key), policy: try policy(), label: "x", now: testTime)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").status == 0)
    }

    @Test("What is no request is refused")
    func malformed() throws {
        let good = try request()
        let certificate = Array(try Data(contentsOf: URL(fileURLWithPath: authority.certificatePath)))
        let lines = good.split(separator: UInt8(ascii: "\n")).map(Array.init)
        let shortened = Array(lines[0] + [10] + lines[1] + [10] + lines[lines.count - 1] + [10])
        for pem in [
            [], [0], Array("garbage".utf8), Array(good.prefix(good.count / 2)), shortened, certificate, [UInt8](repeating: 65, count: 65_537),
        ] {
            #expect(throws: CertificateAuthorityFault.requestMalformed) {
                try authority.sign(request: pem, policy: try policy(), label: "x", now: testTime)
            }
        }
    }

    @Test("Renewing certifies the same key again; there is no bundle to export")
    func renewal() throws {
        let first = try authority.sign(request: try request(), policy: try policy(), label: "carol", now: testTime)
        let second = try authority.renew(.label("carol"), now: testTime + .days(1))
        #expect(first.entry.serial != second.entry.serial && second.paths.key == nil)
        let keys = try [first, second].map { try openssl("x509", "-noout", "-pubkey", "-in", $0.paths.certificate).output }
        #expect(keys[0] == keys[1])
        #expect(throws: CertificateAuthorityFault.keyNotHeld(second.entry.serial)) { try authority.exportPKCS12(.label("carol"), password: "x") }
    }
}
