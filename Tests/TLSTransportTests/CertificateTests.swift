import TLSTransport
import Testing

/// A bad client certificate, what the server calls it, and the alert that the client sees (RFC 8446 §6.2).
struct CertificateCase: CustomTestStringConvertible, Sendable {
    var client: String?
    var lists: [String] = []
    var revocation = RevocationPolicy.leaf
    var chain = false
    var fault: TLSFault?
    var alert: UInt8 = 0
    /// Where TLS 1.2 has another alert for it.
    var alert12: UInt8?

    var testDescription: String { "\(client ?? "none") \(lists) \(revocation) → \(fault?.reason ?? "accepted")" }

    static let all: [CertificateCase] = [
        CertificateCase(client: "client"),
        CertificateCase(client: "client-rsa"),
        CertificateCase(client: nil, fault: .noCertificate, alert: 116, alert12: 40),
        CertificateCase(client: "foreign-client", fault: .unknownAuthority, alert: 48),
        CertificateCase(client: "expired", fault: .expired, alert: 45),
        CertificateCase(client: "not-yet", fault: .notYetValid, alert: 42),
        CertificateCase(client: "wrong-usage", fault: .wrongPurpose, alert: 43),
        CertificateCase(client: "self-signed", fault: .selfSigned, alert: 48),
        CertificateCase(client: "thief", fault: .badSignature, alert: 51),
        CertificateCase(client: "nul-name", fault: .identityRefused, alert: 42),
        CertificateCase(client: "false-key-name", fault: .identityRefused, alert: 42),
        CertificateCase(client: "inter-client", fault: .unknownAuthority, alert: 48),
        CertificateCase(client: "inter-client", chain: true),
        // Revocation.
        CertificateCase(client: "revoked", lists: ["root-empty.crl"]),
        CertificateCase(client: "revoked", lists: ["root.crl"], fault: .revoked, alert: 44),
        CertificateCase(client: "revoked", lists: ["root.der.crl"], fault: .revoked, alert: 44),
        CertificateCase(client: "client", lists: ["root.crl"]),
        CertificateCase(client: "client", lists: ["root-stale.crl"], fault: .crlExpired, alert: 45),
        // Delta lists (RFC 5280 §5.2.4).
        CertificateCase(client: "revoked", lists: ["root-base.crl"]),
        CertificateCase(client: "revoked", lists: ["root-base.crl", "root-delta.crl"], fault: .revoked, alert: 44),
        CertificateCase(client: "revoked", lists: ["root-delta.crl", "root-base.crl"], fault: .revoked, alert: 44),
        CertificateCase(client: "client", lists: ["root-base.crl", "root-delta.crl"]),
        // It continues a later complete list than the one that is there, so it says nothing.
        CertificateCase(client: "revoked", lists: ["root-base.crl", "root-later-delta.crl"]),
        CertificateCase(client: "inter-client", lists: ["root-base.crl", "root-delta.crl"], chain: true, fault: .crlMissing, alert: 48),
        CertificateCase(client: "inter-client", lists: ["inter.crl", "root-base.crl", "root-delta.crl"], revocation: .chain, chain: true),
        CertificateCase(client: "inter-client", lists: ["root.crl"], chain: true, fault: .crlMissing, alert: 48),
        CertificateCase(client: "inter-client", lists: ["root.crl"], revocation: .whereListed, chain: true),
        CertificateCase(client: "inter-client", lists: ["inter.crl"], chain: true),
        CertificateCase(client: "inter-client", lists: ["inter.crl"], revocation: .chain, chain: true, fault: .crlMissing, alert: 48),
        CertificateCase(client: "inter-client", lists: ["inter.crl", "root.crl"], revocation: .chain, chain: true),
        CertificateCase(client: "inter-client", lists: ["inter.crl", "root-inter-revoked.crl"], chain: true, fault: .revoked, alert: 44),
        CertificateCase(client: "inter-client", lists: ["root-inter-revoked.crl"], revocation: .whereListed, chain: true, fault: .revoked, alert: 44),
    ]
}

@Suite struct CertificateTests {
    @Test("a client's certificate is accepted or refused with the right fault and alert", arguments: CertificateCase.all, TLSVersion.allCases)
    func clientCertificate(testCase: CertificateCase, version: TLSVersion) throws {
        let server = try Contexts.server {
            $0.revocationListFiles = testCase.lists.map(Contexts.pki.path)
            $0.revocation = testCase.revocation
        }
        let client = try Contexts.client(testCase.client, chain: testCase.chain) { $0.maximumVersion = version }
        let wire = try Wire(client, server)
        wire.run()
        #expect(wire.server.fault == testCase.fault)
        #expect(
            wire.client.fault == testCase.fault.map { _ in .alertReceived(version == .tls12 ? testCase.alert12 ?? testCase.alert : testCase.alert) })
        #expect(wire.server.machine.isHandshakeComplete == (testCase.fault == nil))
        if testCase.fault != nil { #expect(wire.server.machine.peerIdentity == nil, "no identity before it is proved") }
    }

    @Test("an optional certificate may be absent, but not bad", arguments: [(nil, nil), ("client", nil), ("expired", TLSFault.expired)])
    func optional(name: String?, fault: TLSFault?) throws {
        let wire = try Wire(Contexts.client(name), Contexts.server { $0.clientCertificate = .optional })
        wire.run()
        #expect(wire.server.fault == fault)
        #expect(wire.isComplete == (fault == nil))
        #expect((wire.server.machine.peerIdentity != nil) == (name == "client"))
    }

    @Test("a server that asks for no certificate gets none")
    func none() throws {
        let wire = try Wire(Contexts.client("client"), Contexts.server { $0.clientCertificate = .none })
        wire.run()
        #expect(wire.isComplete)
        #expect(wire.server.machine.peerIdentity == nil)
    }

    @Test(
        "a client refuses a server that is not the one it means",
        arguments: [
            ("server", TLSPeerName.dns("relay.example"), nil as TLSFault?), ("server", .address("127.0.0.1"), nil),
            ("server", .dns("other.example"), .hostnameMismatch), ("server", .address("127.0.0.2"), .hostnameMismatch),
            ("server-expired", .dns("relay.example"), .expired), ("client", .dns("alice.example"), .wrongPurpose),
            ("foreign-client", .dns("relay.example"), .unknownAuthority), ("self-signed", .dns("relay.example"), .selfSigned),
        ])
    func serverCertificate(name: String, peer: TLSPeerName, fault: TLSFault?) throws {
        let wire = try Wire(Contexts.client("client"), Contexts.server { $0.keyPairs = [Contexts.pki.pair(name)] }, name: peer)
        wire.run()
        #expect(wire.client.fault == fault)
        #expect(wire.isComplete == (fault == nil))
        if fault != nil, case .alertReceived = wire.server.fault {} else if fault != nil { Issue.record("the server saw no alert") }
    }

    @Test("a live session is measured again by a changed trust store")
    func recheck() throws {
        let before = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")] }
        let after = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root.crl")] }
        let foreign = try Contexts.server { $0.authorityFiles = [Contexts.pki.path("foreign.pem")] }
        let late = try Contexts.server(clock: WallClock { 2_300_000_000 })
        for (name, fault) in [("revoked", TLSFault.revoked), ("client", nil)] {
            let wire = try Wire(Contexts.client(name), before)
            wire.run()
            #expect(wire.server.machine.isStillTrusted(under: before))
            #expect(wire.server.machine.peerFault(under: after) == fault)
            #expect(wire.server.machine.peerFault(under: foreign) == .unknownAuthority)
            #expect(wire.server.machine.peerFault(under: late) == .expired)
        }
    }

    @Test("a path through an intermediate is measured again with the authorities that the peer sent")
    func recheckChain() throws {
        let wire = try Wire(Contexts.client("inter-client", chain: true), Contexts.server())
        wire.run()
        #expect(wire.server.machine.isStillTrusted(under: try Contexts.server()))
        let after = try Contexts.server { $0.revocationListFiles = ["inter.crl", "root-inter-revoked.crl"].map(Contexts.pki.path) }
        #expect(wire.server.machine.peerFault(under: after) == .revoked)
    }

    @Test("a session without a certificate is refused by a trust store that requires one")
    func recheckAbsent() throws {
        let wire = try Wire(Contexts.client(nil), Contexts.server { $0.clientCertificate = .optional })
        wire.run()
        #expect(wire.server.machine.isStillTrusted(under: try Contexts.server { $0.clientCertificate = .optional }))
        #expect(wire.server.machine.peerFault(under: try Contexts.server()) == .noCertificate)
    }
}
