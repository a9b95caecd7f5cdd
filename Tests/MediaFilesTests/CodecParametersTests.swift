import MediaProtocol
import Testing

@testable import MediaFiles

@Suite("Codec strings made from configurations")
struct CodecParametersTests {
    static let cases: [(CodecParameters, String)] = [
        (CodecParameters(codec: .audio(.opus)), "opus"),
        (CodecParameters(codec: .audio(.aac), configuration: [0x12, 0x10]), "mp4a.40.2"),
        (CodecParameters(codec: .audio(.aac), configuration: [0x2B, 0x92]), "mp4a.40.5"),
        (CodecParameters(codec: .audio(.aac), configuration: [0xF9, 0x40]), "mp4a.40.42"),
        (CodecParameters(codec: .audio(.aac)), "mp4a.40.2"),
        (CodecParameters(codec: .video(.h264), configuration: [1, 0x42, 0xE0, 0x1E, 0xFF]), "avc1.42E01E"),
        (CodecParameters(codec: .video(.h264), configuration: [0, 0, 0, 1, 0x67, 0x4D, 0x40, 0x1F, 0xEC]), "avc1.4D401F"),
        (CodecParameters(codec: .video(.h264), profile: 77, level: 31), "avc1.4D001F"),
        (CodecParameters(codec: .video(.h264)), "avc1.42001E"),
        (
            CodecParameters(codec: .video(.hevc), configuration: [1, 0x01, 0x60, 0, 0, 0, 0xB0, 0, 0, 0, 0, 0, 93] + Array(repeating: 0, count: 10)),
            "hvc1.1.6.L93.B0"
        ),
        (
            CodecParameters(codec: .video(.hevc), configuration: [1, 0x64, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 120] + Array(repeating: 0, count: 10)),
            "hvc1.A4.10.H120"
        ),
        (CodecParameters(codec: .video(.av1), configuration: [0x81, 0x04, 0x0C, 0]), "av01.0.04M.08"),
        (CodecParameters(codec: .video(.av1), configuration: [0x81, 0x2F, 0xCC, 0]), "av01.1.15H.10"),
        (CodecParameters(codec: .video(.av1)), "av01.0.08M.08"),
        (CodecParameters(codec: .video(.vp8)), "vp8"),
        (CodecParameters(codec: .video(.vp9), width: 1_280, height: 720, framesPerSecond: 30), "vp09.00.31.08"),
        (CodecParameters(codec: .video(.vp9), profile: 2, width: 3_840, height: 2_160, framesPerSecond: 60), "vp09.02.51.10"),
        (CodecParameters(codec: .video(.vp9), configuration: [1, 0, 0, 0, 0, 20, 0x82, 2, 2, 2, 0, 0]), "vp09.00.20.08"),
    ]

    @Test("The codec string says what the configuration says, and reads back as the same codec", arguments: cases)
    func codecString(parameters: CodecParameters, string: String) {
        #expect(parameters.codecString == string)
        #expect(MediaCodec(codecString: parameters.codecString) == parameters.codec)
    }
}
