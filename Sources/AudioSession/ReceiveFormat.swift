package import RelayBase

/// What an output plays: whatever is sent beyond it is wasted.
package struct ReceiveFormat: Hashable, Sendable {
    /// Hertz.
    package let sampleRate: Double
    /// 1 or 2.
    package let channels: Int
    package let bandwidth: AudioBandwidth

    /// Nothing is known of the output.
    package static let full = ReceiveFormat(sampleRate: 48_000, channels: WantedFormat.channelsMax)

    private init(sampleRate: Double, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = min(channels, WantedFormat.channelsMax)
        bandwidth = AudioBandwidth(sampleRate: sampleRate)
    }

    init(_ port: RoutePort) {
        switch port.type {
        case .bluetoothHFP:
            // The hands-free profile is mono whatever the port says: 8 kHz (CVSD), 16 kHz (mSBC); later versions have more.
            self.init(sampleRate: port.sampleRate ?? 16_000, channels: 1)
        case .builtInReceiver:
            self.init(sampleRate: port.sampleRate ?? 48_000, channels: port.channels ?? 1)
        default:
            self.init(sampleRate: port.sampleRate ?? 48_000, channels: port.channels ?? 2)
        }
    }

    /// - Returns: the best over several outputs (`multiRoute`); `nil` when there is none.
    package init?(_ outputs: [RoutePort]) {
        guard let first = outputs.first else { return nil }
        self = outputs.dropFirst().reduce(ReceiveFormat(first)) { best, port in
            let other = ReceiveFormat(port)
            return ReceiveFormat(sampleRate: max(best.sampleRate, other.sampleRate), channels: max(best.channels, other.channels))
        }
    }

    /// What a publisher has to know of it.
    package var wanted: WantedFormat { WantedFormat(channels: channels, bandwidth: bandwidth) }
}
