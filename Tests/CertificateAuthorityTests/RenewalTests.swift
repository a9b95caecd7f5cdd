import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Renewal by the owner of a certificate")
struct RenewalTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority
    let device: Device

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
        device = Device(folder: folder)
    }

    private func enrol(_ name: String = "carol", days: Int = 100) throws -> IssuedCertificate {
        let secret = try authority.createEnrolmentToken(names: [.client(named: name)], certificateValidity: .days(days), now: testTime).secret
        return try authority.enrol(token: secret, request: try device.request(name), now: testTime + .seconds(600))
    }

    private func shown(_ issued: IssuedCertificate) throws -> PresentedCertificate {
        PresentedCertificate(serial: issued.entry.serial, keyFingerprint: try #require(issued.entry.keyFingerprint))
    }

    private let ripe = testTime + .seconds(600) + .days(50)

    @Test("Same names, same label, as long a life, with a new key; both certificates verify")
    func newKey() throws {
        let first = try enrol()
        let second = try authority.renew(presenting: try shown(first), request: try device.request("new"), now: ripe)
        #expect(second.entry.names == first.entry.names && second.entry.label == "carol" && second.entry.notAfter == ripe + .days(100))
        #expect(second.entry.keyFingerprint != first.entry.keyFingerprint && second.entry.serial != first.entry.serial)
        try authority.refreshCRL(now: ripe)
        for issued in [first, second] { #expect(try verify(authority, issued.paths.certificate, purpose: "sslclient", at: ripe).status == 0) }
    }

    @Test("The same key may be certified again")
    func sameKey() throws {
        let first = try enrol()
        let second = try authority.renew(presenting: try shown(first), request: try device.again("carol"), now: ripe)
        #expect(second.entry.keyFingerprint == first.entry.keyFingerprint && second.entry.serial != first.entry.serial)
    }

    @Test("The fingerprint is what openssl computes of the key")
    func fingerprint() throws {
        let first = try enrol()
        let der = folder("key.der")
        try openssl("pkey", "-in", folder("carol-key.pem"), "-pubout", "-outform", "DER", "-out", der)
        let digest = try openssl("dgst", "-sha256", "-r", der).output.prefix(64)
        #expect(first.entry.keyFingerprint?.description == String(digest))
    }

    @Test("A key that the authority keeps stays with the newest certificate")
    func heldKey() throws {
        let first = try authority.issueClient(name: "carol", validity: .days(100), now: testTime)
        let pem = try device.request("held", ["-key", try #require(first.paths.key)])
        let second = try authority.renew(presenting: try shown(first), request: pem, now: ripe)
        let key = try #require(second.livePaths.key)
        #expect(try Data(contentsOf: URL(fileURLWithPath: key)) == Data(contentsOf: URL(fileURLWithPath: try #require(first.paths.key))))
        #expect(try fileMode(key) == 0o600)
    }

    @Test("Not before the set share of its life is over")
    func tooEarly() throws {
        let first = try enrol()
        let pem = try device.request("new")
        #expect(throws: CertificateAuthorityFault.renewalTooEarly(until: ripe)) {
            try authority.renew(presenting: try shown(first), request: pem, now: ripe - .seconds(1))
        }
        _ = try authority.renew(presenting: try shown(first), request: pem, policy: RenewalPolicy(lifePercent: 0), now: testTime + .seconds(601))
    }

    @Test("A minute between two renewals, whichever certificate is shown")
    func interval() throws {
        let policy = RenewalPolicy(lifePercent: 0)
        let first = try enrol()
        let second = try authority.renew(presenting: try shown(first), request: try device.request("2"), policy: policy, now: ripe)
        let pem = try device.request("3")
        for issued in [first, second] {
            #expect(throws: CertificateAuthorityFault.renewalTooEarly(until: ripe + .seconds(60))) {
                try authority.renew(presenting: try shown(issued), request: pem, policy: policy, now: ripe + .seconds(59))
            }
        }
        _ = try authority.renew(presenting: try shown(second), request: pem, policy: policy, now: ripe + .seconds(60))
    }

    @Test("A lost answer locks nobody out, but once a successor was renewed its predecessor is superseded")
    func superseded() throws {
        let policy = RenewalPolicy(lifePercent: 0)
        let first = try enrol()
        _ = try authority.renew(presenting: try shown(first), request: try device.request("lost"), policy: policy, now: ripe)
        let second = try authority.renew(presenting: try shown(first), request: try device.request("2"), policy: policy, now: ripe + .seconds(60))
        _ = try authority.renew(presenting: try shown(second), request: try device.request("3"), policy: policy, now: ripe + .seconds(120))
        let pem = try device.request("4")
        #expect(throws: CertificateAuthorityFault.superseded(first.entry.serial)) {
            try authority.renew(presenting: try shown(first), request: pem, policy: policy, now: ripe + .seconds(180))
        }
    }

    @Test("One certificate is renewed eight times at most")
    func bounded() throws {
        let first = try enrol()
        let pem = try device.request("new")
        for number in 0..<8 { _ = try authority.renew(presenting: try shown(first), request: pem, now: ripe + .seconds(60 * number)) }
        #expect(throws: CertificateAuthorityFault.superseded(first.entry.serial)) {
            try authority.renew(presenting: try shown(first), request: pem, now: ripe + .seconds(480))
        }
    }

    @Test("A revoked, expired, foreign or server certificate is not renewed")
    func refused() throws {
        let first = try enrol()
        let pem = try device.request("new")
        let other = try enrol("other")
        let fingerprint = try #require(other.entry.keyFingerprint)
        let forged = PresentedCertificate(serial: first.entry.serial, keyFingerprint: fingerprint)
        let unknown = PresentedCertificate(serial: try #require(CertificateSerial("01")), keyFingerprint: fingerprint)
        let server = try authority.issueServer(names: [.dns("localhost")], now: testTime)
        for presented in [forged, unknown, try shown(server)] {
            #expect(throws: CertificateAuthorityFault.notPresentable) { try authority.renew(presenting: presented, request: pem, now: ripe) }
        }
        #expect(throws: CertificateAuthorityFault.notPresentable) {
            try authority.renew(presenting: try shown(first), request: pem, now: first.entry.notAfter + .seconds(1))
        }
        try authority.revoke(.label("carol"), now: ripe)
        #expect(throws: CertificateAuthorityFault.revoked(first.entry.serial)) {
            try authority.renew(presenting: try shown(first), request: pem, now: ripe)
        }
        let foreign = try device.again("carol")
        #expect(throws: CertificateAuthorityFault.keyBelongsToAnother) {
            try authority.renew(presenting: try shown(other), request: foreign, now: ripe)
        }
    }

    @Test("Revoking a label revokes what renewals made of it; a key names all its certificates")
    func revocation() throws {
        let first = try enrol()
        _ = try authority.renew(presenting: try shown(first), request: try device.again("carol"), now: ripe)
        let key = try #require(first.entry.keyFingerprint)
        #expect(try authority.revoke(.key(key), now: ripe).count == 2)
        #expect(throws: CertificateAuthorityFault.alreadyRevoked(.label("carol"))) { try authority.revoke(.label("carol"), now: ripe) }
    }

    @Test("An index from before keys were noted is read, and its keys are still known by their certificates")
    func olderIndex() throws {
        _ = try enrol()
        let path = authority.files.index
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let older = text.replacing(#/"spki":"[0-9a-f]{64}",/#, with: "").replacing(#/,"token":"[0-9a-f]{16}"/#, with: "")
        #expect(older != text)
        try older.write(toFile: path, atomically: false, encoding: .utf8)
        let secret = try authority.createEnrolmentToken(names: [.client(named: "dave")], now: testTime).secret
        let pem = try device.again("carol")
        #expect(throws: CertificateAuthorityFault.keyBelongsToAnother) { try authority.enrol(token: secret, request: pem, now: testTime) }
    }
}
