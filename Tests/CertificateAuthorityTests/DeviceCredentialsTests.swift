import Foundation
import Testing

@testable import CertificateAuthority

@Suite("A device's key and certificate")
struct DeviceCredentialsTests {
    let folder: TemporaryFolder
    let authority: CertificateAuthority
    let credentials: DeviceCredentials

    init() throws {
        folder = try TemporaryFolder()
        authority = try folder.authority()
        credentials = DeviceCredentials(certificatePath: folder("device/certificate.pem"), keyPath: folder("device/key.pem"))
    }

    private func enrol(_ request: String) throws -> String {
        let secret = try authority.createEnrolmentToken(names: [.client(named: "carol")], now: testTime).secret
        return try authority.bundle(try authority.enrol(token: secret, request: Array(request.utf8), now: testTime)).certificate
    }

    @Test("openssl takes the request, which names nobody; the key is its owner's alone", arguments: KeyAlgorithm.allCases)
    func request(algorithm: KeyAlgorithm) throws {
        let path = folder("request.pem")
        try credentials.requestWithNewKey(algorithm).write(toFile: path, atomically: false, encoding: .utf8)
        let result = try openssl("req", "-in", path, "-verify", "-noout", "-subject")
        #expect(result.status == 0 && result.output.contains("subject=\n"), "\(result.output)")
        #expect(try fileMode(credentials.keyPath + ".new") == 0o600 && !credentials.exist)
        credentials.discardNewKey()
        #expect(try contents(of: folder("device")).isEmpty)
    }

    @Test("Key and certificate come into force together, and are each other's")
    func installs() throws {
        let installed = try credentials.install(certificate: try enrol(try credentials.requestWithNewKey()), keyIsNew: true)
        #expect(installed.names == [try .client(named: "carol")] && installed.notAfter == testTime + .days(365))
        #expect(try contents(of: folder("device")) == ["certificate.pem", "key.pem"] && fileMode(credentials.keyPath) == 0o600)
        let keys = try [
            openssl("x509", "-noout", "-pubkey", "-in", credentials.certificatePath).output,
            openssl("pkey", "-pubout", "-in", credentials.keyPath).output,
        ]
        #expect(keys[0] == keys[1])
    }

    @Test("A certificate for another key, or none at all, changes nothing")
    func mismatch() throws {
        _ = try credentials.install(certificate: try enrol(try credentials.requestWithNewKey()), keyIsNew: true)
        let before = try Data(contentsOf: URL(fileURLWithPath: credentials.certificatePath))
        let foreign = try authority.bundle(try authority.issueClient(name: "dave", now: testTime)).certificate
        _ = try credentials.requestWithNewKey()
        for keyIsNew in [true, false] {
            #expect(throws: CertificateAuthorityFault.self) { try credentials.install(certificate: foreign, keyIsNew: keyIsNew) }
            #expect(throws: CertificateAuthorityFault.self) { try credentials.install(certificate: "nonsense", keyIsNew: keyIsNew) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: credentials.certificatePath)) == before)
    }

    @Test("A crash between the two moves is mended, also when the certificate is for a key that never came")
    func recovery() throws {
        _ = try credentials.install(certificate: try enrol(try credentials.requestWithNewKey()), keyIsNew: true)
        let next = try enrol(try credentials.requestWithNewKey())
        try next.write(toFile: credentials.certificatePath + ".new", atomically: false, encoding: .utf8)
        try credentials.recover()
        #expect(!FileManager.default.fileExists(atPath: credentials.certificatePath + ".new"), "the key in force is the old one")
        try next.write(toFile: credentials.certificatePath + ".new", atomically: false, encoding: .utf8)
        try Files.move(credentials.keyPath + ".new", to: credentials.keyPath)
        try credentials.recover()
        #expect(try String(contentsOfFile: credentials.certificatePath, encoding: .utf8) == next)
    }
}
