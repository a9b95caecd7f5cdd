import Foundation
import Reactor
import Testing

@Suite struct FileWatcherTests {
    private let folder: URL

    init() throws {
        folder = URL(fileURLWithPath: NSTemporaryDirectory()).appending(path: "segue-watch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func write(_ name: String) throws {
        try Data("x".utf8).write(to: folder.appending(path: name))
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path() }

    @Test("a file that is written, or replaced by renaming, is told once it is whole, and once")
    func changes() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try write("list.pem")
        try write("list.new")
        let watcher = try FileWatcher()
        watcher.watch(folderOf: path("list.pem"))
        watcher.watch(folderOf: path("other.pem"))
        #expect(!watcher.drain())
        try write("list.pem")
        #expect(watcher.drain())
        #expect(!watcher.drain())
        #expect(unsafe rename(path("list.new"), path("list.pem")) == 0)
        #expect(watcher.drain())
        _ = try Data(contentsOf: folder.appending(path: "list.pem"))
        #expect(!watcher.drain(), "reading is no change")
        let handle = try FileHandle(forWritingTo: folder.appending(path: "list.pem"))
        try handle.write(contentsOf: Data("half".utf8))
        #expect(!watcher.drain(), "its writer is not done with it")
        try handle.close()
        #expect(watcher.drain())
    }

    @Test("a folder that is not there is no fault")
    func missing() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let watcher = try FileWatcher()
        watcher.watch(folderOf: path("nowhere/list.pem"))
        watcher.watch(folderOf: "list.pem")
        watcher.watch(folderOf: "/list.pem")
        watcher.watch(folderOf: "")
        #expect(watcher.descriptor.number >= 0)
    }
}
