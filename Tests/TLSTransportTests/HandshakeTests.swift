import RelayBase
import TLSTransport
import Testing

@Suite struct HandshakeTests {
    @Test("a mutual handshake agrees on version, suite, ALPN and server name, and names the client", arguments: TLSVersion.allCases)
    func mutual(version: TLSVersion) throws {
        let server = try Contexts.server {
            $0.minimumVersion = version
            $0.maximumVersion = version
            $0.applicationProtocols = ["h2", "http/1.1"]
        }
        let wire = try Wire(Contexts.client("client") { $0.applicationProtocols = ["http/1.1", "h2"] }, server)
        wire.run()
        #expect(wire.isComplete, "\(String(describing: wire.client.fault)) \(String(describing: wire.server.fault))")
        let agreed = try #require(wire.server.machine.negotiated)
        #expect(agreed.version == version)
        #expect(agreed.cipherSuite == (version == .tls13 ? "TLS_AES_128_GCM_SHA256" : "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"))
        #expect(agreed.applicationProtocol == "h2", "the server's preference decides")
        #expect(agreed.serverName == "relay.example")
        #expect(!agreed.isResumed)
        #expect(wire.client.machine.negotiated?.applicationProtocol == "h2")
        #expect(wire.server.machine.peerIdentity?.name == "urn:segue:alice")
        #expect(wire.client.machine.peerIdentity?.dnsNames == ["relay.example"])
    }

    @Test("RSA and ECDSA certificates stand side by side: what a client can verify decides", arguments: [false, true])
    func sideBySide(onlyRSA: Bool) throws {
        let pairs = [Contexts.pki.pair("server"), Contexts.pki.pair("server-rsa")]
        let server = try Contexts.server { $0.keyPairs = onlyRSA ? [pairs[1]] : pairs }
        let wire = try Wire(Contexts.client("client-rsa"), server)
        wire.run()
        #expect(wire.isComplete)
        let ecdsa = try Wire(Contexts.client("client"), Contexts.server())
        ecdsa.run()
        let fingerprint = wire.client.machine.peerIdentity?.keyFingerprint
        #expect((fingerprint == ecdsa.client.machine.peerIdentity?.keyFingerprint) == !onlyRSA, "ECDSA is preferred where both are there")
    }

    @Test("input in any chunks gives the same connection", arguments: [1, 2, 7, 100, 16_385], TLSVersion.allCases)
    func chunked(chunk: Int, version: TLSVersion) throws {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = version }, Contexts.server())
        wire.run(chunk: chunk)
        #expect(wire.isComplete)
        var generator = SeededGenerator(seed: 7)
        let message = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        try wire.client.send(message)
        wire.run(chunk: chunk)
        #expect(wire.server.received == message)
        try wire.server.send(Array(message.reversed()))
        wire.run(chunk: chunk)
        #expect(wire.client.received == message.reversed())
        #expect(wire.client.fault == nil && wire.server.fault == nil)
    }

    @Test("one write makes as few records as hold it", arguments: [(1, 1), (16_384, 1), (16_385, 2), (65_536, 4), (65_537, 5)])
    func records(count: Int, expected: Int) throws {
        let wire = try Wire(Contexts.client("client"), Contexts.server())
        wire.run()
        try wire.server.send([UInt8](repeating: 1, count: count))
        let bytes = wire.server.takeOutput()
        var records = 0
        var offset = 0
        while offset + 5 <= bytes.count {
            offset += 5 + Int(bytes[offset + 3]) << 8 + Int(bytes[offset + 4])
            records += 1
        }
        #expect(offset == bytes.count)
        #expect(records == expected)
    }

    @Test("RFC 7301 §3.2 no protocol in common is refused with no_application_protocol")
    func noCommonProtocol() throws {
        let wire = try Wire(Contexts.client("client") { $0.applicationProtocols = ["spdy/3"] }, Contexts.server { $0.applicationProtocols = ["h2"] })
        wire.run()
        #expect(wire.server.fault == .noApplicationProtocol)
        #expect(wire.client.fault == .alertReceived(120))
    }

    @Test("no version in common is refused with protocol_version")
    func noCommonVersion() throws {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = .tls12 }, Contexts.server { $0.minimumVersion = .tls13 })
        wire.run()
        #expect(wire.server.fault == .protocolVersion)
        #expect(wire.client.fault == .alertReceived(70))
    }

    @Test(
        "bytes that are no TLS at all are told from broken TLS",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", TLSFault.notTLS), ("CONNECT a:1 HTTP/1.1\r\n\r\n", .notTLS), ("SSH-2.0-OpenSSH_9.2\r\n", .notTLS),
        ])
    func notTLS(text: String, expected: TLSFault) throws {
        let output = TLSOutput()
        let server = Endpoint(try TLSMachine(accepting: Contexts.server(), output: output), output)
        server.inbox = Array(text.utf8)
        server.step(.max)
        #expect(server.fault == expected)
    }

    @Test("bytes that are no record, after a ClientHello, are broken TLS", arguments: TLSVersion.allCases)
    func brokenAfterClientHello(version: TLSVersion) throws {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = version }, Contexts.server())
        wire.server.inbox = wire.client.takeOutput()
        wire.server.step(.max)
        wire.server.inbox = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        wire.server.step(.max)
        #expect(wire.server.fault == .malformedRecord)
    }

    @Test("random bytes are refused, never trapped on, at any stage of the handshake", arguments: 0..<64 as Range<UInt64>)
    func garbage(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let wire = try Wire(Contexts.client("client"), Contexts.server())
        wire.server.inbox = wire.client.takeOutput()
        // Every other time a good beginning; then noise, sometimes inside a record with a good header.
        if seed % 2 == 0 { wire.server.step(.max) } else { wire.server.inbox.removeAll() }
        let noise = (0..<400).map { _ in UInt8.random(in: 0...255, using: &generator) }
        wire.server.inbox = seed % 4 < 2 ? [22, 3, 3, 1, 0x90] + noise : noise
        wire.server.step(.max)
        // A record that announces more than came is still waited for.
        if wire.server.fault == nil { #expect(!wire.server.machine.isHandshakeComplete) }
        if case .internal(let text) = wire.server.fault { Issue.record("blamed on us: \(text)") }
    }

    @Test("a changed byte in a sealed record fails its authentication", arguments: TLSVersion.allCases)
    func tampered(version: TLSVersion) throws {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = version }, Contexts.server())
        wire.run()
        try wire.client.send([1, 2, 3])
        var bytes = wire.client.takeOutput()
        bytes[bytes.count - 1] ^= 1
        wire.server.inbox = bytes
        wire.run()
        #expect(wire.server.fault == .malformedRecord)
        #expect(wire.client.fault == .alertReceived(20), "bad_record_mac")
        #expect(throws: TLSFault.malformedRecord) { try wire.server.send([1]) }
    }
}
