import Foundation
import TLSTransport
import Testing

@Suite struct ForwardedPeerTests {
    private static let pki = Contexts.pki

    /// The DER of a PEM file's one certificate.
    private static func der(_ name: String) throws -> [UInt8] {
        let text = try String(contentsOfFile: pki.path("\(name).pem"), encoding: .utf8)
        let body = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        return [UInt8](try #require(Data(base64Encoded: body)))
    }

    /// All but the two that are about the handshake itself: no certificate, and no key.
    static let cases = CertificateCase.all.filter { $0.client != nil && $0.client != "thief" }

    @Test("a forwarded certificate is accepted or refused as in a handshake", arguments: cases)
    func asInHandshake(testCase: CertificateCase) throws {
        let server = try Contexts.server {
            $0.revocationListFiles = testCase.lists.map(Contexts.pki.path)
            $0.revocation = testCase.revocation
        }
        let name = try #require(testCase.client)
        let outcome = Result { () throws(TLSFault) in
            try server.identity(ofForwarded: (try? Self.der(name)) ?? [], chain: testCase.chain ? [(try? Self.der("inter")) ?? []] : [])
        }
        switch outcome {
        case .success(let peer):
            #expect(testCase.fault == nil)
            #expect(peer.identity.proof == .forwarded)
            let wire = try Wire(Contexts.client(name, chain: testCase.chain), server)
            wire.run()
            let own = try #require(wire.server.machine.peerIdentity)
            #expect((peer.identity.name, peer.identity.keyFingerprint) == (own.name, own.keyFingerprint))
            #expect((peer.identity.uris, peer.identity.dnsNames, peer.identity.emails) == (own.uris, own.dnsNames, own.emails))
        case .failure(let fault): #expect(fault == testCase.fault)
        }
    }

    @Test("a key too weak for a handshake is too weak here")
    func weak() throws {
        let server = try Contexts.server()
        #expect(throws: TLSFault.weakKey) { try server.identity(ofForwarded: Self.der("weak")) }
    }

    @Test("bytes that are no certificate, or more than one, are refused")
    func malformed() throws {
        let server = try Contexts.server()
        let good = try Self.der("client")
        for bytes in [[], [0x30, 0x00], Array(good.dropLast()), good + [0], good + good, Array("alice".utf8)] {
            #expect(throws: TLSFault.self) { try server.identity(ofForwarded: bytes) }
        }
        #expect(throws: TLSFault.self) { try server.identity(ofForwarded: good, chain: [[0x30, 0x00]]) }
        #expect(throws: Never.self) { try server.identity(ofForwarded: good, chain: [good]) }
    }

    @Test("a forwarded identity is measured again by a changed trust store and at a later time")
    func recheck() throws {
        let before = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")] }
        let after = try Contexts.server { $0.revocationListFiles = [Contexts.pki.path("root.crl")] }
        let foreign = try Contexts.server { $0.authorityFiles = [Contexts.pki.path("foreign.pem")] }
        let late = try Contexts.server(clock: WallClock { 2_300_000_000 })
        for (name, fault) in [("revoked", TLSFault.revoked), ("client", nil)] {
            let peer = try before.identity(ofForwarded: Self.der(name))
            #expect(before.fault(ofForwarded: peer) == nil)
            #expect(after.fault(ofForwarded: peer) == fault)
            #expect(foreign.fault(ofForwarded: peer) == .unknownAuthority)
            #expect(late.fault(ofForwarded: peer) == .expired)
        }
        let below = try Contexts.server().identity(ofForwarded: Self.der("inter-client"), chain: [Self.der("inter")])
        let revokedAbove = try Contexts.server { $0.revocationListFiles = ["inter.crl", "root-inter-revoked.crl"].map(Contexts.pki.path) }
        #expect(revokedAbove.fault(ofForwarded: below) == .revoked, "the chain is kept with it")
    }
}
