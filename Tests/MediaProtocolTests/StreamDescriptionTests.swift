import RelayBase
import Testing

@testable import MediaProtocol

@Suite("Codec strings (RFC 6381)")
struct CodecStringTests {
    static let knownCases: [(String, MediaCodec)] = [
        ("opus", .audio(.opus)), ("Opus", .audio(.opus)), ("pcm_s16", .audio(.pcmS16)), ("pcm-s16", .audio(.pcmS16)), ("pcmu", .audio(.pcmu)),
        ("ulaw", .audio(.pcmu)), ("pcma", .audio(.pcma)), ("alaw", .audio(.pcma)), ("aac", .audio(.aac)), ("mp4a.40.2", .audio(.aac)),
        ("mp4a.40.5", .audio(.aac)), ("mp4a.40.29", .audio(.aac)), ("mp4a.67", .audio(.aac)), ("vp8", .video(.vp8)), ("vp08.00.41.08", .video(.vp8)),
        ("vp9", .video(.vp9)), ("vp09.00.10.08", .video(.vp9)), ("vp09.02.10.10.01.09.16.09", .video(.vp9)), ("avc1.42E01E", .video(.h264)),
        ("avc1.64001f", .video(.h264)), ("avc3.4D401E", .video(.h264)), ("av01.0.04M.08", .video(.av1)),
        ("av01.0.15H.10.0.112.09.16.09", .video(.av1)),
        ("hvc1.1.6.L93.B0", .video(.hevc)), ("hev1.1.6.L93", .video(.hevc)), ("hvc1.A4.41.H120.B0.23", .video(.hevc)),
    ]

    @Test("A codec string names its codec", arguments: knownCases)
    func known(string: String, codec: MediaCodec) {
        #expect(MediaCodec(codecString: string) == codec)
    }

    @Test(
        "A string of no codec, or one that breaks its codec's syntax, names none",
        arguments: [
            "", ".", "opus.", "opus.1", "OPUS", "mp3", "theora", "avc1", "avc1.", "avc1.42E0", "avc1.42E01G", "avc1.42E01E.1", "vp09", "vp09.00.10",
            "vp09.0.10.08", "vp09.00.10.0x", "av01.0.04X.08", "av01.0.04M", "av01.00.04M.08", "hvc1", "hvc1.1.6", "hvc1.1.6.93.B0", "hvc1.D1.6.L93",
            "hvc1..6.L93", "hvc1.1.6.L93.", "mp4a.40", "mp4a.41.2", "mp4a.40.", "mp4a.40.222", "ａvc1.42E01E",
            "avc1.42E01E" + String(repeating: "0", count: 100),
        ])
    func unknown(string: String) {
        #expect(MediaCodec(codecString: string) == nil)
    }

    @Test("Every codec's own wire name reads back", arguments: AudioCodec.allCases)
    func audioNames(codec: AudioCodec) {
        #expect(MediaCodec(codecString: codec.name) == .audio(codec))
    }
}

@Suite("Stream descriptions")
struct StreamDescriptionTests {
    static let audioCases: [(AudioStreamDescription, DescriptionFault?)] = [
        (AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 1, frameMicroseconds: 20_000), nil),
        (AudioStreamDescription(codec: .opus, sampleRate: 16_000, channels: 2, frameMicroseconds: 2_500), nil),
        (AudioStreamDescription(codec: .aac, sampleRate: 44_100, channels: 2, frameMicroseconds: 23_220), nil),
        (AudioStreamDescription(codec: .pcmu, sampleRate: 8_000, channels: 1), nil),
        (AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 1, frameMicroseconds: 21_000), .frameDuration),
        (AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 1, frameMicroseconds: 122_500), .frameDuration),
        (AudioStreamDescription(codec: .pcmS16, sampleRate: 48_000, channels: 1, frameMicroseconds: 1_000_001), .frameDuration),
        (AudioStreamDescription(codec: .pcmS16, sampleRate: 0, channels: 1), .sampleRate),
        (AudioStreamDescription(codec: .pcmS16, sampleRate: .max, channels: 1), .sampleRate),
        (AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 0), .channelCount),
        (AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 9), .channelCount),
    ]

    func fault(_ description: StreamDescription) -> DescriptionFault? {
        do {
            try description.validate()
            return nil
        } catch {
            return error
        }
    }

    @Test("An audio description is checked field by field", arguments: audioCases)
    func audio(description: AudioStreamDescription, expected: DescriptionFault?) {
        #expect(fault(.audio(description)) == expected)
    }

    static let videoCases: [(VideoStreamDescription, DescriptionFault?)] = [
        (VideoStreamDescription(codec: .h264, codecString: "avc1.42E01E", width: 640, height: 360, frameRate: 29.97), nil),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 1, height: 16_384), nil),
        (VideoStreamDescription(codec: .h264, codecString: "vp8", width: 640, height: 360), .codecString),
        (VideoStreamDescription(codec: .vp8, codecString: "opus", width: 640, height: 360), .codecString),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 0, height: 360), .pictureSize),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 640, height: 16_385), .pictureSize),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 640, height: 360, frameRate: .nan), .frameRate),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 640, height: 360, frameRate: -1), .frameRate),
        (VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 640, height: 360, frameRate: .infinity), .frameRate),
    ]

    @Test("A video description is checked field by field", arguments: videoCases)
    func video(description: VideoStreamDescription, expected: DescriptionFault?) {
        #expect(fault(.video(description)) == expected)
    }

    @Test("Timescales are 48,000 for audio, 90,000 for video, 1,000,000 for data")
    func timescales() {
        let audio = StreamDescription.audio(AudioStreamDescription(codec: .opus, sampleRate: 16_000, channels: 1))
        let video = StreamDescription.video(VideoStreamDescription(codec: .vp8, codecString: "vp8", width: 1, height: 1))
        #expect([audio, video, .data].map(\.timescale.ticksPerSecond) == [48_000, 90_000, 1_000_000])
        #expect([audio, video, .data].map(\.kind) == [.audio, .video, .data])
    }
}

@Suite("AudioStreamBasicDescription")
struct AudioStreamBasicDescriptionTests {
    static func pcm(
        rate: Double = 48_000, flags: LinearPCMFlags = [.signedInteger, .packed], packet: UInt32, frames: UInt32 = 1, frame: UInt32,
        channels: UInt32, bits: UInt32
    ) -> AudioStreamBasicDescription {
        AudioStreamBasicDescription(
            sampleRate: rate, formatID: .linearPCM, formatFlags: flags.rawValue, bytesPerPacket: packet, framesPerPacket: frames,
            bytesPerFrame: frame, channelsPerFrame: channels, bitsPerChannel: bits)
    }

    static func compressed(packet: UInt32, frames: UInt32, frame: UInt32 = 0) -> AudioStreamBasicDescription {
        AudioStreamBasicDescription(
            sampleRate: 44_100, formatID: .aac, bytesPerPacket: packet, framesPerPacket: frames, bytesPerFrame: frame, channelsPerFrame: 2,
            bitsPerChannel: 0)
    }

    static let cases: [(AudioStreamBasicDescription, DescriptionFault?)] = [
        (.pcmS16(sampleRate: 48_000, channels: 2), nil),
        (pcm(packet: 4, frame: 4, channels: 2, bits: 16), nil),
        // Non-interleaved: bytes count one channel.
        (pcm(flags: [.float, .packed, .nonInterleaved], packet: 4, frame: 4, channels: 2, bits: 32), nil),
        (pcm(flags: [.float, .packed, .nonInterleaved], packet: 8, frame: 8, channels: 2, bits: 32), .bytesPerFrame),
        (pcm(flags: [.float, .packed], packet: 4, frame: 4, channels: 2, bits: 32), .bytesPerFrame),
        // 24 bits in 32: aligned high, not packed.
        (pcm(flags: [.signedInteger, .alignedHigh], packet: 8, frame: 8, channels: 2, bits: 24), nil),
        (pcm(flags: [.signedInteger, .packed], packet: 8, frame: 8, channels: 2, bits: 24), .bytesPerFrame),
        (pcm(packet: 4, frames: 2, frame: 4, channels: 2, bits: 16), .framesPerPacket),
        (pcm(packet: 0, frames: 0, frame: 4, channels: 2, bits: 16), .framesPerPacket),
        (pcm(packet: 8, frame: 4, channels: 2, bits: 16), .bytesPerPacket),
        (pcm(packet: 0, frame: 4, channels: 2, bits: 16), .bytesPerPacket),
        (pcm(packet: 0, frame: 0, channels: 2, bits: 16), .bytesPerFrame),
        (pcm(packet: 3, frame: 3, channels: 2, bits: 16), .bytesPerFrame),
        (pcm(packet: .max, frame: .max, channels: 1, bits: 16), .bytesPerFrame),
        (pcm(packet: 4, frame: 4, channels: 2, bits: 0), .bitsPerChannel),
        (pcm(flags: [.float, .packed], packet: 6, frame: 6, channels: 2, bits: 24), .bitsPerChannel),
        (pcm(packet: 4, frame: 4, channels: 2, bits: .max), .bitsPerChannel),
        (pcm(flags: [.float, .signedInteger], packet: 4, frame: 4, channels: 1, bits: 32), .formatFlags),
        (pcm(packet: 4, frame: 4, channels: 0, bits: 16), .channelCount),
        (pcm(packet: 4, frame: 4, channels: .max, bits: 16), .channelCount),
        (pcm(rate: 0, packet: 4, frame: 4, channels: 2, bits: 16), .sampleRate),
        (pcm(rate: -1, packet: 4, frame: 4, channels: 2, bits: 16), .sampleRate),
        (pcm(rate: .nan, packet: 4, frame: 4, channels: 2, bits: 16), .sampleRate),
        (pcm(rate: .infinity, packet: 4, frame: 4, channels: 2, bits: 16), .sampleRate),
        (compressed(packet: 0, frames: 1_024), nil),
        (compressed(packet: 0, frames: 0), nil),
        (compressed(packet: 417, frames: 1_152), nil),
        (compressed(packet: 0, frames: 1_024, frame: 4), .bytesPerFrame),
    ]

    @Test("§6 the fields of a description must agree with each other", arguments: cases)
    func consistency(description: AudioStreamBasicDescription, expected: DescriptionFault?) {
        do {
            try description.validate()
            #expect(expected == nil)
        } catch {
            #expect(error == expected)
        }
    }

    @Test("§6 variable rate when bytes per packet or frames per packet is 0")
    func variableRate() {
        #expect(Self.compressed(packet: 0, frames: 1_024).isVariableRate)
        #expect(Self.compressed(packet: 100, frames: 0).isVariableRate)
        #expect(!Self.compressed(packet: 417, frames: 1_152).isVariableRate)
        #expect(!AudioStreamBasicDescription.pcmS16(sampleRate: 8_000, channels: 1).isVariableRate)
    }
}
