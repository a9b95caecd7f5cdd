import Foundation
import MediaProtocol
import RelayBase
import Testing

@testable import MediaFiles

/// Every packet of a file.
func readAll(_ reader: inout MediaFileReader) throws(MediaFileFault) -> [MediaSample] {
    var samples: [MediaSample] = []
    while let sample = try reader.next() { samples.append(sample) }
    return samples
}

func readAll(_ path: String) throws(MediaFileFault) -> [MediaSample] {
    var reader = try MediaFileReader(path: path)
    return try readAll(&reader)
}

func isKeyFrame(_ codec: VideoCodec, _ payload: [UInt8], _ framing: NALFraming?) -> Bool {
    unsafe codec.isKeyFrame(payload.span.bytes, framing: framing)
}

@Suite("Reading media files")
struct MediaFileReaderTests {
    struct Expectation: CustomTestStringConvertible {
        var file: String
        var codecs: [MediaCodec]
        var strings: [String]
        var firstBytes: [[UInt8]]
        /// Time base of each stream in the file, to compare with ffprobe.
        var ticksPerSecond: [Int64]

        var testDescription: String { file }
    }

    static let opusHead = Array("OpusHead".utf8)

    static let files: [Expectation] = [
        Expectation(file: "speech.opus", codecs: [.audio(.opus)], strings: ["opus"], firstBytes: [opusHead], ticksPerSecond: [48_000]),
        Expectation(file: "short.opus", codecs: [.audio(.opus)], strings: ["opus"], firstBytes: [opusHead], ticksPerSecond: [48_000]),
        Expectation(
            file: "clip.mp4", codecs: [.video(.h264), .audio(.aac)], strings: ["avc1.64000D", "mp4a.40.2"], firstBytes: [[1, 0x64], [0x11, 0x88]],
            ticksPerSecond: [15_360, 48_000]),
        Expectation(
            file: "vp8.webm", codecs: [.video(.vp8), .audio(.opus)], strings: ["vp8", "opus"], firstBytes: [[], opusHead],
            ticksPerSecond: [1_000, 1_000]),
        Expectation(file: "vp9.webm", codecs: [.video(.vp9)], strings: ["vp09.00.11.08"], firstBytes: [[]], ticksPerSecond: [1_000]),
        Expectation(file: "hevc.mp4", codecs: [.video(.hevc)], strings: ["hvc1.1.6.L60.90"], firstBytes: [[1]], ticksPerSecond: [15_360]),
        Expectation(file: "av1.mp4", codecs: [.video(.av1)], strings: ["av01.0.00M.08"], firstBytes: [[0x81]], ticksPerSecond: [15_360]),
        Expectation(file: "subtitled.mkv", codecs: [.audio(.opus)], strings: ["opus"], firstBytes: [opusHead], ticksPerSecond: [1_000, 1_000]),
    ]

    @Test("Every packet is the one that ffprobe reads: bytes, order, times, key flag", arguments: files)
    func packets(file: Expectation) throws {
        let path = try Fixtures.path(file.file)
        var reader = try MediaFileReader(path: path)
        #expect(reader.streams.map(\.codec) == file.codecs)
        #expect(reader.streams.map(\.codecString) == file.strings)
        for (stream, first) in zip(reader.streams, file.firstBytes) { #expect(stream.configuration.starts(with: first)) }
        let streams = reader.streams
        let published = Set(streams.map(\.index))
        let probed = try ProbedPacket.all(in: path).filter { published.contains($0.stream) }
        let samples = try readAll(&reader)
        #expect(samples.count > 10)
        #expect(samples.map(\.streamIndex) == probed.map(\.stream))
        #expect(samples.map { crc32($0.payload) } == probed.map(\.hash))
        #expect(samples.map { String($0.payload.count) } == probed.map(\.size))
        for (sample, packet) in zip(samples, probed) {
            let base = file.ticksPerSecond[packet.stream]
            let stream = try #require(streams.first { $0.index == sample.streamIndex })
            let ticks = Double(stream.description.timescale.ticksPerSecond)
            if let pts = packet.pts {
                #expect(abs(sample.presentationNanoseconds - pts * 1_000_000_000 / base) <= 1)
                #expect(abs(Double(sample.presentationTimestamp) - Double(pts) * ticks / Double(base)) <= 0.5)
            }
            if let dts = packet.dts { #expect(abs(Double(sample.decodeTimestamp) - Double(dts) * ticks / Double(base)) <= 0.5) }
            #expect(sample.isKey == packet.isKey)
            if case .video(let codec) = stream.codec { #expect(isKeyFrame(codec, sample.payload, stream.framing) == packet.isKey) }
        }
    }

    @Test("Ogg Opus: an OpusHead, 20 ms packets, each as long as libopus says")
    func opusDurations() throws {
        let samples = try readAll(Fixtures.path("speech.opus"))
        #expect(samples.allSatisfy { $0.duration == 960 && $0.isKey && $0.compositionOffset == nil })
        try #expect(readAll(Fixtures.path("short.opus")).allSatisfy { $0.duration == 120 })
        for (previous, next) in zip(samples, samples.dropFirst()) { #expect(next.decodeTimestamp - previous.decodeTimestamp == 960) }
    }

    @Test("MP4: reordered pictures have a composition offset, unneeded ones are discardable")
    func reordering() throws {
        var reader = try MediaFileReader(path: Fixtures.path("clip.mp4"))
        let video = try #require(reader.streams.first { $0.codec == .video(.h264) })
        #expect(video.framing == .lengthPrefixed(4))
        #expect(
            video.description == .video(VideoStreamDescription(codec: .h264, codecString: video.codecString, width: 320, height: 180, frameRate: 30)))
        let samples = try readAll(&reader).filter { $0.streamIndex == video.index }
        #expect(samples.count == 60)
        #expect(samples.filter(\.isKey).count == 2)
        #expect(samples.contains { $0.compositionOffset == 9_000 } && samples.contains { $0.isDiscardable } && samples.contains { !$0.isDiscardable })
        #expect(samples.allSatisfy { $0.duration == 3_000 })
        #expect(samples.map(\.decodeTimestamp) == samples.map(\.decodeTimestamp).sorted())
    }

    @Test("A raw H.264 file is read as Annex B, with times from the frame rate")
    func annexB() throws {
        var reader = try MediaFileReader(path: Fixtures.path("clip.h264"))
        let stream = try #require(reader.streams.first)
        #expect(stream.framing == .annexB && stream.codecString == "avc1.64000D")
        let summary = unsafe NALSummary(codec: .h264, payload: stream.configuration.span.bytes)
        #expect(summary?.hasSequenceParameterSet == true && summary?.hasPictureParameterSet == true)
        let samples = try readAll(&reader)
        #expect(samples.count == 60)
        #expect(samples.filter { isKeyFrame(.h264, $0.payload, nil) }.count == 2)
        for (previous, next) in zip(samples, samples.dropFirst()) { #expect(next.decodeTimestamp > previous.decodeTimestamp) }
    }

    @Test(
        "Uncompressed sound comes whole, in packets of at most 1,920 bytes",
        arguments: [
            ("tone.wav", AudioCodec.pcmS16, 48_000, 2), ("mulaw.wav", .pcmu, 8_000, 1), ("alaw.wav", .pcma, 8_000, 1),
        ] as [(String, AudioCodec, UInt32, Int)])
    func uncompressed(file: String, codec: AudioCodec, rate: UInt32, bytesPerFrame: Int) throws {
        var reader = try MediaFileReader(path: Fixtures.path(file))
        #expect(reader.streams.map(\.description) == [.audio(AudioStreamDescription(codec: codec, sampleRate: rate, channels: 1))])
        let samples = try readAll(&reader)
        #expect(samples.allSatisfy { $0.payload.count <= 1_920 })
        let sound = samples.flatMap(\.payload)
        #expect(sound.count == 2 * Int(rate) * bytesPerFrame)
        let raw = try Tools.run(
            "ffmpeg",
            ["-v", "error", "-i", Fixtures.path(file), "-c", "copy", "-f", codec == .pcmS16 ? "s16le" : codec == .pcmu ? "mulaw" : "alaw", "-"])
        #expect(sound == Array(raw))
        let end = try #require(samples.last)
        #expect(end.decodeTimestamp + Int64(end.duration) == 96_000)
    }

    @Test("Streams that the protocol does not carry are listed and left out; a file of nothing else is refused")
    func skipped() throws {
        let reader = try MediaFileReader(path: Fixtures.path("subtitled.mkv"))
        #expect(reader.skippedStreams.map(\.kindName) == ["subtitle"])
        #expect(reader.skippedStreams.map(\.codecName) == ["subrip"])
        let flac = try Fixtures.path("flac.flac")
        #expect(throws: MediaFileFault.noUsableStream(path: flac)) { _ = try readAll(flac) }
    }

    @Test("Rewound, a file gives the same packets, and time goes on for all streams alike", arguments: ["speech.opus", "clip.mp4", "vp8.webm"])
    func rewind(file: String) throws {
        var reader = try MediaFileReader(path: Fixtures.path(file))
        let first = try readAll(&reader)
        try reader.rewind()
        #expect(reader.pass == 1)
        let second = try readAll(&reader)
        #expect(second.map(\.payload) == first.map(\.payload))
        let shifts = Set(zip(first, second).map { $1.decodeNanoseconds - $0.decodeNanoseconds })
        let shift = try #require(shifts.first)
        #expect(shifts.count == 1 && shift % 1_000_000 == 0)
        let ends = first.map { max($0.decodeNanoseconds, $0.presentationNanoseconds) }
        try #expect(shift + #require(first.map(\.decodeNanoseconds).min()) > #require(ends.max()))
        for stream in reader.streams {
            let ticks = Int64(stream.description.timescale.ticksPerSecond)
            let moved = zip(first, second).filter { $0.0.streamIndex == stream.index }.map { $1.presentationTimestamp - $0.presentationTimestamp }
            #expect(Set(moved) == [shift / 1_000_000 * ticks / 1_000])
        }
        try reader.rewind()
        try #expect(readAll(&reader).first?.decodeNanoseconds == (first.first?.decodeNanoseconds ?? 0) + 2 * shift)
    }

    @Test("A file replaced by another is refused on rewinding")
    func replaced() throws {
        let folder = try TemporaryFolder()
        let path = folder("a.media")
        try FileManager.default.copyItem(atPath: Fixtures.path("speech.opus"), toPath: path)
        var reader = try MediaFileReader(path: path)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: Fixtures.path("clip.mp4"), toPath: path)
        do {
            try reader.rewind()
            Issue.record("another file was taken for the same")
        } catch {
            #expect(error == .changed(path: path))
        }
    }
}
