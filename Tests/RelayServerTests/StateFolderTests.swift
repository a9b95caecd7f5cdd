import Foundation
import Glibc
import Testing

@testable import RelayServer

@Suite("The state folder")
struct StateFolderTests {
    private static func folder(_ mode: Int = 0o700) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "segue-state-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        return path
    }

    @Test("one holder at a time, and the next when it has gone")
    func lock() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(!StateLock.isHeld(folder: folder))
        var lock: StateLock? = try StateLock(folder: folder)
        #expect(lock != nil && StateLock.isHeld(folder: folder))
        let fault = #expect(throws: StateFault.self) { try StateLock(folder: folder) }
        #expect(fault?.description == "\(folder): is in use by another relay; each needs a state folder of its own")
        lock = nil
        #expect(!StateLock.isHeld(folder: folder))
        lock = try StateLock(folder: folder)
        #expect(StateLock.isHeld(folder: folder))
        lock = nil
    }

    @Test("a link in the lock's place is not followed")
    func link() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createSymbolicLink(atPath: folder + "/lock", withDestinationPath: folder + "/elsewhere")
        #expect(throws: StateFault.self) { try StateLock(folder: folder) }
        #expect(!FileManager.default.fileExists(atPath: folder + "/elsewhere"))
    }

    @Test("a look makes nothing, and tells what a start would")
    func inspection() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try StateInspection.of(folder) == .ready)
        #expect(try StateInspection.of(folder + "/new") == .willBeMade)
        #expect(try StateInspection.of(folder + "/new/") == .willBeMade)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(throws: StateFault.self) { try StateInspection.of(folder + "/missing/new") }
        try Data().write(to: URL(filePath: folder + "/file"))
        #expect(throws: StateFault.self) { try StateInspection.of(folder + "/file") }
        let lock = try StateLock(folder: folder)
        #expect(try StateInspection.of(folder) == .inUse)
        withExtendedLifetime(lock) {}
        try Data("{".utf8).write(to: URL(filePath: folder + "/grants.json"))
        #expect(throws: StateFault.self) { try StateInspection.of(folder) }
        try FileManager.default.removeItem(atPath: folder + "/grants.json")
        try Data("no key".utf8).write(to: URL(filePath: folder + "/signing-key.pem"))
        #expect(throws: StateFault.self) { try StateInspection.of(folder) }
        try FileManager.default.removeItem(atPath: folder + "/signing-key.pem")
        #expect(unsafe chmod(folder, 0o770) == 0)
        #expect(throws: StateFault.self) { try StateInspection.of(folder) }
    }
}
