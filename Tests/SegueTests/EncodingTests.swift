import AudioEngine
import FoundationEssentials
import MediaFiles
import MediaProtocol
import RelayBase
import Testing

@testable import segue

@Suite("Publishing: sound that is encoded anew")
struct EncodingTests {
    private static func plan(_ words: [String]) throws -> EncodingPlan? {
        try EncodingPlan(try Arguments.parse(["--room", "r", "file"] + words, PublishCommand.command.spec))
    }

    @Test("what is set of an encoder is read, and goes with Opus only")
    func options() throws {
        let plan = try #require(
            try Self.plan([
                "--encode", "opus", "--bitrate", "24000", "--bandwidth", "wideband", "--complexity", "3", "--expected-loss", "10", "--fec", "--dtx",
            ]))
        #expect(plan.codec == .opus && plan.sampleRate == 48_000 && plan.samplesPerFrame == 960)
        #expect(
            plan.settings(channels: 2)
                == OpusSettings(
                    bitsPerSecond: 24_000, bandwidth: .wideband, complexity: 3, usesInbandFEC: true, expectedLossPercent: 10, isDiscontinuous: true))
        #expect(try Self.plan(["--encode", "opus"])?.settings(channels: 2).bitsPerSecond == 64_000)
        #expect(try Self.plan(["--encode", "pcmu"])?.sampleRate == 8_000)
        #expect(try Self.plan([]) == nil)
        for words in [["--fec"], ["--bitrate", "24000"], ["--encode", "pcma", "--dtx"]] { #expect(throws: UsageFault.self) { try Self.plan(words) } }
    }

    /// A WAV file of 16 bits, written by hand.
    private static func wave(_ samples: [Int16], rate: Int, channels: Int) throws -> String {
        func bytes(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let data = samples.flatMap { bytes(Int($0), 2) }
        let head =
            Array("RIFF".utf8) + bytes(36 + data.count, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4) + bytes(1, 2) + bytes(channels, 2) + bytes(rate, 4)
            + bytes(rate * channels * 2, 4) + bytes(channels * 2, 2) + bytes(16, 2) + Array("data".utf8) + bytes(data.count, 4)
        let path = FileManager.default.temporaryDirectory.appending(path: "segue-\(UInt64.random(in: 0 ... .max)).wav").path
        #expect(FileManager.default.createFile(atPath: path, contents: Data(head + data)))
        return path
    }

    private static func frames(_ feed: FileFeed) -> [MediaSample] {
        var frames: [MediaSample] = []
        while let frame = feed.next() { frames.append(frame) }
        return frames
    }

    @Test(
        "a file's sound is cut into frames of 20 ms on one timeline, at the codec's rate and channels",
        arguments: [
            (AudioCodec.opus, 8_000, 1), (.opus, 44_100, 2), (.pcmu, 44_100, 2), (.pcma, 8_000, 1), (.pcmS16, 22_050, 1),
        ])
    func cut(codec: AudioCodec, rate: Int, channels: Int) throws {
        let path = try Self.wave((0..<rate * channels).map { Int16(truncatingIfNeeded: ($0 / channels % 50) * 400) }, rate: rate, channels: channels)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let plan = EncodingPlan(codec: codec)
        let feed = try FileFeed(path: path, passes: 1, encoding: plan)
        let stream = try #require(feed.streams.first)
        #expect(stream.codecString == codec.name && stream.codec == .audio(codec))
        guard case .audio(let audio) = stream.description else { throw CommandFailure(code: .failure, message: "no audio") }
        let sent = codec == .opus || codec == .pcmS16 ? channels : 1
        #expect(audio.sampleRate == UInt32(plan.sampleRate) && Int(audio.channels) == sent && audio.frameMicroseconds == 20_000)
        #expect(stream.configuration.count == (codec == .opus ? 19 : 0))
        let frames = Self.frames(feed)
        // A second, and up to a frame of what a resampler holds back or adds.
        #expect((49...51).contains(frames.count))
        #expect(frames.allSatisfy { $0.payload.count == plan.samplesPerFrame * sent * 4 && $0.duration == 960 })
        let first = try #require(frames.first)
        #expect(frames.enumerated().allSatisfy { $0.element.decodeTimestamp == first.decodeTimestamp + Int64($0.offset) * 960 })
        #expect(
            frames.enumerated().allSatisfy { abs($0.element.decodeNanoseconds - first.decodeNanoseconds - Int64($0.offset) * 20_000_000) < 1_000 })
    }

    @Test("passes of a file follow each other without an overlap")
    func passes() throws {
        let path = try Self.wave([Int16](repeating: 100, count: 4_100), rate: 8_000, channels: 1)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let times = Self.frames(try FileFeed(path: path, passes: 3, encoding: EncodingPlan(codec: .opus))).map(\.decodeTimestamp)
        // 3 × 512.5 ms, the last frame filled up.
        #expect(times.count == 77)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 960 })
    }

    private static func tone(_ number: Int, channels: Int) -> [UInt8] {
        let samples = (0..<960).flatMap { sample in
            let phase = Float((number * 960 + sample) % 96) / 96
            return [Float](repeating: phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase, count: channels).map { $0 / 4 }
        }
        return unsafe samples.withUnsafeBytes { unsafe Array($0) }
    }

    /// RFC 6716 §3.1: the first byte's configuration number says the bandwidth, its third bit from below stereo.
    private static func shape(_ packet: [UInt8]) -> (bandwidth: AudioBandwidth, isStereo: Bool) {
        let number = Int(packet[0] >> 3)
        let all = AudioBandwidth.allCases
        let bandwidth =
            number < 12
            ? all[number / 4] : number < 16 ? all[3 + (number - 12) / 2] : [.narrowband, .wideband, .superwideband, .fullband][(number - 16) / 4]
        return (bandwidth, packet[0] & 4 != 0)
    }

    @Test("an Opus encoder makes what is wanted, up to what it was set to, and comes back")
    func follows() throws {
        var plan = EncodingPlan(codec: .opus)
        plan.settings.bitsPerSecond = 96_000
        let encoder = try StreamEncoder(plan, channels: 2)
        var number = 0
        func packet() throws -> [UInt8] {
            // An encoder may take a few frames for it.
            for _ in 0..<10 {
                _ = encoder.encode(Self.tone(number, channels: 2))
                number += 1
            }
            number += 1
            return try #require(encoder.encode(Self.tone(number, channels: 2))).payload
        }
        #expect(try Self.shape(packet()).bandwidth == .fullband)
        #expect(encoder.fit(bandwidth: .narrowband, channels: 1))
        #expect(!encoder.fit(bandwidth: .narrowband, channels: 1), "nothing new")
        let narrow = try Self.shape(packet())
        #expect(narrow.bandwidth == .narrowband && !narrow.isStereo)
        #expect(encoder.fit(bandwidth: .fullband, channels: 2))
        #expect(try Self.shape(packet()).bandwidth == .fullband)
        plan.settings.bandwidth = .wideband
        let bounded = try StreamEncoder(plan, channels: 1)
        #expect(!bounded.fit(bandwidth: .fullband, channels: 2))
        plan.followsWanted = false
        #expect(try !StreamEncoder(plan, channels: 1).fit(bandwidth: .narrowband, channels: 1))
        #expect(try !StreamEncoder(EncodingPlan(codec: .pcmu), channels: 1).fit(bandwidth: .narrowband, channels: 1))
    }

    @Test("with DTX silence is a packet now and then, and marked")
    func silence() throws {
        var plan = EncodingPlan(codec: .opus)
        plan.settings.isDiscontinuous = true
        plan.settings.bitsPerSecond = 16_000
        plan.settings.bandwidth = .wideband
        let encoder = try StreamEncoder(plan, channels: 1)
        // As loud and as quiet by turns as syllables: what stays the same is background.
        let quiet = [UInt8](repeating: 0, count: 960 * 4)
        let spoken = (0..<100).compactMap { encoder.encode($0 / 5 % 2 == 0 ? Self.tone($0, channels: 1) : quiet) }
        #expect(spoken.count > 60 && spoken.contains { !$0.isSilence && $0.level.minusDecibelsOverload < 30 })
        let silent = (0..<200).compactMap { _ in encoder.encode(quiet) }
        #expect(silent.count < 60 && silent.contains { $0.isSilence })
        #expect(silent.last?.level.minusDecibelsOverload == 127)
    }

    @Test("RFC 7845 §5.1: the identification header has the encoder's look-ahead, channels and rate")
    func head() throws {
        let head = try StreamEncoder.opusHead(EncodingPlan(codec: .opus), channels: 2, path: "x")
        #expect(Array(head.prefix(8)) == Array("OpusHead".utf8))
        #expect(head[8] == 1 && head[9] == 2 && (Int(head[10]) | Int(head[11]) << 8) == 312)
        #expect(Array(head[12...]) == [0x80, 0xBB, 0, 0, 0, 0, 0])
    }
}
