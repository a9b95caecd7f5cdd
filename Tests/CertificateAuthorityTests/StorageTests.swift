import Foundation
import Testing

@testable import CertificateAuthority

@Suite("What lies on the disk")
struct StorageTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("Folders are 0700, keys and records 0600, certificates and lists 0644, and nothing temporary remains")
    func modes() throws {
        let authority = try folder.authority()
        let alice = try authority.issueClient(name: "alice", now: testTime)
        try authority.exportPKCS12(.label("alice"), password: "secret")
        let serial = alice.entry.serial.description
        let expected: [String: Int] = [
            "ca-key.pem": 0o600, "ca.pem": 0o644, "crl.pem": 0o644, "index.jsonl": 0o600, "settings.json": 0o600, "lock": 0o600, "issued": 0o700,
            "live": 0o700,
            "issued/\(serial)": 0o700, "issued/\(serial)/certificate.pem": 0o644, "issued/\(serial)/key.pem": 0o600,
            "issued/\(serial)/bundle.p12": 0o600,
        ]
        #expect(try fileMode(authority.directory) == 0o700)
        for (path, mode) in expected { #expect(try fileMode(authority.directory + "/" + path) == mode, "\(path)") }
        #expect(try Set(contents(of: authority.directory)) == Set(expected.keys).union(["live/alice"]))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: authority.directory + "/live/alice") == "../issued/\(serial)")
    }

    @Test("Creating over an authority is refused and changes nothing")
    func twice() throws {
        let authority = try folder.authority()
        try authority.issueClient(name: "alice", now: testTime)
        let key = try Data(contentsOf: URL(fileURLWithPath: authority.files.key))
        #expect(throws: CertificateAuthorityFault.alreadyExists(path: authority.directory)) { try folder.authority() }
        try FileManager.default.removeItem(atPath: authority.certificatePath)
        #expect(throws: CertificateAuthorityFault.alreadyExists(path: authority.directory)) { try folder.authority() }
        #expect(throws: CertificateAuthorityFault.noAuthority(path: authority.directory)) {
            try CertificateAuthority.open(directory: authority.directory)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: authority.files.key)) == key)
    }

    @Test("A creation that was cut short before its last file can be repeated")
    func cutShort() throws {
        let authority = try folder.authority()
        for name in ["ca.pem", "crl.pem", "index.jsonl"] {
            try FileManager.default.removeItem(atPath: authority.directory + "/" + name)
            #expect(throws: CertificateAuthorityFault.noAuthority(path: authority.directory)) {
                try CertificateAuthority.open(directory: authority.directory)
            }
        }
        let again = try folder.authority()
        #expect(try verify(again, try again.issueClient(name: "alice", now: testTime).paths.certificate, purpose: "sslclient").status == 0)
    }

    @Test("A folder that others may write to, and a key that others may read, are refused")
    func exposed() throws {
        let shared = folder("shared")
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: shared)
        #expect(throws: CertificateAuthorityFault.folderExposed(path: shared, mode: 0o770)) {
            try CertificateAuthority.create(directory: shared, commonName: "Test CA", now: testTime)
        }
        let authority = try folder.authority()
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: authority.files.key)
        #expect(throws: CertificateAuthorityFault.keyFileExposed(path: authority.files.key, mode: 0o640)) {
            try CertificateAuthority.open(directory: authority.directory)
        }
        #expect(throws: CertificateAuthorityFault.keyFileExposed(path: authority.files.key, mode: 0o640)) {
            try authority.issueClient(name: "alice", now: testTime)
        }
    }

    @Test("A key that is not the certificate's, an encrypted one, and broken files are told apart")
    func brokenFiles() throws {
        let authority = try folder.authority()
        try PEM.write(try KeyAlgorithm.ecdsaP256.generate(), to: authority.files.key, mode: Files.secretMode)
        #expect(throws: CertificateAuthorityFault.keyMismatch(path: authority.files.key)) {
            try CertificateAuthority.open(directory: authority.directory)
        }
        try openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:secret", "-out", authority.files.key)
        #expect(throws: CertificateAuthorityFault.malformedPEM(path: authority.files.key)) {
            try CertificateAuthority.open(directory: authority.directory)
        }
        try Files.write("{", to: authority.files.settings, mode: Files.secretMode)
        #expect(throws: CertificateAuthorityFault.settingsCorrupt(path: authority.files.settings)) { try authority.settings() }
        try Files.write(String(repeating: "x", count: 65_537), to: authority.certificatePath, mode: Files.publicMode)
        #expect(throws: CertificateAuthorityFault.fileTooLarge(path: authority.certificatePath, bytesMax: 65_536)) { try authority.validity() }
        try Files.write("", to: authority.certificatePath, mode: Files.publicMode)
        #expect(throws: CertificateAuthorityFault.malformedPEM(path: authority.certificatePath)) { try authority.validity() }
    }

    @Test("System faults name the call, the path and the reason")
    func systemFaults() throws {
        #expect(throws: CertificateAuthorityFault.system(operation: "mkdir", path: "/proc/segue", code: ENOENT)) {
            try CertificateAuthority.create(directory: "/proc/segue/ca", commonName: "Test CA", now: testTime)
        }
        let fault = CertificateAuthorityFault.system(operation: "open", path: "/x", code: ENOENT)
        #expect(fault.description == "open /x: No such file or directory")
        #expect(throws: CertificateAuthorityFault.self) {
            try CertificateAuthority.create(directory: folder("a\0b"), commonName: "Test CA", now: testTime)
        }
        #expect(try contents(of: folder.path).isEmpty)
    }

    @Test("A crash before the index knows a certificate leaves nothing; one after it is completed by the next change")
    func recovery() throws {
        let authority = try folder.authority()
        let files = authority.files
        let alice = try authority.issueClient(name: "alice", now: testTime)
        let manager = FileManager.default
        // As if the crash came between index and move.
        try manager.moveItem(atPath: files.issued(alice.entry.serial), toPath: files.staged(alice.entry.serial))
        try manager.removeItem(atPath: files.live("alice"))
        // As if another came before its index was written, in the middle of a file.
        let unknown = try #require(CertificateSerial("4a0b"))
        try manager.createDirectory(atPath: files.staged(unknown), withIntermediateDirectories: false)
        try Files.write("half", to: files.staged(unknown) + "/.key.pem.new", mode: Files.secretMode)
        _ = try CertificateAuthority.open(directory: authority.directory)
        #expect(try manager.contentsOfDirectory(atPath: files.issued) == [alice.entry.serial.description])
        #expect(manager.fileExists(atPath: alice.livePaths.certificate))
        // As if the crash came between move and link.
        let renewed = try authority.renew(.label("alice"), now: testTime)
        try Files.link(files.live("alice"), to: files.liveTarget(alice.entry.serial))
        _ = try CertificateAuthority.open(directory: authority.directory)
        #expect(Files.linkTarget(files.live("alice")) == files.liveTarget(renewed.entry.serial))
    }

    @Test("PKCS#12: AES-256 under PBKDF2 with SHA-256, with the root, opened by its password only")
    func bundle() throws {
        let authority = try folder.authority()
        try authority.issueClient(name: "alice", now: testTime)
        let path = try authority.exportPKCS12(.label("alice"), password: "pä ss", to: folder("alice.p12"))
        let result = try openssl("pkcs12", "-info", "-in", path, "-passin", "pass:pä ss", "-nodes")
        #expect(result.status == 0, "\(result.output)")
        for expected in [
            "MAC: sha256, Iteration 100000", "PBES2, PBKDF2, AES-256-CBC, Iteration 100000, PRF hmacWithSHA256", "friendlyName: alice",
            "-----BEGIN PRIVATE KEY-----", "subject=CN = alice", "subject=CN = Test CA",
        ] {
            #expect(result.output.contains(expected), "\(expected) not in \(result.output)")
        }
        #expect(try openssl("pkcs12", "-in", path, "-passin", "pass:wrong", "-nodes").status != 0)
        #expect(try fileMode(path) == 0o600)
        for password in ["", String(repeating: "x", count: 257)] {
            #expect(throws: CertificateAuthorityFault.passwordLength(bytesMin: 1, bytesMax: 256)) {
                try authority.exportPKCS12(.label("alice"), password: password)
            }
        }
        #expect(throws: CertificateAuthorityFault.passwordHasNUL) { try authority.exportPKCS12(.label("alice"), password: "a\0b") }
        #expect(throws: CertificateAuthorityFault.notFound(.label("bob"))) { try authority.exportPKCS12(.label("bob"), password: "x") }
    }

    @Test("A label in use is refused until its certificate has expired")
    func labelInUse() throws {
        let authority = try folder.authority()
        try authority.issueClient(name: "alice", validity: .days(1), now: testTime)
        #expect(throws: CertificateAuthorityFault.labelInUse("alice")) { try authority.issueClient(name: "alice", now: testTime) }
        #expect(throws: CertificateAuthorityFault.labelInUse("alice")) {
            try authority.issueServer(names: [try .dns("a.example")], label: "alice", now: testTime)
        }
        try authority.issueClient(name: "alice", label: "alice-phone", now: testTime)
        try authority.issueClient(name: "alice", now: testTime + .days(2))
        #expect(try authority.list().map(\.label) == ["alice", "alice-phone", "alice"])
    }
}
