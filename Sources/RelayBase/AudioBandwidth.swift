/// The audio bandwidths of Opus (RFC 6716 §2), in the words of the protocol.
package enum AudioBandwidth: String, CaseIterable, Comparable, Sendable {
    case narrowband
    case mediumband
    case wideband
    case superwideband
    case fullband

    /// The sample rate that carries it, in hertz.
    package var sampleRate: Int {
        switch self {
        case .narrowband: 8_000
        case .mediumband: 12_000
        case .wideband: 16_000
        case .superwideband: 24_000
        case .fullband: 48_000
        }
    }

    /// 0 narrowband to 4 fullband.
    package var number: Int {
        switch self {
        case .narrowband: 0
        case .mediumband: 1
        case .wideband: 2
        case .superwideband: 3
        case .fullband: 4
        }
    }

    /// The smallest that carries all that an output of this sample rate can play.
    package init(sampleRate: Double) {
        self = AudioBandwidth.allCases.first { sampleRate <= Double($0.sampleRate) } ?? .fullband
    }

    package static func < (left: AudioBandwidth, right: AudioBandwidth) -> Bool { left.number < right.number }
}
