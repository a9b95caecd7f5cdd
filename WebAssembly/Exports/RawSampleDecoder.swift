/// Takes payloads that are samples already: of Int16 or Float32, little-endian, interleaved. In a browser the codec stands before the buffer, since WebCodecs gives
/// its samples when it likes.
///
/// Of Float32 what is no number or beyond ±8 becomes silence: a buffer that plays must not be poisoned by one packet.
struct RawSampleDecoder: ~Copyable, JitterDecoder {
    enum Format: Int32 {
        case int16 = 0
        case float32 = 1
    }

    let sampleRate: Int
    let channels: Int
    let format: Format

    private var bytesPerFrame: Int { channels * (format == .int16 ? 2 : 4) }

    func sampleCount(of payload: RawSpan) -> Int { payload.byteCount / bytesPerFrame }
    func redundantSampleCount(of payload: RawSpan) -> Int { 0 }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        let count = sampleCount(of: payload)
        guard count * channels <= samples.count else { return 0 }
        for place in 0..<count * channels {
            switch format {
            case .int16:
                let value = unsafe Int16(littleEndian: payload.unsafeLoadUnaligned(fromByteOffset: place * 2, as: Int16.self))
                samples[place] = Float(value) / 32_768
            case .float32:
                let bits = unsafe UInt32(littleEndian: payload.unsafeLoadUnaligned(fromByteOffset: place * 4, as: UInt32.self))
                let value = Float(bitPattern: bits)
                samples[place] = value.magnitude <= 8 ? value : 0
            }
        }
        return count
    }

    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func reset() {}
}
