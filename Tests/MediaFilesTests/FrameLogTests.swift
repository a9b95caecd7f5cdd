import Foundation
import Testing

@testable import MediaFiles

@Suite("Frame logs")
struct FrameLogTests {
    @Test("What is not a frame log is refused", arguments: ["", "segue-frames 1", "segue-frames 2\n{}\n", "segue-frames 1\n{}", "RIFF....WAVE"])
    func notALog(content: String) throws {
        let folder = try TemporaryFolder()
        try Data(content.utf8).write(to: URL(fileURLWithPath: folder("log")))
        do {
            _ = try FrameLogReader(path: folder("log"))
            Issue.record("\(content) passed for a log")
        } catch {
            #expect(error == .notFrameLog(path: folder("log")))
        }
    }

    @Test("A log cut anywhere gives its whole records, then says that it is cut")
    func truncated() throws {
        let folder = try TemporaryFolder()
        let records: [UInt8] = [0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]
        let ends = [0, 6, 10, 17]
        for cut in 0...records.count {
            let content = Data("segue-frames 1\n{}\n".utf8) + records.prefix(cut)
            try content.write(to: URL(fileURLWithPath: folder("log")))
            var reader = try FrameLogReader(path: folder("log"))
            #expect(reader.descriptionLine == "{}")
            var frames: [[UInt8]] = []
            var fault: MediaFileFault?
            do {
                while let frame = try reader.next() { frames.append(frame) }
            } catch {
                fault = error
            }
            let whole = ends.lastIndex { $0 <= cut } ?? 0
            #expect(frames == Array([[7, 8], [], [1, 2, 3]].prefix(whole)))
            #expect(fault == (ends.contains(cut) ? nil : .frameLogTruncated(path: folder("log"), frames: whole)))
        }
    }

    @Test("A record length beyond belief is refused")
    func hugeRecord() throws {
        let folder = try TemporaryFolder()
        try (Data("segue-frames 1\n{}\n".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 1]).write(to: URL(fileURLWithPath: folder("log")))
        var reader = try FrameLogReader(path: folder("log"))
        do {
            _ = try reader.next()
            Issue.record("a record of 4 GiB was read")
        } catch {
            #expect(error == .notFrameLog(path: folder("log")))
        }
    }
}
