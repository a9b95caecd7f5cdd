import Foundation
import MediaProtocol
import RelayBase
import Testing

@testable import MediaFiles

@Suite("Hostile media files")
struct HostileFileTests {
    func write(_ bytes: some Sequence<UInt8>, _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test("What is not there, empty, a folder or text is refused, and says why")
    func notMedia() throws {
        let folder = try TemporaryFolder()
        try write([], folder("empty"))
        try write(Array("It was a dark and stormy night.".utf8), folder("text.opus"))
        for path in [folder("absent"), folder("empty"), folder.path, folder("text.opus")] {
            do {
                _ = try readAll(path)
                Issue.record("\(path) was read")
            } catch {
                guard case .open(path, let reason) = error else {
                    Issue.record("\(path): \(error)")
                    continue
                }
                #expect(!reason.isEmpty && error.description.contains(path))
            }
        }
    }

    @Test("A playlist does not make other files open", arguments: ["m3u8", "ffconcat"])
    func playlist(kind: String) throws {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: Fixtures.path("clip.mp4"), toPath: folder("inner.mp4"))
        let list =
            kind == "m3u8"
            ? "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\ninner.mp4\n#EXT-X-ENDLIST\n" : "ffconcat version 1.0\nfile inner.mp4\n"
        try write(Array(list.utf8), folder("list.\(kind)"))
        try #expect(readAll(folder("inner.mp4")).count > 100)
        #expect(throws: MediaFileFault.self) { _ = try readAll(folder("list.\(kind)")) }
    }

    @Test("An MP4 that is cut off is told from one that ends")
    func truncatedMP4() throws {
        let folder = try TemporaryFolder()
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: Fixtures.path("clip.mp4"))))
        let complete = try readAll(Fixtures.path("clip.mp4")).count
        for tenths in 1...9 {
            let path = folder("cut\(tenths).mp4")
            try write(whole.prefix(whole.count * tenths / 10), path)
            var packets = 0
            do {
                var reader = try MediaFileReader(path: path)
                while try reader.next() != nil { packets += 1 }
                Issue.record("\(tenths) tenths of a file passed for the whole")
            } catch {
                switch error {
                case .corruptPacket(path, _), .truncated(path, _, _, _), .open(path, _), .read(path, _): break
                default: Issue.record("\(error)")
                }
            }
            #expect(packets < complete)
        }
    }

    @Test("An Ogg or a Matroska file that is cut off gives the whole packets before the cut", arguments: ["speech.opus", "vp8.webm"])
    func truncatedStreamable(file: String) throws {
        let folder = try TemporaryFolder()
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: Fixtures.path(file))))
        let complete = try readAll(Fixtures.path(file)).map(\.payload)
        for tenths in 5...9 {
            let path = folder("cut\(tenths)")
            try write(whole.prefix(whole.count * tenths / 10), path)
            var reader = try MediaFileReader(path: path)
            var read: [[UInt8]] = []
            do {
                while let sample = try reader.next() { read.append(sample.payload) }
            } catch {
                switch error {
                case .corruptPacket, .read: break
                default: Issue.record("\(error)")
                }
            }
            #expect(!read.isEmpty && read.count < complete.count)
            #expect(complete.starts(with: read))
        }
    }

    @Test(
        "Flipped bytes give packets or a typed fault, never a crash or an endless file",
        arguments: ["speech.opus", "clip.mp4", "vp8.webm", "clip.h264"])
    func flipped(file: String) throws {
        let folder = try TemporaryFolder()
        let whole = try Array(Data(contentsOf: URL(fileURLWithPath: Fixtures.path(file))))
        var generator = SeededGenerator(seed: UInt64(file.utf8.count))
        var faults = 0
        for round in 0..<40 {
            var bytes = whole
            // Half of the rounds hit the head, where the structure is.
            let reach = round % 2 == 0 ? min(bytes.count, 2_000) : bytes.count
            for _ in 0..<1 + round { bytes[Int(generator.next() % UInt64(reach))] = UInt8(truncatingIfNeeded: generator.next()) }
            let path = folder("flipped")
            try write(bytes, path)
            guard var reader = try? MediaFileReader(path: path) else {
                faults += 1
                continue
            }
            var calls = 0
            var done = false
            while !done, calls < 20_000 {
                calls += 1
                do {
                    done = try reader.next() == nil
                } catch {
                    faults += 1
                    if case .read = error { done = true }
                    if case .truncated = error { done = true }
                }
            }
            #expect(done)
        }
        #expect(faults > 0 || file == "clip.h264")
    }

    @Test(
        "RFC 6716 §3.1 a packet's length in samples, or none for a packet that breaks §3.4",
        arguments: [
            ([0x80 | 0 << 3], 120), ([0x78 | 0], 960), ([0x78 | 1, 1, 2], 1_920), ([0x08], 960), ([0x18 | 0], 2_880), ([], nil),
            ([0x1B | 3, 3], nil),
            ([0x1B | 3], nil),
        ] as [([UInt8], UInt32?)])
    func opusPackets(packet: [UInt8], samples: UInt32?) {
        #expect(unsafe OpusPacket.sampleCount(packet.span.bytes) == samples)
    }
}
