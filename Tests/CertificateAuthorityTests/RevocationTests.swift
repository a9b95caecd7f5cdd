import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Revocation")
struct RevocationTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
    }

    private func list() throws -> String {
        let result = try openssl("crl", "-noout", "-text", "-in", authority.revocationListPath, "-CAfile", authority.certificatePath)
        #expect(result.output.contains("verify OK"))
        return result.output
    }

    @Test("RFC 5280 §5: a new authority has an empty version 2 list, number 1, good for a week")
    func empty() throws {
        let text = try list()
        for expected in [
            "Version 2 (0x1)", "Issuer: CN = Test CA", "Last Update: Jan 15 11:55:00 2027 GMT", "Next Update: Jan 22 12:00:00 2027 GMT",
            "X509v3 CRL Number: \n                1\n", "X509v3 Authority Key Identifier:", "No Revoked Certificates.", "ecdsa-with-SHA256",
        ] {
            #expect(text.contains(expected), "\(expected) not in \(text)")
        }
    }

    @Test("A revoked certificate fails openssl's verification with \"certificate revoked\", its neighbour does not")
    func revoked() throws {
        let alice = try authority.issueClient(name: "alice", now: testTime)
        let bob = try authority.issueClient(name: "bob", now: testTime)
        #expect(try verify(authority, alice.paths.certificate, purpose: "sslclient").status == 0)
        let revoked = try authority.revoke(.serial(alice.entry.serial), reason: .keyCompromise, now: testTime)
        #expect(revoked.map(\.serial) == [alice.entry.serial])
        let result = try verify(authority, alice.paths.certificate, purpose: "sslclient")
        #expect(result.status != 0 && result.output.contains("certificate revoked"), "\(result.output)")
        #expect(try verify(authority, bob.paths.certificate, purpose: "sslclient").status == 0)
        let text = try list()
        #expect(text.contains("Serial Number: \(alice.entry.serial.description.uppercased())\n        Revocation Date: Jan 15 12:00:00 2027 GMT"))
        #expect(text.contains("Key Compromise") && text.contains("X509v3 CRL Number: \n                2\n"))
    }

    @Test("RFC 5280 §5.3.1: every reason is written, an unspecified one is left out", arguments: RevocationReason.allCases)
    func reasons(reason: RevocationReason) throws {
        try authority.issueClient(name: "alice", now: testTime)
        try authority.revoke(.label("alice"), reason: reason, now: testTime)
        let expected: [RevocationReason: String] = [
            .keyCompromise: "Key Compromise", .affiliationChanged: "Affiliation Changed", .superseded: "Superseded",
            .cessationOfOperation: "Cessation Of Operation", .privilegeWithdrawn: "Privilege Withdrawn",
        ]
        let text = try list()
        #expect(text.contains("Reason Code") == (reason != .unspecified))
        if let name = expected[reason] { #expect(text.contains(name)) }
        #expect(try authority.list()[0].revocation?.reason == reason)
    }

    @Test("Revoking a label revokes all of its certificates, those before a renewal included")
    func label() throws {
        let first = try authority.issueClient(name: "alice", now: testTime)
        let second = try authority.renew(.label("alice"), now: testTime + .days(1))
        #expect(try authority.revoke(.label("alice"), now: testTime + .days(2)).count == 2)
        for issued in [first, second] {
            #expect(
                try verify(authority, issued.paths.certificate, purpose: "sslclient", at: testTime + .days(3)).output.contains("certificate revoked"))
        }
        #expect(throws: CertificateAuthorityFault.alreadyRevoked(.label("alice"))) { try authority.revoke(.label("alice"), now: testTime) }
        #expect(throws: CertificateAuthorityFault.alreadyRevoked(.serial(first.entry.serial))) {
            try authority.revoke(.serial(first.entry.serial), now: testTime)
        }
        #expect(throws: CertificateAuthorityFault.notFound(.label("nobody"))) { try authority.revoke(.label("nobody"), now: testTime) }
        #expect(throws: CertificateAuthorityFault.revoked(second.entry.serial)) { try authority.renew(.label("alice"), now: testTime) }
        #expect(try authority.issueClient(name: "alice", now: testTime).entry.label == "alice", "the label is free again")
    }

    @Test("RFC 5280 §5.2.3: the number grows with every list, also after the last list is lost or broken")
    func numbers() throws {
        func number() throws -> UInt64 { try #require(try PEM.read(RevocationListObject.self, path: authority.revocationListPath).number()) }
        try authority.refreshCRL(now: testTime + .days(1))
        #expect(try number() == 2)
        try FileManager.default.removeItem(atPath: authority.revocationListPath)
        try authority.refreshCRL(now: testTime + .days(2))
        let afterLoss = try number()
        #expect(afterLoss == UInt64((testTime + .days(2)).seconds))
        try authority.refreshCRL(now: testTime + .days(3))
        #expect(try number() == afterLoss + 1)
        try Files.write("garbage", to: authority.revocationListPath, mode: Files.publicMode)
        try authority.refreshCRL(now: testTime + .days(4))
        #expect(try number() > afterLoss + 1)
    }

    @Test("A list is renewed when it ends within the margin, and otherwise left alone")
    func margin() throws {
        #expect(try !authority.refreshCRL(ifEndingWithin: .days(6), now: testTime))
        #expect(try authority.refreshCRL(ifEndingWithin: .days(6), now: testTime + .days(1)))
        #expect(try !authority.refreshCRL(ifEndingWithin: .days(6), now: testTime + .days(1)))
    }

    @Test("A revocation that a crash cut short between index and list gets into the next list")
    func cutShort() throws {
        let alice = try authority.issueClient(name: "alice", now: testTime)
        let before = try Data(contentsOf: URL(fileURLWithPath: authority.revocationListPath))
        try authority.revoke(.label("alice"), now: testTime)
        try before.write(to: URL(fileURLWithPath: authority.revocationListPath))
        #expect(try verify(authority, alice.paths.certificate, purpose: "sslclient").status == 0, "the old list does not know")
        #expect(try authority.refreshCRL(ifEndingWithin: .zero, now: testTime))
        #expect(try verify(authority, alice.paths.certificate, purpose: "sslclient").output.contains("certificate revoked"))
    }

    @Test("§3.3: an expired certificate leaves the list a month after its end")
    func pruning() throws {
        let alice = try authority.issueClient(name: "alice", validity: .days(10), now: testTime)
        try authority.revoke(.label("alice"), now: testTime)
        func listed(at now: UnixTime) throws -> Bool {
            try authority.refreshCRL(now: now)
            return try PEM.read(RevocationListObject.self, path: authority.revocationListPath).names(alice.entry.serial)
        }
        #expect(try listed(at: testTime + .days(40)))
        #expect(try !listed(at: testTime + .days(41)))
    }

    @Test("Renewal keeps label, names and kind, makes a new key and serial number, and moves the live link")
    func renewal() throws {
        let first = try authority.issueServer(names: [try .dns("localhost"), try .ip("::1")], key: .rsa2048, now: testTime)
        let second = try authority.renew(.label("localhost"), now: testTime + .days(80))
        #expect(second.entry.names == first.entry.names && second.entry.kind == .server && second.entry.key == .rsa2048)
        #expect(second.entry.serial != first.entry.serial && second.livePaths == first.livePaths)
        let live = try Data(contentsOf: URL(fileURLWithPath: first.livePaths.certificate))
        #expect(live == (try Data(contentsOf: URL(fileURLWithPath: second.paths.certificate))))
        let keys = try [first, second].map { try Data(contentsOf: URL(fileURLWithPath: try #require($0.paths.key))) }
        #expect(keys[0] != keys[1])
        let now = testTime + .days(85)
        try authority.refreshCRL(now: now)
        for issued in [first, second] { #expect(try verify(authority, issued.paths.certificate, purpose: "sslserver", at: now).status == 0) }
        try authority.refreshCRL(now: testTime + .days(95))
        #expect(try verify(authority, first.paths.certificate, purpose: "sslserver", at: testTime + .days(95)).output.contains("expired"))
    }
}
