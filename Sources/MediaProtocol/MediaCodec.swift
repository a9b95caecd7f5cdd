/// Audio codecs of the protocol.
package enum AudioCodec: UInt8, CaseIterable, Sendable {
    case opus
    /// Signed 16-bit little-endian samples, channels interleaved.
    case pcmS16
    /// ITU-T G.711 µ-law.
    case pcmu
    /// ITU-T G.711 A-law.
    case pcma
    /// MPEG-4 AAC, raw access units; the configuration is the AudioSpecificConfig.
    case aac

    /// The codec's name on the wire.
    package var name: String {
        switch self {
        case .opus: "opus"
        case .pcmS16: "pcm_s16"
        case .pcmu: "pcmu"
        case .pcma: "pcma"
        case .aac: "aac"
        }
    }
}

/// Video codecs of the protocol.
package enum VideoCodec: UInt8, CaseIterable, Sendable {
    case vp8
    case vp9
    case h264
    case hevc
    case av1

    /// The codec's name on the wire; the exact flavour is in the codec string (RFC 6381).
    package var name: String {
        switch self {
        case .vp8: "vp8"
        case .vp9: "vp9"
        case .h264: "h264"
        case .hevc: "hevc"
        case .av1: "av1"
        }
    }
}

/// Any codec of the protocol.
package enum MediaCodec: Hashable, Sendable {
    case audio(AudioCodec)
    case video(VideoCodec)

    /// Longest codec string that is looked at, in bytes.
    package static let codecStringBytesMax = 64

    /// Reads a codec string of RFC 6381 §3.3 (`avc1.42E01E`, `vp09.00.10.08`, `av01.0.04M.08`, `hvc1.1.6.L93.B0`, `mp4a.40.2`), or one of the
    /// protocol's own names (`opus`, `pcm_s16`, `vp8`, …), or WebCodecs' (`ulaw`, `alaw`, `pcm-s16`).
    ///
    /// - Returns: `nil` for an unknown codec and for a string that breaks its codec's syntax.
    package init?(codecString: String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.codecStringBytesMax)
        for byte in codecString.utf8 {
            guard bytes.count < Self.codecStringBytesMax else { return nil }
            bytes.append(byte)
        }
        let fields = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard let name = fields.first, let codec = CodecName.find(name), codec.allows(parameters: fields.dropFirst()) else { return nil }
        self = codec.codec
    }
}

/// The first field of a codec string, and what its other fields must look like.
private struct CodecName {
    enum Syntax {
        /// The name stands alone.
        case bare
        /// The name may stand alone, or be followed by VP codec parameters.
        case bareOrVP
        /// `.profile.level.bitDepth`, two decimal digits each, and up to five more fields (WebM codecs parameter string).
        case vp
        /// `.PPCCLL`, six hexadecimal digits (RFC 6381 §3.3).
        case avc
        /// `.profile.levelTier.bitDepth` and more (AV1 ISOBMFF binding §5).
        case av1
        /// `.profileSpace+profile.compatibility.tier+level.constraints…` (ISO/IEC 14496-15 Annex E).
        case hevc
        /// `.40.objectType`, or the MPEG-2 AAC object types 66, 67, 68.
        case mp4a
    }

    let name: StaticString
    let codec: MediaCodec
    let syntax: Syntax

    private static let table: [CodecName] = [
        CodecName(name: "opus", codec: .audio(.opus), syntax: .bare),
        CodecName(name: "Opus", codec: .audio(.opus), syntax: .bare),
        CodecName(name: "pcm_s16", codec: .audio(.pcmS16), syntax: .bare),
        CodecName(name: "pcm-s16", codec: .audio(.pcmS16), syntax: .bare),
        CodecName(name: "pcmu", codec: .audio(.pcmu), syntax: .bare),
        CodecName(name: "ulaw", codec: .audio(.pcmu), syntax: .bare),
        CodecName(name: "pcma", codec: .audio(.pcma), syntax: .bare),
        CodecName(name: "alaw", codec: .audio(.pcma), syntax: .bare),
        CodecName(name: "aac", codec: .audio(.aac), syntax: .bare),
        CodecName(name: "mp4a", codec: .audio(.aac), syntax: .mp4a),
        CodecName(name: "vp8", codec: .video(.vp8), syntax: .bare),
        CodecName(name: "vp08", codec: .video(.vp8), syntax: .bareOrVP),
        CodecName(name: "vp9", codec: .video(.vp9), syntax: .bare),
        CodecName(name: "vp09", codec: .video(.vp9), syntax: .vp),
        CodecName(name: "avc1", codec: .video(.h264), syntax: .avc),
        CodecName(name: "avc3", codec: .video(.h264), syntax: .avc),
        CodecName(name: "hev1", codec: .video(.hevc), syntax: .hevc),
        CodecName(name: "hvc1", codec: .video(.hevc), syntax: .hevc),
        CodecName(name: "av01", codec: .video(.av1), syntax: .av1),
    ]

    static func find(_ name: ArraySlice<UInt8>) -> CodecName? {
        for entry in table where unsafe name.elementsEqual(UnsafeBufferPointer(start: entry.name.utf8Start, count: entry.name.utf8CodeUnitCount)) {
            return entry
        }
        return nil
    }

    func allows(parameters: ArraySlice<ArraySlice<UInt8>>) -> Bool {
        let fields = Array(parameters)
        switch syntax {
        case .bare: return fields.isEmpty
        case .bareOrVP: return fields.isEmpty || Self.isVP(fields)
        case .vp: return Self.isVP(fields)
        case .avc: return fields.count == 1 && fields[0].count == 6 && fields[0].allSatisfy(Self.isHexadecimal)
        case .av1:
            guard (3...9).contains(fields.count), fields[1].count == 3, let tier = fields[1].last else { return false }
            let numbers = [fields[0], fields[1].dropLast()] + fields[2...]
            return fields[0].count == 1 && fields[2].count == 2 && numbers.allSatisfy(Self.isDecimal)
                && (tier == UInt8(ascii: "M") || tier == UInt8(ascii: "H"))
        case .hevc:
            guard (3...9).contains(fields.count), let tier = fields[2].first else { return false }
            let profile = fields[0].drop { (UInt8(ascii: "A")...UInt8(ascii: "C")).contains($0) }
            return fields[0].count - profile.count <= 1 && Self.isDecimal(profile) && fields[1].count <= 8
                && (tier == UInt8(ascii: "L") || tier == UInt8(ascii: "H")) && Self.isDecimal(fields[2].dropFirst())
                && ([fields[1]] + fields[3...]).allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isHexadecimal) }
        case .mp4a:
            if fields.count == 1 { return ["66", "67", "68"].contains { $0.utf8.elementsEqual(fields[0]) } }
            return fields.count == 2 && "40".utf8.elementsEqual(fields[0]) && fields[1].count <= 2 && Self.isDecimal(fields[1])
        }
    }

    private static func isVP(_ fields: [ArraySlice<UInt8>]) -> Bool {
        (3...8).contains(fields.count) && fields.allSatisfy { $0.count == 2 && isDecimal($0) }
    }

    private static func isDecimal(_ field: ArraySlice<UInt8>) -> Bool {
        !field.isEmpty && field.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
        default: false
        }
    }
}
