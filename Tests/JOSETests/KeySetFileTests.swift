import Foundation
import JOSE
import Testing

@Suite("A key set's file")
struct KeySetFileTests {
    @Test("a file is read; what is no file, or no key set, is refused with its path")
    func read() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-jwks-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/jwks.json"
        let key = try SigningKey.ephemeral()
        try Data(key.publicSet).write(to: URL(filePath: path))
        #expect(try JSONWebKeySet.read(path: path).keys.map(\.thumbprint) == [key.keyID])

        func fault(_ path: String) -> JSONWebKeySetFileFault? {
            do throws(JSONWebKeySetFileFault) {
                _ = try JSONWebKeySet.read(path: path)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault(folder)?.reason == .notAFile)
        #expect(fault(path + "\0")?.reason == .system(operation: "open", code: EINVAL))
        #expect(fault(path + ".none")?.reason == .system(operation: "open", code: ENOENT))
        #expect(fault(path + ".none")?.description.contains("jwks.json.none") == true)
        try Data("{}".utf8).write(to: URL(filePath: path))
        #expect(fault(path)?.reason == .content(.notAKeySet))
        try Data(repeating: 0x20, count: (256 << 10) + 5).write(to: URL(filePath: path))
        #expect(fault(path)?.reason == .content(.tooLarge(bytesMax: 256 << 10)))
        #expect(unsafe mkfifo(path + ".fifo", 0o600) == 0)
        #expect(fault(path + ".fifo")?.reason == .notAFile)
    }
}
