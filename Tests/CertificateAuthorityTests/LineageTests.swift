import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Renewals of a certificate that is revoked")
struct LineageTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority
    let device: Device
    let policy = RenewalPolicy(lifePercent: 0)

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
        device = Device(folder: folder)
    }

    private func renew(_ issued: IssuedCertificate, _ key: String, minutes: Int) throws -> IssuedCertificate {
        let shown = PresentedCertificate(serial: issued.entry.serial, keyFingerprint: try #require(issued.entry.keyFingerprint))
        return try authority.renew(
            presenting: shown, request: try device.request(key), policy: policy, now: testTime + .seconds(60 * minutes))
    }

    /// alice, what a thief renewed from it, and what the thief renewed from that; all keys differ.
    private func line() throws -> [IssuedCertificate] {
        let first = try authority.issueClient(name: "alice", now: testTime)
        let second = try renew(first, "thief", minutes: 1)
        return [first, second, try renew(second, "thief-2", minutes: 2)]
    }

    private let later = testTime + .seconds(600)

    @Test("They are revoked with it, and told of, for every reason but superseded; openssl refuses them", arguments: RevocationReason.allCases)
    func descendants(reason: RevocationReason) throws {
        let line = try line()
        let neighbour = try authority.issueClient(name: "bob", now: testTime)
        let revoked = try authority.revoke(.serial(line[0].entry.serial), reason: reason, now: later)
        let reached = reason == .superseded ? Array(line.prefix(1)) : line
        #expect(revoked.map(\.serial) == reached.map(\.entry.serial))
        #expect(revoked.allSatisfy { $0.revocation == CertificateEntry.Revocation(at: later, reason: reason) })
        for (number, issued) in line.enumerated() {
            let result = try verify(authority, issued.paths.certificate, purpose: "sslclient", at: later)
            #expect(result.output.contains("certificate revoked") == (number < reached.count), "\(result.output)")
        }
        #expect(try verify(authority, neighbour.paths.certificate, purpose: "sslclient", at: later).status == 0)
    }

    @Test("A fingerprint reaches them as well; what came before a revoked renewal stays good")
    func byKey() throws {
        let line = try line()
        let key = try #require(line[1].entry.keyFingerprint)
        #expect(try authority.revoke(.key(key), reason: .privilegeWithdrawn, now: later).map(\.serial) == line.dropFirst().map(\.entry.serial))
        #expect(try authority.find(.serial(line[0].entry.serial)).entry.revocation == nil)
    }

    @Test("A second, graver revocation reaches what superseded left, and leaves the first as it was")
    func afterSuperseded() throws {
        let line = try line()
        let selector = CertificateSelector.serial(line[0].entry.serial)
        try authority.revoke(selector, reason: .superseded, now: later)
        #expect(try authority.revoke(selector, reason: .keyCompromise, now: later).map(\.serial) == line.dropFirst().map(\.entry.serial))
        #expect(try authority.find(selector).entry.revocation?.reason == .superseded)
        #expect(throws: CertificateAuthorityFault.alreadyRevoked(selector)) { try authority.revoke(selector, reason: .keyCompromise, now: later) }
    }

    @Test("An operator's renewal with a fresh key stays good; one that certifies the renewer's key again does not")
    func operators() throws {
        let first = try authority.issueClient(name: "alice", now: testTime)
        let fresh = try authority.renew(.serial(first.entry.serial), now: testTime)
        let stolen = try renew(first, "thief", minutes: 1)
        let again = try authority.renew(.label("alice"), now: testTime)
        #expect(again.entry.keyFingerprint == stolen.entry.keyFingerprint && again.entry.origin.predecessor == nil)
        let revoked = try authority.revoke(.serial(first.entry.serial), now: later)
        #expect(revoked.map(\.serial) == [first, stolen, again].map(\.entry.serial))
        #expect(try authority.find(.serial(fresh.entry.serial)).entry.revocation == nil)
    }

    @Test("A compromised key takes all its certificates along", arguments: [RevocationReason.keyCompromise, .cessationOfOperation])
    func sharedKey(reason: RevocationReason) throws {
        let policy = SigningPolicy(kind: .client, allowedNames: [try .client(named: "carol")])
        let first = try authority.sign(request: try device.request("carol"), policy: policy, label: "carol", now: testTime)
        let second = try authority.renew(.label("carol"), now: testTime)
        #expect(first.entry.keyFingerprint == second.entry.keyFingerprint)
        #expect(try authority.revoke(.serial(first.entry.serial), reason: reason, now: later).count == (reason == .keyCompromise ? 2 : 1))
    }

    @Test("What an older program left unrevoked is not renewed any more, unless its ancestor was superseded only")
    func notRenewed() throws {
        let line = try line()
        try authority.revoke(.serial(line[0].entry.serial), reason: .superseded, now: later)
        _ = try renew(line[2], "4", minutes: 10)
        let path = authority.files.index
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing(#""reason":"superseded""#, with: #""reason":"keyCompromise""#).write(toFile: path, atomically: false, encoding: .utf8)
        #expect(throws: CertificateAuthorityFault.revoked(line[0].entry.serial)) { try renew(line[2], "5", minutes: 11) }
    }

    @Test("live/NAME stays with what the operator issued, also after a crash, until the operator renews")
    func live() throws {
        let line = try line()
        let files = authority.files
        func target() -> String? { Files.linkTarget(files.live("alice")) }
        #expect(target() == files.liveTarget(line[0].entry.serial))
        // As if the crash came between index and move.
        try FileManager.default.moveItem(atPath: files.issued(line[2].entry.serial), toPath: files.staged(line[2].entry.serial))
        try authority.refreshCRL(now: later)
        #expect(FileManager.default.fileExists(atPath: line[2].paths.certificate))
        #expect(target() == files.liveTarget(line[0].entry.serial))
        #expect(target() != nil)
        let renewed = try authority.renew(.serial(line[0].entry.serial), now: later)
        #expect(target() == files.liveTarget(renewed.entry.serial))
    }

    @Test("An index that goes round in circles ends")
    func circle() throws {
        let line = try line()
        let path = authority.files.index
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let round = text.replacing(#""renews":"\#(line[0].entry.serial)""#, with: #""renews":"\#(line[2].entry.serial)""#)
        #expect(round != text)
        try round.write(toFile: path, atomically: false, encoding: .utf8)
        _ = try? renew(line[2], "4", minutes: 10)
        #expect(try authority.revoke(.serial(line[1].entry.serial), now: later).count >= 2)
    }
}

@Suite("What enrolment refuses")
struct EnrolmentRefusalTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority
    let device: Device

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
        device = Device(folder: folder)
    }

    private func enrol(_ names: [String], _ request: [UInt8]) throws -> IssuedCertificate {
        let secret = try authority.createEnrolmentToken(names: names.map { try SubjectAlternativeName(parsing: $0) }, now: testTime).secret
        return try authority.enrol(token: secret, request: request, now: testTime)
    }

    @Test(
        "A key is one identity: the first URI, else the first DNS name, else the first e-mail address",
        arguments: [
            (["URI:urn:n:one", "URI:urn:n:two"], ["URI:urn:n:two", "URI:urn:n:one"], false),
            (["DNS:one.example", "DNS:two.example"], ["DNS:two.example", "DNS:one.example"], false),
            (["email:a@x.example", "email:b@x.example"], ["email:b@x.example", "email:a@x.example"], false),
            (["DNS:one.example"], ["DNS:one.example", "URI:urn:n:one"], false),
            (["email:a@x.example", "URI:urn:n:one"], ["URI:urn:n:one", "email:a@x.example"], true),
            (["URI:urn:n:one"], ["DNS:one.example", "URI:urn:n:one", "URI:urn:n:two"], true),
        ])
    func identity(first: [String], second: [String], isSame: Bool) throws {
        let request = try device.request("one")
        _ = try enrol(first, request)
        if isSame {
            _ = try enrol(second, request)
        } else {
            #expect(throws: CertificateAuthorityFault.keyBelongsToAnother) { try enrol(second, request) }
        }
    }

    private static let pss = ["-newkey", "rsa:2048", "-sigopt", "rsa_padding_mode:pss"]

    @Test(
        "RFC 9155 §3 a request signed with SHA-1 or weaker is refused",
        arguments: [
            ["-newkey", "rsa:2048", "-sha1"], ["-newkey", "rsa:2048", "-md5"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-sha1"],
            pss + ["-sha1"], ["-newkey", "rsa:2048", "-sha224"],
        ])
    func weakDigest(words: [String]) throws {
        let request = try device.request("weak", words)
        #expect(throws: CertificateAuthorityFault.requestDigestNotAllowed) { try enrol(["URI:urn:n:one"], request) }
        #expect(try authority.list().isEmpty)
    }

    @Test("Good digests are taken", arguments: [pss + ["-sha256"], ["-newkey", "rsa:2048", "-sha512"], ["-newkey", "ed25519"]])
    func goodDigest(words: [String]) throws {
        _ = try enrol(["URI:urn:n:one"], try device.request("good", words))
    }

    @Test("FIPS 186-5 §A.1.1 an RSA exponent below 65537 is refused", arguments: [("3", false), ("257", false), ("65537", true), ("65539", true)])
    func exponent(exponent: String, isGood: Bool) throws {
        let request = try device.request("rsa", ["-newkey", "rsa:2048", "-pkeyopt", "rsa_keygen_pubexp:" + exponent])
        if isGood {
            _ = try enrol(["URI:urn:n:one"], request)
        } else {
            #expect(throws: CertificateAuthorityFault.requestKeyNotAllowed) { try enrol(["URI:urn:n:one"], request) }
        }
    }

    @Test("A token cannot carry a server's label, neither when it is made nor when it is used, even when the server's certificate has ended")
    func serversLabel() throws {
        let name = try SubjectAlternativeName.dns("media.example")
        let early = try authority.createEnrolmentToken(names: [name], validity: .days(30), now: testTime).secret
        let server = try authority.issueServer(names: [name], validity: .days(1), now: testTime)
        let later = testTime + .days(2)
        for now in [testTime, later] {
            #expect(throws: CertificateAuthorityFault.labelOfServer("media.example")) {
                try authority.createEnrolmentToken(names: [.client(named: "x")], label: "media.example", now: now)
            }
        }
        let made = try authority.createEnrolmentToken(names: [name], now: later)
        #expect(made.token.label == "media.example-\(made.token.id)")
        let issued = try authority.enrol(token: early, request: try device.request("early"), now: later)
        #expect(issued.entry.label.hasPrefix("media.example-"))
        #expect(Files.linkTarget(authority.files.live("media.example")) == authority.files.liveTarget(server.entry.serial))
    }
}
