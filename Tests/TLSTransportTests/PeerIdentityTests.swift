import Foundation
import TLSTransport
import Testing

@Suite struct PeerIdentityTests {
    private func identity(_ client: String) throws -> PeerIdentity {
        let wire = try Wire(Contexts.client(client), Contexts.server())
        wire.run()
        return try #require(wire.server.machine.peerIdentity)
    }

    @Test(
        "the name is the URI, else the DNS name, else the key's fingerprint; never the common name",
        arguments: [
            ("client", "urn:segue:alice" as String?, PeerIdentity.NameKind.uri), ("client-rsa", "rsa.example", .dns),
            ("nameless", nil as String?, .key),
        ])
    func name(client: String, name: String?, kind: PeerIdentity.NameKind) throws {
        let identity = try identity(client)
        #expect(identity.name == name ?? "spki:\(identity.keyFingerprint.hex)")
        #expect(identity.nameKind == kind)
        #expect(identity.proof == .certificate)
    }

    @Test("all names, the issuer and the validity are read")
    func fields() throws {
        let identity = try identity("client")
        #expect(identity.uris == ["urn:segue:alice"])
        #expect(identity.dnsNames == ["alice.example"])
        #expect(identity.emails == ["alice@example.org"])
        #expect(identity.issuer == "CN=root")
        #expect(identity.notBefore == 1_577_836_800)
        #expect(identity.notAfter == 2_208_988_800)
        #expect(!identity.serialNumber.isEmpty && identity.serialNumber.allSatisfy { $0.isHexDigit })
    }

    @Test("the fingerprint is the SHA-256 of the subject public key info, as openssl computes it")
    func fingerprint() throws {
        let pki = Contexts.pki
        try pki.openssl(["pkey", "-in", "client.key", "-pubout", "-outform", "DER", "-out", "client.spki"])
        try pki.openssl(["dgst", "-sha256", "-r", "-out", "client.spki.sha256", "client.spki"])
        let expected = try String(contentsOfFile: pki.path("client.spki.sha256"), encoding: .utf8).prefix(64)
        #expect(try identity("client").keyFingerprint.hex == expected)
    }
}
