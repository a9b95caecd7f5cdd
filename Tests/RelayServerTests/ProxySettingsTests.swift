import HTTPProtocol
import Reactor
import RelayBase
import Testing

@testable import RelayServer

@Suite("Proxies in front")
struct ProxySettingsTests {
    private static func settings(_ members: String) throws -> ProxySettings {
        try ServerConfiguration(text: Array("{ proxies: { \(members) } }".utf8)).proxies
    }

    private func isListed(_ text: String, _ settings: ProxySettings) -> Bool? { SocketAddress(text).map(settings.lists) }

    @Test("nothing is listened to and nobody believed unless it is configured")
    func defaults() throws {
        let settings = try Self.settings("")
        #expect(settings.listen.isEmpty)
        #expect(settings.identities.isEmpty)
        #expect(settings.certificate == .none)
        #expect((settings.header, settings.tlsHeader) == (.none, .none))
        #expect(isListed("127.3.2.1:1", settings) == true)
        #expect(isListed("[::1]:1", settings) == true)
        #expect(isListed("192.0.2.1:1", settings) == false)
    }

    @Test(
        "each way of passing a certificate on has its word",
        arguments: [
            ("client-cert", ProxySettings.CertificateSource.field(.clientCert)), ("x-ssl-client-der", .field(.haproxy)),
            ("x-forwarded-client-cert", .field(.envoy)), ("none", .none),
        ])
    func sources(word: String, source: ProxySettings.CertificateSource) throws {
        #expect(try Self.settings("listen: [\"127.0.0.1:1\"], clientCertificate: \"\(word)\"").certificate == source)
    }

    @Test(
        "settings that would trust too much, or do nothing, are faults with their path",
        arguments: [
            ("listen: [\"0.0.0.0:80\"]", "proxies.listen[0]"), ("listen: [\"[::1]:1\", \"192.0.2.1:80\"]", "proxies.listen[1]"),
            ("listen: [\"localhost:80\"]", "proxies.listen[0]"), ("networks: [\"10.0.0.1/8\"]", "proxies.networks[0]"),
            ("networks: [\"::1\", \"example.org\"]", "proxies.networks[1]"),
            ("identities: [\"*\"], clientCertificate: \"client-cert\"", "proxies.identities[0]"),
            ("identities: [\"\"], clientCertificate: \"client-cert\"", "proxies.identities[0]"), ("identities: [\"urn:a\"]", "proxies.identities"),
            ("protocol: \"optional\"", "proxies.protocol"), ("tlsProtocol: \"maybe\"", "proxies.tlsProtocol"),
            ("clientCertificate: \"x-ssl-client-cn\"", "proxies.clientCertificate"),
            ("clientCertificate: \"client-cert\"", "proxies.clientCertificate"),
            ("listen: [\"127.0.0.1:1\"], clientCertificate: \"proxy-protocol\"", "proxies.clientCertificate"), ("trust: true", "proxies.trust"),
        ])
    func faults(members: String, path: String) throws {
        do throws(ServerConfiguration.Invalid) {
            _ = try ServerConfiguration(text: Array("{ proxies: { \(members) } }".utf8))
            Issue.record("taken")
        } catch {
            #expect(error.faults.map(\.path).contains(path), "\(error.faults)")
        }
    }

    @Test("a peer is trusted, and a header awaited, by listener and network")
    func hops() throws {
        let settings = try Self.settings(
            """
            listen: ["127.0.0.1:1"], networks: ["127.0.0.1", "192.0.2.0/24"], protocol: "required", clientCertificate: "client-cert", identities: ["urn:a"]
            """)
        let (near, far) = (try #require(SocketAddress("127.0.0.1:1")), try #require(SocketAddress("203.0.113.1:1")))
        let plain = try #require(Hop(from: near, isPlaintext: true, settings))
        #expect((plain.awaitsHeader, plain.isTrusted) == (true, true))
        #expect(Hop(from: far, isPlaintext: true, settings) == nil)
        for address in [near, far] {
            let secure = try #require(Hop(from: address, isPlaintext: false, settings))
            #expect((secure.awaitsHeader, secure.isTrusted) == (false, false), "a handshake must tell first who it is")
        }
        let headers = try Self.settings("networks: [\"192.0.2.0/24\"], tlsProtocol: \"required\"")
        for (text, awaits) in [("192.0.2.9:1", true), ("[::ffff:192.0.2.9]:1", true), ("203.0.113.1:1", false)] {
            let address = try #require(SocketAddress(text))
            #expect(Hop(from: address, isPlaintext: false, headers)?.awaitsHeader == awaits)
        }
        let silent = try Self.settings("listen: [\"127.0.0.1:1\"]")
        #expect(Hop(from: near, isPlaintext: true, silent)?.isTrusted == false, "no way to pass a certificate on is configured")
    }

    @Test("a connection counts for the client that a header names, within that client's bounds, and for nobody twice")
    func admission() throws {
        var limits = Limits()
        limits.connectionsPerAddressMax = 2
        limits.handshakesInFlightPerAddressMax = 2
        let admission = Admission(limits: limits)
        let proxy = try #require(SocketAddress("127.0.0.1:1")).key
        let client = try #require(SocketAddress("192.0.2.1:1")).key
        for _ in 0..<2 {
            #expect(admission.admit(proxy) == nil)
            #expect(admission.move(from: proxy, to: client) == nil)
        }
        #expect(admission.admit(proxy) == nil, "the proxy's own address is free again")
        #expect(admission.move(from: proxy, to: client) == .connectionsPerAddressMax)
        #expect(admission.move(from: proxy, to: proxy) == nil)
        admission.handshakeEnded(client)
        admission.connectionEnded(client)
        #expect(admission.move(from: proxy, to: client) == nil)
        #expect(admission.admit(client) == .connectionsPerAddressMax)
        for _ in 0..<2 {
            admission.handshakeEnded(client)
            admission.connectionEnded(client)
        }
        #expect(admission.admit(client) == nil)
    }
}
