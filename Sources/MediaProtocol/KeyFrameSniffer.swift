extension VideoCodec {
    /// Whether decoding can start at this frame, read from the payload itself. Bounded work whatever the payload; never traps on it.
    ///
    /// - Parameters:
    ///   - payload: one frame, not encrypted.
    ///   - framing: how NAL units are framed, where the configuration says so; `nil` finds out. Ignored for codecs without NAL units.
    package func isKeyFrame(_ payload: RawSpan, framing: NALFraming? = nil) -> Bool {
        switch self {
        case .h264, .hevc: NALSummary(codec: self, payload: payload, framing: framing)?.isKeyFrame ?? false
        case .vp8: Self.isVP8KeyFrame(payload)
        case .vp9: Self.isVP9KeyFrame(payload)
        case .av1: AV1Sniffer.isKeyFrame(payload)
        }
    }

    /// RFC 6386 §9.1: bit 0 of the frame tag is 0, and the start code 9D 01 2A follows the 3-byte tag.
    private static func isVP8KeyFrame(_ payload: RawSpan) -> Bool {
        guard payload.byteCount >= 10, payload.byte(at: 0) & 1 == 0 else { return false }
        return payload.uint32(at: 2) & 0x00FF_FFFF == 0x009D_012A
    }

    /// VP9 bitstream specification §6.2: frame marker, profile, show_existing_frame, frame_type, then the sync code 49 83 42.
    private static func isVP9KeyFrame(_ payload: RawSpan) -> Bool {
        guard payload.byteCount >= 5 else { return false }
        let bits = BitReader(payload.uint32(at: 0), payload.byte(at: 4))
        guard bits.read(at: 0, count: 2) == 2 else { return false }
        // Profile 3 has one reserved bit more.
        let flags = bits.read(at: 2, count: 2) == 3 ? 5 : 4
        let showExistingFrame = bits.read(at: flags, count: 1)
        let frameType = bits.read(at: flags + 1, count: 1)
        return showExistingFrame == 0 && frameType == 0 && bits.read(at: flags + 4, count: 24) == 0x49_8342
    }

    /// The first 40 bits of a payload.
    private struct BitReader {
        let bits: UInt64

        init(_ word: UInt32, _ byte: UInt8) {
            bits = UInt64(word) << 32 | UInt64(byte) << 24
        }

        func read(at offset: Int, count: Int) -> UInt64 {
            (bits << UInt64(offset)) >> UInt64(64 - count)
        }
    }
}

/// Reads the open bitstream units of an AV1 temporal unit in the low-overhead format (AV1 bitstream specification §5).
enum AV1Sniffer {
    private static let sequenceHeader: UInt8 = 1
    private static let frameHeader: UInt8 = 3
    private static let frame: UInt8 = 6

    /// The first frame header decides: a shown key frame is an entry point (§7.6.2: one that is not shown is a delayed one).
    static func isKeyFrame(_ payload: RawSpan) -> Bool {
        var offset = 0
        var isStillPicture = false
        for _ in 0..<NALSummary.scannedUnitsMax {
            guard offset < payload.byteCount else { return false }
            let head = payload.byte(at: offset)
            let hasExtension = head & 0x04 != 0
            guard head & 0x80 == 0 else { return false }
            var start = offset + (hasExtension ? 2 : 1)
            guard start <= payload.byteCount else { return false }
            var end = payload.byteCount
            if head & 0x02 != 0 {
                guard let size = readSize(payload, at: &start), size <= payload.byteCount - start else { return false }
                end = start + size
            }
            let type = head >> 3 & 0x0F
            if type == sequenceHeader, start < end {
                // reduced_still_picture_header, after seq_profile (3 bits) and still_picture.
                isStillPicture = payload.byte(at: start) & 0x08 != 0
            } else if type == frameHeader || type == frame {
                guard start < end else { return false }
                // show_existing_frame 0, frame_type 00, show_frame 1.
                return isStillPicture || payload.byte(at: start) & 0xF0 == 0x10
            }
            offset = end
        }
        return false
    }

    /// leb128() (§4.10.5): at most 8 bytes; the value fits in 32 bits.
    private static func readSize(_ payload: RawSpan, at offset: inout Int) -> Int? {
        var value: UInt64 = 0
        for index in 0..<8 {
            guard offset < payload.byteCount else { return nil }
            let byte = payload.byte(at: offset)
            offset += 1
            value |= UInt64(byte & 0x7F) << UInt64(7 * index)
            if byte & 0x80 == 0 { return value <= UInt64(UInt32.max) ? Int(value) : nil }
        }
        return nil
    }
}
