package import RelayBase

/// What can be set of an Opus encoder while it runs.
package struct OpusSettings: Hashable, Sendable {
    package static let bitsPerSecondBounds = 6_000...510_000
    package static let complexityBounds = 0...10
    package static let expectedLossBounds = 0...100

    package var bitsPerSecond: Int
    /// The widest that is coded. Less may be, at low bit rates.
    package var bandwidth: AudioBandwidth
    /// 1: what goes in with two channels is coded as one. 2: as it goes in, or less at low bit rates.
    package var channels: Int
    /// 0 (cheap) to 10 (best).
    package var complexity: Int
    /// Each packet carries the one before it as well, coarsely, where the mode allows and loss is expected (RFC 6716 §2.1.7).
    package var usesInbandFEC: Bool
    package var expectedLossPercent: Int
    /// In silence, most packets are a byte that says so (DTX, RFC 6716 §2.1.9).
    package var isDiscontinuous: Bool

    package init(
        bitsPerSecond: Int = 32_000, bandwidth: AudioBandwidth = .fullband, channels: Int = 2, complexity: Int = 5, usesInbandFEC: Bool = false,
        expectedLossPercent: Int = 0, isDiscontinuous: Bool = false
    ) {
        self.bitsPerSecond = bitsPerSecond
        self.bandwidth = bandwidth
        self.channels = channels
        self.complexity = complexity
        self.usesInbandFEC = usesInbandFEC
        self.expectedLossPercent = expectedLossPercent
        self.isDiscontinuous = isDiscontinuous
    }

    /// Each member within its bounds.
    var clamped: OpusSettings {
        var settings = self
        settings.bitsPerSecond = bitsPerSecond.clamped(to: Self.bitsPerSecondBounds)
        settings.channels = channels.clamped(to: 1...2)
        settings.complexity = complexity.clamped(to: Self.complexityBounds)
        settings.expectedLossPercent = expectedLossPercent.clamped(to: Self.expectedLossBounds)
        return settings
    }
}

/// What an encoder is tuned for; fixed when it is made.
package enum OpusApplication: UInt8, Sendable, Hashable, CaseIterable {
    /// Speech understood at low bit rates.
    case voice
    /// Close to the original.
    case audio
    /// The same with the least delay: CELT only, 2.5 ms of look-ahead instead of 6.5; no in-band FEC.
    case lowDelay
}

extension Comparable {
    func clamped(to bounds: ClosedRange<Self>) -> Self { min(max(self, bounds.lowerBound), bounds.upperBound) }
}
