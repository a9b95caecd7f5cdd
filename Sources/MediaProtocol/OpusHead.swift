/// The identification header of Opus (RFC 7845 §5.1), an Opus stream's configuration.
package enum OpusHead {
    /// What libopus looks ahead, in samples at 48 kHz: the usual pre-skip.
    package static let preSkipUsual: UInt16 = 312

    /// Version 1, no gain, mapping family 0.
    ///
    /// - Parameters:
    ///   - channels: 1 or 2.
    ///   - preSkip: samples at 48 kHz that a decoder leaves out at the beginning.
    ///   - inputRate: of what was encoded, in hertz.
    package static func encoded(channels: UInt8, preSkip: UInt16 = preSkipUsual, inputRate: UInt32) -> [UInt8] {
        var head = Array("OpusHead".utf8) + [1, channels, UInt8(truncatingIfNeeded: preSkip), UInt8(truncatingIfNeeded: preSkip >> 8)]
        for byte in 0..<4 { head.append(UInt8(truncatingIfNeeded: inputRate >> (8 * byte))) }
        return head + [0, 0, 0]
    }
}
