import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Certificates, as the openssl command line sees them")
struct CertificateTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("RFC 5280 §4.2: the root has exactly the extensions of a root that signs leaves only", arguments: KeyAlgorithm.allCases)
    func root(key: KeyAlgorithm) throws {
        let authority = try folder.authority(key: key)
        let text = try text(of: authority.certificatePath)
        for expected in [
            "Version: 3 (0x2)", "Issuer: CN = Test CA", "Subject: CN = Test CA", "Not Before: Jan 15 11:55:00 2027 GMT",
            "Not After : Jan 12 12:00:00 2037 GMT", "X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0",
            "X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign", "X509v3 Subject Key Identifier:",
            "X509v3 Authority Key Identifier:",
            key == .ecdsaP256 ? "Signature Algorithm: ecdsa-with-SHA256" : "Signature Algorithm: sha256WithRSAEncryption",
            ["ecdsa-p256": "NIST CURVE: P-256", "rsa-2048": "Public-Key: (2048 bit)", "rsa-3072": "Public-Key: (3072 bit)"][key.rawValue] ?? "?",
        ] {
            #expect(text.contains(expected), "\(expected) not in \(text)")
        }
        #expect(text.components(separatedBy: "X509v3 ").count - 1 == 5, "four extensions and their heading")
    }

    @Test("RFC 5280 §4.2.1: a server certificate verifies for servers, for its own names, and for nothing else")
    func server() throws {
        let authority = try folder.authority()
        let names: [SubjectAlternativeName] = [
            try .dns("Relay.Example.ORG"), try .dns("*.media.example.org"), try .ip("192.0.2.7"), try .ip("2001:DB8::7"),
        ]
        let issued = try authority.issueServer(names: names, now: testTime)
        let text = try text(of: issued.paths.certificate)
        for expected in [
            "DNS:relay.example.org, DNS:*.media.example.org, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7",
            "X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n",
            "X509v3 Key Usage: critical\n                Digital Signature\n",
            "X509v3 Basic Constraints: critical\n                CA:FALSE", "Not Before: Jan 15 11:55:00 2027 GMT",
            "Not After : Apr 15 12:00:00 2027 GMT",
            "Signature Algorithm: ecdsa-with-SHA256", "X509v3 Subject Key Identifier:", "X509v3 Authority Key Identifier:",
        ] {
            #expect(text.contains(expected), "\(expected) not in \(text)")
        }
        #expect(!text.contains("CRL Distribution"))
        for extra in [["-verify_hostname", "relay.example.org"], ["-verify_hostname", "a.media.example.org"], ["-verify_ip", "2001:db8::7"]] {
            let result = try verify(authority, issued.paths.certificate, purpose: "sslserver", extra[0], extra[1])
            #expect(result.status == 0, "\(result.output)")
        }
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslserver", "-verify_hostname", "example.org").status != 0)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").output.contains("unsuitable certificate purpose"))
    }

    @Test("RFC 5280 §4.2.1: a client certificate carries its URN and verifies for clients only")
    func client() throws {
        let authority = try folder.authority()
        let issued = try authority.issueClient(
            name: "alice", alternativeNames: [try .email("alice@example.org"), try .dns("alice.example.org")], now: testTime)
        let text = try text(of: issued.paths.certificate)
        for expected in [
            "URI:urn:segue:client:alice, email:alice@example.org, DNS:alice.example.org", "Subject: CN = alice\n",
            "Not After : Jan 15 12:00:00 2028 GMT",
            "X509v3 Extended Key Usage: \n                TLS Web Client Authentication\n",
        ] {
            #expect(text.contains(expected), "\(expected) not in \(text)")
        }
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").status == 0)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslserver").output.contains("unsuitable certificate purpose"))
    }

    @Test("The key on disk is the certificate's, of the asked algorithm", arguments: KeyAlgorithm.allCases)
    func key(algorithm: KeyAlgorithm) throws {
        let authority = try folder.authority()
        let issued = try authority.issueServer(names: [try .dns("localhost")], key: algorithm, now: testTime)
        let keyPath = try #require(issued.paths.key)
        let ofCertificate = try openssl("x509", "-noout", "-pubkey", "-in", issued.paths.certificate).output
        #expect(try openssl("pkey", "-pubout", "-in", keyPath).output == ofCertificate)
        #expect(ofCertificate.hasPrefix("-----BEGIN PUBLIC KEY-----"))
        let bits = [KeyAlgorithm.ecdsaP256: "(256 bit)", .rsa2048: "(2048 bit", .rsa3072: "(3072 bit"][algorithm]
        #expect(try openssl("pkey", "-noout", "-text", "-in", keyPath).output.contains(try #require(bits)))
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslserver").status == 0)
    }

    @Test("RFC 5280 §4.1.2.2: serial numbers are positive, of 16 octets, and all different")
    func serials() throws {
        var seen: Set<CertificateSerial> = []
        for _ in 0..<2_000 {
            let serial = try CertificateBuilder.randomSerial()
            #expect(serial.octets.count == 16 && serial.octets[0] & 0xC0 == 0x40)
            seen.insert(serial)
        }
        #expect(seen.count == 2_000)
        let issued = try folder.authority().issueClient(name: "alice", now: testTime)
        #expect(try openssl("x509", "-noout", "-serial", "-in", issued.paths.certificate).output.lowercased() == "serial=\(issued.entry.serial)\n")
    }

    @Test("§4.2.1.13: the distribution point of the settings is in every certificate")
    func distributionPoint() throws {
        let authority = try folder.authority(settings: try AuthoritySettings(crlDistributionPoint: "http://crl.example.org/a.crl"))
        let issued = try CertificateAuthority.open(directory: authority.directory).issueClient(name: "alice", now: testTime)
        let text = try text(of: issued.paths.certificate)
        #expect(text.contains("X509v3 CRL Distribution Points: \n                Full Name:\n                  URI:http://crl.example.org/a.crl"))
        #expect(text.components(separatedBy: "URI:http:").count == 2)
        #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient").status == 0)
    }

    @Test("No certificate outlives or precedes its root")
    func bounds() throws {
        let authority = try folder.authority(validity: .days(30))
        let entry = try authority.issueServer(names: [try .dns("localhost")], now: testTime).entry
        #expect(entry.notAfter == testTime + .days(30))
        #expect(entry.notBefore == testTime - .seconds(300))
        let outside = [testTime + .days(30), testTime + .days(4_000), testTime - .seconds(301), UnixTime(seconds: 0)]
        for now in outside {
            #expect(throws: CertificateAuthorityFault.authorityNotValid(notBefore: testTime - .seconds(300), notAfter: testTime + .days(30))) {
                try authority.issueClient(name: "late", now: now)
            }
        }
        #expect(try authority.list().count == 1)
    }

    @Test(
        "A lifetime beyond the kind's maximum, or none at all, is refused",
        arguments: [(CertificateKind.server, 397), (.client, 825)])
    func lifetimes(kind: CertificateKind, daysMax: Int) throws {
        let authority = try folder.authority()
        func issue(_ label: String, _ validity: Duration) throws -> CertificateEntry {
            switch kind {
            case .server: try authority.issueServer(names: [try .dns("localhost")], label: label, validity: validity, now: testTime).entry
            case .client: try authority.issueClient(name: label, validity: validity, now: testTime).entry
            }
        }
        for bad in [Duration.zero, .seconds(-1), .days(daysMax) + .seconds(1), .seconds(Int64.max)] {
            #expect(throws: CertificateAuthorityFault.validityOutOfRange(daysMax: daysMax)) { try issue("bad", bad) }
        }
        #expect(try issue("longest", .days(daysMax)).notAfter == testTime + .days(daysMax))
        #expect(try issue("shortest", .seconds(1)).notAfter == testTime + .seconds(1))
    }

    @Test("A list of names that the kind does not carry, none, or over 32, is refused and leaves nothing behind")
    func nameLists() throws {
        let authority = try folder.authority()
        #expect(throws: CertificateAuthorityFault.noNames) { try authority.issueServer(names: [], now: testTime) }
        let many = try (0...32).map { try SubjectAlternativeName.dns("host\($0).example") }
        #expect(throws: CertificateAuthorityFault.tooManyNames(max: 32)) { try authority.issueServer(names: many, now: testTime) }
        #expect(throws: CertificateAuthorityFault.nameKindNotAllowed(.email, .server)) {
            try authority.issueServer(names: [try .email("a@example.org")], label: "x", now: testTime)
        }
        #expect(throws: CertificateAuthorityFault.nameKindNotAllowed(.ip, .client)) {
            try authority.issueClient(name: "x", alternativeNames: [try .ip("::1")], now: testTime)
        }
        #expect(throws: CertificateAuthorityFault.nameKindNotAllowed(.dns, .client)) {
            try authority.issueClient(name: "x", alternativeNames: [try .dns("*.example.org")], now: testTime)
        }
        #expect(try contents(of: authority.directory + "/issued").isEmpty)
        #expect(try authority.issueServer(names: Array(many.dropLast()), now: testTime).entry.names.count == 32)
    }

    @Test(
        "A server's label follows from its first name",
        arguments: [("localhost", "localhost"), ("*.example.org", "wildcard.example.org"), ("127.0.0.1", "ip-127.0.0.1"), ("::1", "ip-0--1")])
    func labels(host: String, label: String) throws {
        let issued = try folder.authority().issueServer(names: [try .host(host)], now: testTime)
        #expect(issued.entry.label == label)
        #expect(FileManager.default.fileExists(atPath: issued.livePaths.certificate))
    }
}
