import RelayBase
import Testing

@testable import TLSTransport

@Suite struct ValidatedPathTests {
    private static let start: Int64 = 1_800_000_000

    private func connect(_ client: TLSContext, _ server: TLSContext) throws -> Wire {
        let wire = try Wire(client, server)
        wire.run()
        return wire
    }

    @Test("a path that was found good is known to its context, and its connections share what is kept of the client")
    func known() throws {
        let server = try Contexts.server()
        let client = try Contexts.client("inter-client", chain: true)
        let peers = try (0..<3).map { _ in try #require(connect(client, server).server.machine.client) }
        #expect(server.validatedPaths.count == 1)
        #expect(Set(peers).count == 1)
        #expect(try Contexts.server().validatedPaths.count == 0, "another context has its own")
        _ = try connect(Contexts.client("client"), server)
        #expect(server.validatedPaths.count == 2)
    }

    @Test("RFC 5280 §6 what is not good is never kept", arguments: CertificateCase.all.filter { $0.fault != nil && $0.client != "thief" })
    func refused(testCase: CertificateCase) throws {
        let server = try Contexts.server {
            $0.revocationListFiles = testCase.lists.map(Contexts.pki.path)
            $0.revocation = testCase.revocation
        }
        let client = try Contexts.client(testCase.client, chain: testCase.chain)
        for _ in 0..<2 { #expect(try connect(client, server).server.fault == testCase.fault) }
        #expect(server.validatedPaths.count == 0)
    }

    @Test("RFC 8446 §4.4.3 each full handshake proves the key, whether the path is known or not")
    func thief() throws {
        let server = try Contexts.server()
        #expect(try connect(Contexts.client("client"), server).isComplete)
        let thief = try connect(Contexts.client("thief"), server)
        #expect(thief.server.fault == .badSignature)
        #expect(thief.server.machine.client == nil)
    }

    @Test("RFC 5280 §6.1.3 a known path is refused once a certificate in it has ended, in full handshakes and for live sessions")
    func expires() throws {
        let time = SettableClock(Self.start)
        let server = try Contexts.server(clock: time.clock)
        let client = try Contexts.client("client")
        let live = try connect(client, server)
        #expect(live.isComplete && server.validatedPaths.count == 1)
        let end = try #require(live.server.machine.peerIdentity?.notAfter)
        time.set(end - 1)
        #expect(try connect(client, server).server.fault == nil)
        #expect(live.server.machine.peerFault(under: server) == nil)
        time.set(end + 1)
        #expect(try connect(client, server).server.fault == .expired)
        #expect(live.server.machine.peerFault(under: server) == .expired)
    }

    @Test("RFC 5280 §6.3.3 a known path is refused once the revocation list is out of date")
    func staleList() throws {
        // 2040-01-01, when the list's time is over, and some days before.
        let stale: Int64 = 2_208_988_800
        let time = SettableClock(Self.start)
        let server = try Contexts.server(clock: time.clock) { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")] }
        let live = try connect(Contexts.client("client"), server)
        #expect(live.isComplete && server.validatedPaths.count == 1)
        let validity = server.listValidity
        #expect(validity.upperBound == stale && validity.contains(Self.start) && !validity.contains(stale))
        time.set(stale)
        #expect(live.server.machine.peerFault(under: server) != nil)
    }

    @Test("what a list names is found by its serial number, for the certificate and for the authorities that came with it")
    func listed() throws {
        let server = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl"), Contexts.pki.path("inter.crl")] }
        let revoked = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root.crl")] }
        let above = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root-inter-revoked.crl")] }
        let cases: [(client: String, chain: Bool, context: TLSContext, isListed: Bool)] = [
            ("client", false, server, false), ("client", false, revoked, false), ("revoked", false, server, false), ("revoked", false, revoked, true),
            ("inter-client", true, server, false), ("inter-client", true, above, true),
        ]
        for (name, chain, context, isListed) in cases {
            let wire = try connect(Contexts.client(name, chain: chain), server)
            #expect(wire.server.machine.isListed(under: context) == isListed, "\(name)")
        }
    }

    @Test(
        "bytes that are no certificate have no serial number",
        arguments: [[], [0x30], [0x30, 0x80, 0x30, 0x80], [0x30, 3, 0x30, 1, 0xA0], [2, 1, 1]])
    func malformed(bytes: [UInt8]) throws {
        #expect(unsafe CertificateReader.serialNumber(inDER: bytes) == nil)
    }

    @Test("the oldest path gives way to the newest")
    func bound() throws {
        let peer = try #require(connect(Contexts.client("client"), Contexts.server()).server.machine.client)
        let paths = ValidatedPaths()
        let digests = (0...ValidatedPaths.pathsMax).map { SHA256Digest(hashing: Array("\($0)".utf8)) }
        for digest in digests { paths.keep(peer, digest, validity: 0..<10) }
        #expect(paths.count == ValidatedPaths.pathsMax)
        #expect(paths.peer(digests[0]) == nil && paths.peer(digests[1]) != nil)
        #expect(paths.isGood(digests[1], at: 9) && !paths.isGood(digests[1], at: 10) && !paths.isGood(digests[1], at: -1))
    }
}
