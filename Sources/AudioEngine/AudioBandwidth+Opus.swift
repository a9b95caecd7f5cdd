internal import COpus
package import RelayBase

extension AudioBandwidth {
    /// What Opus codes and decodes at, in hertz.
    package static let sampleRates: [Int] = allCases.map(\.sampleRate)

    /// Opus' number of it.
    var opus: Int32 {
        switch self {
        case .narrowband: OPUS_BANDWIDTH_NARROWBAND
        case .mediumband: OPUS_BANDWIDTH_MEDIUMBAND
        case .wideband: OPUS_BANDWIDTH_WIDEBAND
        case .superwideband: OPUS_BANDWIDTH_SUPERWIDEBAND
        case .fullband: OPUS_BANDWIDTH_FULLBAND
        }
    }
}
