import Foundation
import MediaProtocol
import RelayBase
import Testing

@testable import MediaFiles

/// Encodes a frame as a publisher would.
func encode(_ header: MediaHeader, _ sample: MediaSample) throws(MediaFault) -> [UInt8] {
    var header = header
    var extensions = ExtensionWriter()
    if let offset = sample.compositionOffset { try extensions.append(compositionOffset: offset) }
    if !extensions.isEmpty { header.flags.insert(.extensionPresent) }
    var queue = ByteQueue()
    unsafe header.write(into: queue.reserve(MediaHeader.byteCount))
    queue.commit(MediaHeader.byteCount)
    extensions.write(to: &queue)
    queue.append(sample.payload)
    return unsafe Array(queue.readable)
}

/// A stream of a file as frames: what a publisher sends. Timestamps start just before they wrap.
struct PublishedFrames {
    var stream: MediaFileStream
    var samples: [MediaSample]
    var frames: [[UInt8]] = []

    init(_ path: String, stream place: Int = 0, clock: Int64 = Int64(UInt32.max) - 10_000) throws {
        var reader = try MediaFileReader(path: path)
        let stream = reader.streams[place]
        self.stream = stream
        samples = try readAll(&reader).filter { $0.streamIndex == stream.index }
        for (number, sample) in samples.enumerated() {
            var flags: MediaFlags = sample.isKey ? .key : []
            if sample.isDiscardable { flags.insert(.discardable) }
            let header = MediaHeader(
                kind: stream.description.kind, flags: flags, stream: StreamID(9), sequence: UInt32(number),
                timestamp: UInt32(truncatingIfNeeded: clock + sample.decodeTimestamp))
            frames.append(try encode(header, sample))
        }
    }
}

extension RecordedStreamWriter {
    mutating func append(_ frame: [UInt8]) throws(MediaFileFault) {
        try append(unsafe frame.span.bytes)
    }
}

func readLog(_ path: String) throws(MediaFileFault) -> [[UInt8]] {
    var reader = try FrameLogReader(path: path)
    var frames: [[UInt8]] = []
    while let frame = try reader.next() { frames.append(frame) }
    return frames
}

@Suite("Recording streams")
struct RecordedStreamWriterTests {
    struct Source: CustomTestStringConvertible {
        var file: String
        var place = 0
        var recorded: String

        var testDescription: String { "\(file) stream \(place)" }
    }

    static let sources: [Source] = [
        Source(file: "speech.opus", recorded: "opus"), Source(file: "short.opus", recorded: "opus"), Source(file: "clip.mp4", recorded: "mkv"),
        Source(file: "clip.mp4", place: 1, recorded: "mkv"), Source(file: "vp8.webm", recorded: "mkv"),
        Source(file: "vp8.webm", place: 1, recorded: "opus"), Source(file: "vp9.webm", recorded: "mkv"), Source(file: "hevc.mp4", recorded: "mkv"),
        Source(file: "av1.mp4", recorded: "mkv"), Source(file: "tone.wav", recorded: "mkv"), Source(file: "mulaw.wav", recorded: "mkv"),
    ]

    @Test("The log has every frame byte for byte; the playable file has every packet, as ffprobe reads it", arguments: sources)
    func roundTrip(source: Source) throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path(source.file), stream: source.place)
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "ada", stream: StreamID(9), description: published.stream.description,
            configuration: published.stream.configuration)
        for frame in published.frames { try writer.append(frame) }
        try writer.finish()
        #expect(writer.framesPath == folder("ada-9.segue"))
        #expect(writer.playablePaths == [folder("ada-9.\(source.recorded)")])
        #expect(writer.playableProblem == nil)
        #expect(writer.framesWritten == published.frames.count && writer.playableFramesWritten == published.frames.count)
        try #expect(readLog(writer.framesPath) == published.frames)
        let probed = try ProbedPacket.all(in: folder("ada-9.\(source.recorded)"))
        #expect(probed.map(\.hash) == published.samples.map { crc32($0.payload) })
        #expect(probed.map(\.isKey) == published.samples.map(\.isKey))

        let back = try readAll(folder("ada-9.\(source.recorded)"))
        #expect(back.map(\.payload) == published.samples.map(\.payload))
        let shift = back[0].presentationNanoseconds - published.samples[0].presentationNanoseconds
        for (copy, original) in zip(back, published.samples) {
            // Matroska counts milliseconds.
            #expect(abs(copy.presentationNanoseconds - original.presentationNanoseconds - shift) <= 1_000_000)
        }
    }

    @Test("Every picture of the playable file decodes", arguments: [("clip.mp4", 60), ("clip.h264", 60), ("vp8.webm", 60)])
    func decodes(file: String, pictures: Int) throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path(file))
        // Without a configuration: Annex B carries its own; VP8 needs none.
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description,
            configuration: file == "clip.mp4" ? published.stream.configuration : [])
        for frame in published.frames { try writer.append(frame) }
        try writer.finish()
        #expect(writer.playableProblem == nil)
        let counted = try Tools.run(
            "ffprobe", ["-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", folder("p-1.mkv")])
        #expect(String(decoding: counted, as: UTF8.self).hasPrefix("\(pictures)"))
    }

    @Test("Opus without a configuration gets a header, and all of it plays")
    func opusWithoutConfiguration() throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path("speech.opus"))
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description)
        for frame in published.frames { try writer.append(frame) }
        try writer.finish()
        let sound = try Tools.run("ffmpeg", ["-v", "error", "-i", folder("p-1.opus"), "-f", "s16le", "-ac", "1", "-ar", "48000", "-"])
        #expect(abs(sound.count / 2 - (published.samples.count * 960 - 312)) <= 960)
    }

    @Test(
        "Stopped at any moment without an end, both files are good up to the last second",
        arguments: [
            Source(file: "speech.opus", recorded: "opus"), Source(file: "clip.mp4", recorded: "mkv"), Source(file: "tone.wav", recorded: "mkv"),
        ])
    func killed(source: Source) throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path(source.file))
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description,
            configuration: published.stream.configuration)
        for frame in published.frames.dropLast() { try writer.append(frame) }
        // What is in the files now is what a killed process leaves behind.
        for name in ["p-1.segue", "p-1.\(source.recorded)"] {
            try FileManager.default.copyItem(atPath: folder(name), toPath: folder("killed." + name))
        }
        let total = published.samples.reduce(0) { $0 + Int64($1.duration) }
        let lost = { (frames: Int) in total - published.samples.prefix(frames).reduce(0) { $0 + Int64($1.duration) } }
        let second = Int64(published.stream.description.timescale.ticksPerSecond)
        var log = try FrameLogReader(path: folder("killed.p-1.segue"))
        var frames: [[UInt8]] = []
        while let frame = (try? log.next()) ?? nil { frames.append(frame) }
        #expect(published.frames.starts(with: frames) && lost(frames.count) <= second + second / 10)
        let packets = try ProbedPacket.all(in: folder("killed.p-1.\(source.recorded)"))
        #expect(published.samples.map { crc32($0.payload) }.starts(with: packets.map(\.hash)) && lost(packets.count) <= second + second / 10)
        // An explicit flush brings out the rest.
        try writer.flush()
        try #expect(readLog(folder("p-1.segue")).count == published.frames.count - 1)
        let keptBack = source.recorded == "mkv" && published.stream.description.kind == .audio ? 1 : 0
        try #expect(ProbedPacket.all(in: folder("p-1.\(source.recorded)")).count == published.frames.count - 1 - keptBack)
        try writer.finish()
    }

    @Test("A changed configuration begins a second playable file at the next key frame; a repeated one does not")
    func configurationChange() throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path("clip.mp4"))
        let cookie = published.stream.configuration
        func configuration(_ bytes: [UInt8]) throws -> [UInt8] {
            let header = MediaHeader(kind: .configuration, stream: StreamID(9), sequence: 0, timestamp: 0)
            var sample = published.samples[0]
            sample.payload = bytes
            sample.presentationTimestamp = sample.decodeTimestamp
            return try encode(header, sample)
        }
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description)
        try writer.append(configuration(cookie))
        for frame in published.frames.prefix(20) { try writer.append(frame) }
        try writer.append(configuration(cookie))
        for frame in published.frames[20..<25] { try writer.append(frame) }
        var other = cookie
        other[2] ^= 0x40
        try writer.append(configuration(other))
        for frame in published.frames[25...] { try writer.append(frame) }
        try writer.finish()
        #expect(writer.playablePaths == [folder("p-1.mkv"), folder("p-1.2.mkv")])
        #expect(writer.playableProblem == nil)
        #expect(writer.framesWritten == 63)
        try #expect(ProbedPacket.all(in: folder("p-1.mkv")).map(\.hash) == published.samples[0..<25].map { crc32($0.payload) })
        try #expect(ProbedPacket.all(in: folder("p-1.2.mkv")).map(\.hash) == published.samples[30...].map { crc32($0.payload) })
    }

    @Test("What cannot be played is still logged, and the reason is told")
    func unplayable() throws {
        let folder = try TemporaryFolder()
        var published = try PublishedFrames(Fixtures.path("speech.opus"))
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description)
        for index in published.frames.indices { published.frames[index][1] |= MediaFlags.encrypted.rawValue }
        for frame in published.frames { try writer.append(frame) }
        try writer.finish()
        #expect(writer.playablePaths.isEmpty && writer.playableProblem == "encrypted frames cannot be played")
        try #expect(readLog(folder("p-1.segue")) == published.frames)

        let h264 = try PublishedFrames(Fixtures.path("clip.mp4"))
        var noKey = try RecordedStreamWriter(directory: folder.path, participant: "p", stream: StreamID(2), description: h264.stream.description)
        for frame in h264.frames[1..<20] { try noKey.append(frame) }
        try noKey.finish()
        #expect(noKey.playablePaths.isEmpty && noKey.framesWritten == 19)

        var data = try RecordedStreamWriter(directory: folder.path, participant: "p", stream: StreamID(3), description: .data)
        let header = MediaHeader(kind: .data, stream: StreamID(3), sequence: 0, timestamp: 0)
        try data.append(encode(header, h264.samples[0]))
        try data.finish()
        #expect(data.playablePaths.isEmpty && data.framesWritten == 1)
    }

    @Test("A frame that is malformed or of another kind is refused and leaves no trace")
    func refused() throws {
        let folder = try TemporaryFolder()
        let published = try PublishedFrames(Fixtures.path("speech.opus"))
        var writer = try RecordedStreamWriter(
            directory: folder.path, participant: "p", stream: StreamID(1), description: published.stream.description)
        var video = published.frames[0]
        video[0] = 0x11
        for (frame, fault) in [([1, 2, 3], MediaFileFault.malformedFrame(.headerTruncated)), (video, .unexpectedKind(.video))]
            as [([UInt8], MediaFileFault)]
        {
            do {
                try writer.append(frame)
                Issue.record("\(frame.prefix(16)) was recorded")
            } catch {
                #expect(error == fault)
            }
        }
        try writer.finish()
        try #expect(readLog(folder("p-1.segue")).isEmpty)
    }

    @Test(
        "Names from peers stay inside the folder, and no recording overwrites another",
        arguments: [
            ("ada", "ada"), ("../../etc/passwd", "_._.._etc_passwd"), ("", "_"), (".hidden", "_hidden"), ("a b/c", "a_b_c"), ("Zoë\n", "Zo__"),
            (String(repeating: "x", count: 300), String(repeating: "x", count: 64)),
        ])
    func names(participant: String, name: String) throws {
        #expect(StreamLabel.fileName(participant) == name)
        let folder = try TemporaryFolder()
        for suffix in ["", "-2", "-3"] {
            let writer = try RecordedStreamWriter(
                directory: folder.path, participant: participant, stream: StreamID(4_000_000_000), description: .data)
            #expect(writer.framesPath == folder("\(name)-4000000000\(suffix).segue"))
        }
    }

    @Test("The log's description is a line of JSON, whatever the peer is called", arguments: ["ada", "\"\\\n\u{1}\u{7F}é漢🎙", "</script>"])
    func description(participant: String) throws {
        let folder = try TemporaryFolder()
        let description = StreamDescription.video(
            VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 640, height: 360, frameRate: 29.97))
        let writer = try RecordedStreamWriter(
            directory: folder.path, participant: participant, stream: StreamID(5), description: description, configuration: [0, 0xAB])
        let reader = try FrameLogReader(path: writer.framesPath)
        let object = try JSONSerialization.jsonObject(with: Data(reader.descriptionLine.utf8)) as? [String: Any]
        #expect(object?["participant"] as? String == participant)
        #expect(object?["stream"] as? Int == 5 && object?["kind"] as? String == "video" && object?["codec"] as? String == "vp8")
        #expect(object?["width"] as? Int == 640 && object?["height"] as? Int == 360 && object?["frameRate"] as? Double == 29.97)
        #expect(object?["timescale"] as? Int == 90_000 && object?["configuration"] as? String == "00AB")
    }

    @Test("Where nothing can be created the fault says so")
    func noDirectory() {
        do {
            _ = try RecordedStreamWriter(directory: "/nonexistent/folder", participant: "p", stream: StreamID(1), description: .data)
            Issue.record("a log was created nowhere")
        } catch {
            #expect(error == .create(path: "/nonexistent/folder/p-1.segue", reason: "No such file or directory"))
        }
    }
}
