/// What of an audio stream a subscriber's output can play, or the best of several: whatever is beyond is wasted.
package struct WantedFormat: Hashable, Sendable {
    /// Opus has one or two; a stream may have more, which the client mixes down itself.
    package static let channelsMax = 2
    /// Everything.
    package static let full = WantedFormat(channels: channelsMax, bandwidth: .fullband)

    /// 1 or 2.
    package let channels: Int
    package let bandwidth: AudioBandwidth

    package init(channels: Int, bandwidth: AudioBandwidth) {
        self.channels = min(max(channels, 1), WantedFormat.channelsMax)
        self.bandwidth = bandwidth
    }

    /// What another can play, too; `nil`: another hears nothing.
    package func union(_ other: WantedFormat?) -> WantedFormat {
        guard let other else { return self }
        return WantedFormat(channels: max(channels, other.channels), bandwidth: max(bandwidth, other.bandwidth))
    }

    package func covers(_ other: WantedFormat) -> Bool { union(other) == self }
}
