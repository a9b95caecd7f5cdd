import Foundation
import Testing

@testable import CertificateAuthority

@Suite("Several at once")
struct ConcurrencyTests {
    @Test("Threads that issue and revoke at once lose nothing")
    func threads() async throws {
        let folder = try TemporaryFolder()
        let authority = try folder.authority()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for number in 0..<6 {
                        try authority.issueClient(name: "client-\(worker)-\(number)", now: testTime)
                        if number.isMultiple(of: 2) { try authority.revoke(.label("client-\(worker)-\(number)"), now: testTime) }
                    }
                }
            }
            try await group.waitForAll()
        }
        try check(authority, issued: 24, revoked: 12)
    }

    @Test("Processes that issue and revoke at once lose nothing")
    func processes() async throws {
        let folder = try TemporaryFolder()
        let authority = try folder.authority()
        let directory = authority.directory
        async let first = #expect(processExitsWith: .success) { [directory = directory as String] in try issueAndRevoke(directory, prefix: "first") }
        async let second = #expect(processExitsWith: .success) { [directory = directory as String] in try issueAndRevoke(directory, prefix: "second")
        }
        _ = await (first, second)
        try check(authority, issued: 24, revoked: 12)
    }

    @Test("Two first starts of the relay at once end up with one and the same authority")
    func bootstrap() async throws {
        let folder = try TemporaryFolder()
        let states = try await withThrowingTaskGroup(of: DevelopmentState.self) { group in
            for _ in 0..<3 { group.addTask { try DevelopmentState.prepare(directory: folder("state"), now: testTime) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(states.filter(\.changed).count == 1)
        #expect(Set(states.map(\.serverECDSA.entry.serial)).count == 1)
        #expect(try CertificateAuthority.open(directory: states[0].authorityDirectory).list().count == 5)
    }

    @Test("A lock that another holds to the end of the wait is a fault of its own")
    func lockTimeout() throws {
        let folder = try TemporaryFolder()
        let held = try FileLock(path: folder("lock"))
        #expect(throws: CertificateAuthorityFault.lockTimeout(path: folder("lock"))) { try FileLock(path: folder("lock"), timeout: .zero).release() }
        held.release()
        // A process that another test starts has the lock's descriptor too, from its fork to its exec.
        try FileLock(path: folder("lock"), timeout: .seconds(10)).release()
    }

    private func check(_ authority: CertificateAuthority, issued: Int, revoked: Int) throws {
        let entries = try authority.list()
        #expect(entries.count == issued && Set(entries.map(\.serial)).count == issued)
        #expect(entries.filter { $0.revocation != nil }.count == revoked)
        let list = try PEM.read(RevocationListObject.self, path: authority.revocationListPath)
        #expect(list.number() == UInt64(1 + revoked))
        for entry in entries {
            #expect(try list.names(entry.serial) == (entry.revocation != nil))
            #expect(FileManager.default.fileExists(atPath: try authority.find(.label(entry.label)).livePaths.certificate))
        }
        #expect(try contents(of: authority.directory).allSatisfy { !$0.contains(".new") && !$0.contains("/.") })
    }
}

private func issueAndRevoke(_ directory: String, prefix: String) throws {
    let authority = try CertificateAuthority.open(directory: directory)
    for number in 0..<12 {
        try authority.issueClient(name: "\(prefix)-\(number)", now: testTime)
        if number.isMultiple(of: 2) { try authority.revoke(.label("\(prefix)-\(number)"), now: testTime) }
    }
}
