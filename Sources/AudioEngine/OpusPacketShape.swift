internal import COpus

/// What an Opus packet says of itself, without decoding it (RFC 6716 §3).
struct OpusPacketShape {
    /// How long one of its frames plays, in samples per channel at the rate that was asked for.
    let samplesPerFrame: Int
    let frameCount: Int
    /// Whether its first frame carries the frame before it as well (low bit-rate redundancy, RFC 6716 §4.2.4).
    let hasRedundancy: Bool

    var sampleCount: Int { samplesPerFrame * frameCount }

    /// - Parameter sampleRate: one that Opus has.
    /// - Returns: `nil` for a packet that breaks a rule of RFC 6716 §3.4, or is empty.
    init?(_ packet: RawSpan, sampleRate: Int) {
        let shape: (Int, Int, Bool)? = unsafe packet.withUnsafeBytes { bytes in
            guard let length = Int32(exactly: bytes.count), length > 0, let data = unsafe bytes.assumingMemoryBound(to: UInt8.self).baseAddress else {
                return nil
            }
            // 48 is what a packet can have: 120 ms in frames of 2.5 ms.
            return unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 48) { frames in
                unsafe withUnsafeTemporaryAllocation(of: opus_int16.self, capacity: 48) { sizes in
                    guard let sizeTable = sizes.baseAddress else { return nil }
                    let count = unsafe opus_packet_parse(data, length, nil, frames.baseAddress, sizeTable, nil)
                    let perFrame = unsafe Int(opus_packet_get_samples_per_frame(data, Int32(clamping: sampleRate)))
                    guard count > 0, perFrame > 0, Int(count) * perFrame * 25 <= sampleRate * 3 else { return nil }
                    let first = unsafe sizes[0] > 0 ? frames[0]?.pointee : nil
                    return unsafe (perFrame, Int(count), Self.hasRedundancy(configuration: data[0], firstByte: first))
                }
            }
        }
        guard let shape else { return nil }
        (samplesPerFrame, frameCount, hasRedundancy) = shape
    }

    /// A SILK frame begins with a voice flag for each 20 ms and then the redundancy flag, of the first channel and then of the second, one bit each
    /// (RFC 6716 §4.2.3; equal probabilities, so that the range coder leaves them as they are).
    private static func hasRedundancy(configuration toc: UInt8, firstByte: UInt8?) -> Bool {
        // Configurations 16 to 31 are CELT only (RFC 6716 §3.1, table 2).
        guard let firstByte, toc & 0x80 == 0 else { return false }
        let configuration = toc >> 3
        let voiceFlags: UInt8 = configuration < 12 ? (configuration & 3 == 2 ? 2 : configuration & 3 == 3 ? 3 : 1) : 1
        let isStereo = toc & 0x04 != 0
        let first = firstByte >> (7 - voiceFlags) & 1 != 0
        guard isStereo, voiceFlags < 3 || !first else { return first }
        // The second channel's flag: of 60 ms it is the lowest bit.
        return first || firstByte >> (6 - 2 * voiceFlags) & 1 != 0
    }
}
