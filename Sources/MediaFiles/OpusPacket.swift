internal import COpus

/// What libopus says about a packet without decoding it.
package enum OpusPacket {
    /// Samples per channel at 48 kHz that the packet decodes to: 120…5,760 (RFC 6716 §3.1).
    ///
    /// - Returns: `nil` for a packet that breaks the rules of RFC 6716 §3.4.
    package static func sampleCount(_ packet: RawSpan) -> UInt32? {
        unsafe packet.withUnsafeBytes { bytes in
            guard let length = Int32(exactly: bytes.count), length > 0, let data = unsafe bytes.assumingMemoryBound(to: UInt8.self).baseAddress else {
                return nil
            }
            let count = unsafe opus_packet_get_nb_samples(data, length, 48_000)
            return count > 0 ? UInt32(count) : nil
        }
    }
}
