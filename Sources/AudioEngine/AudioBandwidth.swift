internal import COpus

/// The audio bandwidths of Opus (RFC 6716 §2), by the numbers that bounds of audio have.
package enum AudioBandwidth: UInt8, CaseIterable, Sendable, Hashable, Comparable {
    case narrowband
    case mediumband
    case wideband
    case superWideband
    case fullband

    /// The lowest sample rate that carries it, in hertz.
    package var sampleRate: Int {
        switch self {
        case .narrowband: 8_000
        case .mediumband: 12_000
        case .wideband: 16_000
        case .superWideband: 24_000
        case .fullband: 48_000
        }
    }

    /// What Opus codes and decodes at, in hertz.
    package static let sampleRates: [Int] = allCases.map(\.sampleRate)

    var opus: Int32 {
        switch self {
        case .narrowband: OPUS_BANDWIDTH_NARROWBAND
        case .mediumband: OPUS_BANDWIDTH_MEDIUMBAND
        case .wideband: OPUS_BANDWIDTH_WIDEBAND
        case .superWideband: OPUS_BANDWIDTH_SUPERWIDEBAND
        case .fullband: OPUS_BANDWIDTH_FULLBAND
        }
    }

    package static func < (left: AudioBandwidth, right: AudioBandwidth) -> Bool { left.rawValue < right.rawValue }
}
