import RelayBase
import Testing

@testable import CertificateAuthority

@Suite("Names")
struct NameTests {
    typealias Maker = @Sendable (String) throws(CertificateAuthorityFault) -> SubjectAlternativeName

    static let makers: [(NameKind, Maker)] = [
        (.dns, { text throws(CertificateAuthorityFault) in try .dns(text) }), (.ip, { text throws(CertificateAuthorityFault) in try .ip(text) }),
        (.uri, { text throws(CertificateAuthorityFault) in try .uri(text) }),
        (.email, { text throws(CertificateAuthorityFault) in try .email(text) }),
        (.clientName, { text throws(CertificateAuthorityFault) in try .client(named: text) }),
    ]

    static let hostileEverywhere: [String] = [
        "", "\0", "a\0b", "localhost\0.evil.example", "a\nb", "a\r\nDNS:evil.example", " ", "a b", "a\tb", "a\u{7F}b", "é.example", "аpple.example",
        "\u{202E}gro.elpmaxe", "a\u{200D}b", "<script>", "a\"b", "a\\b", "\u{FFFD}", String(repeating: "a", count: 1_000_000),
        String(repeating: "a.", count: 500_000),
    ]

    @Test("NUL, control characters, blanks, non-ASCII and huge text are refused by every kind of name", arguments: hostileEverywhere)
    func hostile(text: String) {
        for (kind, make) in Self.makers {
            let fault = #expect(throws: CertificateAuthorityFault.self) { try make(text) }
            guard case .invalidName(_, kind: kind) = fault else {
                Issue.record("\(kind): \(String(describing: fault))")
                continue
            }
            #expect(fault.map { $0.description.utf8.count < 200 && !$0.description.contains("\0") } == true)
        }
        #expect(throws: CertificateAuthorityFault.self) { try NameSyntax.checkLabel(text) }
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName(parsing: text) }
    }

    @Test("a name of no kind is not called one of some kind", arguments: ["fred", "", "dns:a.example", ":a"])
    func noKind(text: String) throws {
        let fault = try #require(throws: CertificateAuthorityFault.self) { _ = try SubjectAlternativeName(parsing: text) }
        #expect(fault.description.hasPrefix("this name is not acceptable: it does not begin with URI:"))
    }

    @Test(
        "RFC 1123 §2.1, RFC 6125 §6.4.3: host names that are none",
        arguments: [
            "a,b", "DNS:evil.example,IP:127.0.0.1", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b.example", "*", "*.", "*.org", "a.*.example.org",
            "a*.example.org",
            "**.example.org", "under_score.example", "1.2.3.4", "256.1.1.1", "example.1", "a/b", "a:b", "[::1]", "::1",
            String(repeating: "a", count: 64) + ".example", String(repeating: "abcdefg.", count: 32) + "example",
        ])
    func badHost(text: String) {
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName.dns(text) }
    }

    @Test(
        "Host names that are",
        arguments: [
            "localhost", "a.example", "xn--bcher-kva.example", "1a.example", "*.example.org", String(repeating: "a", count: 63) + ".example",
            "UPPER.Example",
        ])
    func goodHost(text: String) throws {
        #expect(try SubjectAlternativeName.dns(text).value == text.lowercased())
    }

    @Test(
        "Addresses come out in canonical form, whatever form they came in",
        arguments: [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("2001:DB8:0:0::1", "2001:db8::1"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1")])
    func goodAddress(text: String, canonical: String) throws {
        let name = try SubjectAlternativeName.ip(text)
        #expect(name.value == canonical)
        #expect(NameSyntax.addressText(name.octets) == canonical)
        #expect(try SubjectAlternativeName.host(text) == name)
    }

    @Test(
        "Addresses that are none",
        arguments: ["127.0.0", "127.0.0.256", "1.2.3.4.5", "0x7f.0.0.1", "127.1", ":", ":::", "fe80::1%eth0", "1::2::3", "::1,::2"])
    func badAddress(text: String) {
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName.ip(text) }
    }

    @Test(
        "RFC 3986, RFC 5280 §4.2.1.6: URIs that are refused",
        arguments: [
            "alice", "/alice", "urn:", ":alice", "1urn:a", "ur_n:a", "urn:a#b", "urn:a,DNS:evil.example", "urn:%", "urn:%4", "urn:%zz", "urn:%00",
            "urn:%0a", "http://",
            "http:///path",
            "http://user@example.org/", "http://example.org:80/", "http://a_b/", "http://[::1", "http://[127.0.0.1]/", "http://256.1.1.1/", "urn:<a>",
            "urn:a|b",
            "urn:" + String(repeating: "a", count: 252),
        ])
    func badURI(text: String) {
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName.uri(text) }
    }

    @Test(
        "URIs that are taken as they stand",
        arguments: [
            "urn:segue:client:alice", "spiffe://example.org/relay/alice", "https://example.org/a;b?c=d%20e", "http://[2001:db8::1]/",
            "http://192.0.2.1/x",
            "urn:" + String(repeating: "a", count: 251),
        ])
    func goodURI(text: String) throws {
        #expect(try SubjectAlternativeName.uri(text).value == text)
    }

    @Test(
        "E-mail addresses that are refused",
        arguments: [
            "a", "@example.org", "a@", "a@b@c", ".a@example.org", "a.@example.org", "a..b@example.org", "a,b@example.org", "a@-b.example",
            "a@[127.0.0.1]",
        ])
    func badEmail(text: String) {
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName.email(text) }
    }

    @Test(
        "Labels are file names of one folder and nothing else",
        arguments: ["..", ".", ".hidden", "a/b", "../ca-key.pem", "-rf", "_a", "a:b", String(repeating: "a", count: 65)])
    func badLabel(text: String) {
        #expect(throws: CertificateAuthorityFault.self) { try NameSyntax.checkLabel(text) }
        #expect(throws: CertificateAuthorityFault.self) { try SubjectAlternativeName.client(named: text) }
    }

    @Test(
        "Common names are printable ASCII of at most 64 bytes (ub-common-name)",
        arguments: ["", "a\nb", "é", "a\0", String(repeating: "a", count: 65)])
    func badCommonName(text: String) throws {
        let folder = try TemporaryFolder()
        #expect(throws: CertificateAuthorityFault.self) { try CertificateAuthority.create(directory: folder("ca"), commonName: text, now: testTime) }
        #expect(try contents(of: folder.path).isEmpty)
    }

    @Test("Whatever bytes come, a name is refused or comes back from its text unchanged, in printable ASCII", arguments: UInt64(0)..<20)
    func anyBytes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("abz019.-_*:/@%,[]#? \n\0é".unicodeScalars)
        var accepted = 0
        for _ in 0..<500 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...8, using: &generator) { text.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]) }
            for (_, make) in Self.makers {
                guard let name = try? make(String(text)) else { continue }
                accepted += 1
                #expect(name.value.utf8.allSatisfy { (0x21...0x7E).contains($0) })
                #expect(try SubjectAlternativeName(parsing: name.description) == name)
            }
        }
        #expect(accepted > 0)
    }
}
