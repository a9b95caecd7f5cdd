import HTTPProtocol
import Testing

@Suite("Origins, RFC 6454")
struct OriginAllowListTests {
    static let entries = [
        "https://app.example.org", "http://localhost:8080", "https://*.example.net", "https://*.dev.example.com:8443", "https://[2001:db8::1]",
    ]

    @Test(
        "§5 scheme, host and port must match; the host without case, default ports filled in",
        arguments: [
            ("https://app.example.org", true), ("https://app.example.org:443", true), ("HTTPS://APP.Example.ORG", true),
            ("http://app.example.org", false),
            ("https://app.example.org:8443", false), ("https://example.org", false), ("https://x.app.example.org", false),
            ("https://app.example.org.evil.com", false), ("https://evil-app.example.org", false), ("https://app.example.org.", false),
            ("http://localhost:8080", true), ("http://localhost", false), ("http://localhost:80", false), ("https://[2001:db8::1]", true),
            ("https://[2001:db8::2]", false), ("wss://app.example.org", false),
        ])
    func exact(origin: String, isAllowed: Bool) throws {
        #expect(try OriginAllowList(Self.entries).decide(origin: origin) == (isAllowed ? .allowed : .refused))
    }

    @Test(
        "a wildcard covers every name below its domain, with the same scheme and port, and not the domain",
        arguments: [
            ("https://a.example.net", true), ("https://a.b.example.net", true), ("https://A.EXAMPLE.NET:443", true), ("https://example.net", false),
            ("https://.example.net", false), ("https://evilexample.net", false), ("http://a.example.net", false),
            ("https://a.example.net:444", false),
            ("https://a.example.net.evil.com", false), ("https://a.dev.example.com:8443", true), ("https://a.dev.example.com", false),
        ])
    func wildcard(origin: String, isAllowed: Bool) throws {
        #expect(try OriginAllowList(Self.entries).decide(origin: origin) == (isAllowed ? .allowed : .refused))
    }

    @Test(
        "§6.2 what is no serialised origin is refused, null too",
        arguments: [
            "null", "", "*", "https://", "app.example.org", "https:app.example.org", "https://app.example.org/", "https://app.example.org/x",
            "https://app.example.org?x", "https://u@app.example.org", "https://app.example.org:", "https://app.example.org:443x",
            "https://*.example.net",
            "https://app.example.org https://app.example.org", " https://app.example.org", "https://app.exa\u{301}mple.org", "://app.example.org",
            "https://app.example.org,https://app.example.org", "https://app.example.org\u{00}", "file://",
        ])
    func malformed(origin: String) throws {
        #expect(try OriginAllowList(Self.entries).decide(origin: origin) == .refused)
    }

    @Test("no Origin is no browser; two lines are refused even when both are listed")
    func lines() throws {
        let list = try OriginAllowList(Self.entries)
        #expect(list.decide([]) == .absent)
        #expect(list.decide([HTTPField("origin", "https://app.example.org")]) == .allowed)
        #expect(list.decide([HTTPField("origin", "https://app.example.org"), HTTPField("origin", "https://app.example.org")]) == .refused)
        #expect(try OriginAllowList([]).decide(origin: "https://app.example.org") == .refused)
    }

    @Test(
        "an entry that cannot be read is named",
        arguments: [
            "null", "*", "https://*", "https://*.", "https://*.*.a", "https://*.10.0.0.1", "https://a/", "a.example", "https://*..a",
            "https://*.[::1]",
        ])
    func badEntries(entry: String) {
        #expect(throws: OriginAllowList.Fault(entry: entry)) { try OriginAllowList(["https://a.example", entry]) }
    }

    @Test("a scheme without a port of its own is compared without one")
    func otherSchemes() throws {
        let list = try OriginAllowList(["app-shell://main"])
        #expect(list.decide(origin: "app-shell://main") == .allowed)
        #expect(list.decide(origin: "app-shell://main:1") == .refused)
    }
}
