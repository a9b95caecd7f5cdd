/// Why a codec, an input or an output could not be made.
package enum AudioFault: Error, Hashable, Sendable, CaseIterable {
    /// AAC, which needs another decoder; Opus of more than two channels, which is several Opus streams (RFC 7845 §5.1.1).
    case unsupportedCodec
    case sampleRate
    case channels
    /// A bit rate, a complexity or an expected loss out of its range.
    case settings
    /// The library refused, or there was no memory.
    case codecFailed
    /// The mixer has as many inputs, outputs, format classes or gains as it may.
    case limit
    /// An input or an output of that number is there already.
    case taken
    /// There is no input or no output of that number.
    case unknown
}
