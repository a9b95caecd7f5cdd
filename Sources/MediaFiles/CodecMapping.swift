internal import CAVFormat
internal import MediaProtocol

/// libavcodec's codec identifiers and the protocol's codecs.
enum CodecMapping {
    static func codec(_ id: AVCodecID) -> MediaCodec? {
        switch id {
        case AV_CODEC_ID_OPUS: .audio(.opus)
        case AV_CODEC_ID_PCM_S16LE: .audio(.pcmS16)
        case AV_CODEC_ID_PCM_MULAW: .audio(.pcmu)
        case AV_CODEC_ID_PCM_ALAW: .audio(.pcma)
        case AV_CODEC_ID_AAC: .audio(.aac)
        case AV_CODEC_ID_VP8: .video(.vp8)
        case AV_CODEC_ID_VP9: .video(.vp9)
        case AV_CODEC_ID_H264: .video(.h264)
        case AV_CODEC_ID_HEVC: .video(.hevc)
        case AV_CODEC_ID_AV1: .video(.av1)
        default: nil
        }
    }

    static func identifier(_ codec: MediaCodec) -> AVCodecID {
        switch codec {
        case .audio(.opus): AV_CODEC_ID_OPUS
        case .audio(.pcmS16): AV_CODEC_ID_PCM_S16LE
        case .audio(.pcmu): AV_CODEC_ID_PCM_MULAW
        case .audio(.pcma): AV_CODEC_ID_PCM_ALAW
        case .audio(.aac): AV_CODEC_ID_AAC
        case .video(.vp8): AV_CODEC_ID_VP8
        case .video(.vp9): AV_CODEC_ID_VP9
        case .video(.h264): AV_CODEC_ID_H264
        case .video(.hevc): AV_CODEC_ID_HEVC
        case .video(.av1): AV_CODEC_ID_AV1
        }
    }

    static func kindName(_ type: AVMediaType) -> String {
        switch type {
        case AVMEDIA_TYPE_AUDIO: "audio"
        case AVMEDIA_TYPE_VIDEO: "video"
        case AVMEDIA_TYPE_SUBTITLE: "subtitle"
        case AVMEDIA_TYPE_DATA: "data"
        case AVMEDIA_TYPE_ATTACHMENT: "attachment"
        default: "unknown"
        }
    }

    /// How NAL units are framed: avcC and hvcC start with version 1 and state the size of lengths; anything else is Annex B.
    static func framing(_ codec: MediaCodec, configuration: [UInt8]) -> NALFraming? {
        switch codec {
        case .video(.h264):
            configuration.first == 1 && configuration.count > 4 ? .lengthPrefixed(Int(configuration[4] & 3) + 1) : .annexB
        case .video(.hevc):
            configuration.first == 1 && configuration.count > 21 ? .lengthPrefixed(Int(configuration[21] & 3) + 1) : .annexB
        case .video(.vp8), .video(.vp9), .video(.av1), .audio: nil
        }
    }
}

/// What a codec string is made from.
struct CodecParameters {
    var codec: MediaCodec
    var configuration: [UInt8] = []
    /// libavcodec's numbers; negative when unknown.
    var profile: Int32 = -1
    var level: Int32 = -1
    var width: Int32 = 0
    var height: Int32 = 0
    var framesPerSecond: Double = 0

    /// The codec string of RFC 6381, from the configuration where it tells, else from what libavcodec found.
    var codecString: String {
        switch codec {
        case .audio(.aac): aac
        case .audio(let audio): audio.name
        case .video(.vp8): "vp8"
        case .video(.vp9): vp9
        case .video(.h264): h264
        case .video(.hevc): hevc
        case .video(.av1): av1
        }
    }

    /// `mp4a.40.` and the audio object type, the first 5 bits of the AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1; 31 escapes to 6 bits more).
    private var aac: String {
        guard configuration.count >= 2 else { return "mp4a.40.2" }
        let type = configuration[0] >> 3
        let escaped = 32 + (configuration[0] & 7) << 3 + configuration[1] >> 5
        return "mp4a.40.\(type == 31 ? escaped : max(type, 1))"
    }

    /// `avc1.` and profile, constraints and level: bytes 1…3 of avcC, or those behind the head of the first SPS in Annex B.
    private var h264: String {
        if configuration.first == 1, configuration.count >= 4 { return "avc1." + Self.hexadecimal(configuration[1...3]) }
        for index in configuration.indices.dropFirst(3).dropLast(3)
        where configuration[index] & 0x1F == 7 && configuration[(index - 3)..<index] == [0, 0, 1] {
            return "avc1." + Self.hexadecimal(configuration[(index + 1)...(index + 3)])
        }
        let profile = UInt8(truncatingIfNeeded: profile < 0 ? 66 : profile)
        return "avc1." + Self.hexadecimal([profile, 0, UInt8(clamping: level <= 0 ? 30 : level)])
    }

    /// `hvc1.` from hvcC (ISO/IEC 14496-15 Annex E): profile space and number, compatibility flags bit-reversed, tier and level, constraint bytes.
    private var hevc: String {
        guard configuration.first == 1, configuration.count >= 13 else {
            return "hev1.\(profile > 0 ? profile : 1).6.L\(level > 0 ? level : 93)"
        }
        let general = configuration[1]
        let space = ["", "A", "B", "C"][Int(general >> 6)]
        var compatibility: UInt32 = 0
        for bit in 0..<32 where configuration[2 + bit / 8] & 0x80 >> UInt8(bit % 8) != 0 { compatibility |= 1 << UInt32(bit) }
        var constraints = Array(configuration[6..<12])
        while constraints.last == 0 { constraints.removeLast() }
        let tail = constraints.map { "." + String($0, radix: 16, uppercase: true) }.joined()
        let tier = general & 0x20 == 0 ? "L" : "H"
        return "hvc1.\(space)\(general & 0x1F).\(String(compatibility, radix: 16, uppercase: true)).\(tier)\(configuration[12])\(tail)"
    }

    /// `av01.` from av1C (AV1 ISOBMFF binding §2.3.3 and §5): profile, level and tier, bit depth.
    private var av1: String {
        guard configuration.count >= 3, configuration[0] == 0x81 else {
            return "av01.\(profile > 0 ? profile : 0).\(Self.two(level > 0 ? level : 8))M.08"
        }
        let flags = configuration[2]
        let depth = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
        return "av01.\(configuration[1] >> 5).\(Self.two(Int32(configuration[1] & 0x1F)))\(flags & 0x80 == 0 ? "M" : "H").\(Self.two(Int32(depth)))"
    }

    /// `vp09.` and profile, level, bit depth; vpcC carries them, WebM leaves them to be worked out.
    private var vp9: String {
        if configuration.count >= 7, configuration[0] == 1 {
            return "vp09.\(Self.two(Int32(configuration[4]))).\(Self.two(Int32(configuration[5]))).\(Self.two(Int32(configuration[6] >> 4)))"
        }
        let profile = max(profile, 0)
        return "vp09.\(Self.two(profile)).\(Self.two(level > 0 ? level : vp9Level)).\(profile >= 2 ? "10" : "08")"
    }

    /// The lowest VP9 level with room for this picture and rate: luma samples a second and a picture (VP9 levels and decoder testing).
    private var vp9Level: Int32 {
        let picture = Int64(width) * Int64(height)
        let rate = Double(picture) * (framesPerSecond > 0 ? framesPerSecond : 30)
        let levels: [(level: Int32, rate: Double, picture: Int64)] = [
            (10, 829_440, 36_864), (11, 2_764_800, 73_728), (20, 4_608_000, 122_880), (21, 9_216_000, 245_760), (30, 20_736_000, 552_960),
            (31, 36_864_000, 983_040), (40, 83_558_400, 2_228_224), (41, 160_432_128, 2_228_224), (50, 311_951_360, 8_912_896),
            (51, 588_251_136, 8_912_896), (52, 1_176_502_272, 8_912_896), (60, 1_176_502_272, 35_651_584), (61, 2_353_004_544, 35_651_584),
        ]
        return levels.first { rate <= $0.rate && picture <= $0.picture }?.level ?? 62
    }

    private static func two(_ number: Int32) -> String {
        number < 10 ? "0\(number)" : "\(min(number, 99))"
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { $0 < 16 ? "0" + String($0, radix: 16, uppercase: true) : String($0, radix: 16, uppercase: true) }.joined()
    }
}
