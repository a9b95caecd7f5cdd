import Foundation
import Testing

@testable import CertificateAuthority

@Suite("The development state")
struct DevelopmentStateTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func prepare(_ now: UnixTime) throws -> DevelopmentState { try .prepare(directory: folder("new/state"), now: now) }

    private func snapshot() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try contents(of: folder.path) { files[path] = FileManager.default.contents(atPath: folder(path)) ?? Data() }
        return files
    }

    @Test("From nothing come a root, an ECDSA and an RSA server certificate for this machine, alice and bob, and a list")
    func fresh() throws {
        let state = try prepare(testTime)
        let authority = try CertificateAuthority.open(directory: state.authorityDirectory)
        #expect(state.changed && state.trustStorePath == authority.certificatePath && state.revocationListPath == authority.revocationListPath)
        for (server, key) in [(state.serverECDSA, "id-ecPublicKey"), (state.serverRSA, "rsaEncryption")] {
            let text = try text(of: server.livePaths.certificate)
            #expect(text.contains("DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1\n") && text.contains(key))
            #expect(try verify(authority, server.livePaths.certificate, purpose: "sslserver", "-verify_hostname", "localhost").status == 0)
        }
        #expect(state.clients.map(\.name) == ["alice", "bob", "operator"])
        for client in state.clients {
            #expect(client.certificate.entry.names == [try .client(named: client.name)])
            #expect(try verify(authority, client.certificate.livePaths.certificate, purpose: "sslclient").status == 0)
            #expect(try fileMode(try #require(client.certificate.livePaths.key)) == 0o600)
        }
        #expect(try fileMode(folder("new/state")) == 0o700)
    }

    @Test("A second time changes not one byte")
    func idempotent() throws {
        let first = try prepare(testTime)
        let before = try snapshot()
        let second = try prepare(testTime + .days(1))
        #expect(!second.changed && second.serverECDSA == first.serverECDSA && second.clients == first.clients)
        #expect(try snapshot() == before)
        #expect(before.count > 20)
    }

    @Test("What ends within a week is renewed, at the same paths, and nothing else is")
    func renewal() throws {
        let first = try prepare(testTime)
        let day82 = testTime + .days(82)
        #expect(try prepare(day82).serverECDSA == first.serverECDSA, "eight days are left")
        let later = try prepare(testTime + .days(83))
        #expect(later.changed)
        for (old, new) in [(first.serverECDSA, later.serverECDSA), (first.serverRSA, later.serverRSA)] {
            #expect(old.entry.serial != new.entry.serial && old.livePaths == new.livePaths && new.entry.notAfter == testTime + .days(173))
        }
        #expect(later.clients == first.clients)
        let year = try prepare(testTime + .days(360))
        #expect(zip(year.clients, first.clients).allSatisfy { $0.certificate.entry.serial != $1.certificate.entry.serial })
        let authority = try CertificateAuthority.open(directory: year.authorityDirectory)
        #expect(try verify(authority, year.clients[0].certificate.livePaths.certificate, purpose: "sslclient", at: testTime + .days(360)).status == 0)
    }

    @Test("The revocation list is renewed a week before its end")
    func revocationList() throws {
        _ = try prepare(testTime)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder("new/state/ca/crl.pem")))
        #expect(try !prepare(testTime + .days(22)).changed)
        #expect(try prepare(testTime + .days(23)).changed)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder("new/state/ca/crl.pem"))) != before)
        #expect(try openssl("crl", "-noout", "-nextupdate", "-in", folder("new/state/ca/crl.pem")).output == "nextUpdate=Mar  9 12:00:00 2027 GMT\n")
    }

    @Test("A demo client that was revoked stays revoked, a server certificate is made anew")
    func revoked() throws {
        let first = try prepare(testTime)
        let authority = try CertificateAuthority.open(directory: first.authorityDirectory)
        try authority.revoke(.label("alice"), now: testTime)
        try authority.revoke(.label("localhost-rsa"), now: testTime)
        let second = try prepare(testTime)
        #expect(second.clients[0].certificate.entry.revocation != nil && second.clients[1] == first.clients[1])
        #expect(second.serverRSA.entry.revocation == nil && second.serverRSA.entry.serial != first.serverRSA.entry.serial)
        #expect(second.serverECDSA == first.serverECDSA)
    }

    @Test("Files that somebody removed come back")
    func removed() throws {
        let first = try prepare(testTime)
        try FileManager.default.removeItem(atPath: try #require(first.clients[1].certificate.paths.key))
        try FileManager.default.removeItem(atPath: first.revocationListPath)
        let second = try prepare(testTime)
        #expect(second.changed && second.clients[0] == first.clients[0] && second.clients[1] != first.clients[1])
        #expect(FileManager.default.fileExists(atPath: try #require(second.clients[1].certificate.livePaths.key)))
        #expect(FileManager.default.fileExists(atPath: second.revocationListPath))
    }

    @Test("A root within a week of its end is set aside and everything is made anew")
    func rootExpiry() throws {
        let first = try prepare(testTime)
        let late = testTime + .days(3_644)
        let second = try prepare(late)
        let authority = try CertificateAuthority.open(directory: second.authorityDirectory)
        #expect(try authority.list().count == 5 && authority.validity().notAfter == late + .days(3_650))
        #expect(FileManager.default.fileExists(atPath: folder("new/state/ca-until-\(testTime + .days(3_650))/ca-key.pem")))
        #expect(first.serverECDSA.entry.serial != second.serverECDSA.entry.serial)
        #expect(try verify(authority, second.serverECDSA.livePaths.certificate, purpose: "sslserver", at: late).status == 0)
    }
}
