/// Bounds of members of control messages that no operator sets: they are part of the protocol.
package enum SignallingBounds {
    /// An `id`: every whole number that JSON carries everywhere.
    package static let requestIDMax: UInt64 = 9_007_199_254_740_991
    package static let deviceBytesMax = 64
    package static let displayNameBytesMax = 64
    package static let sourceBytesMax = 64
    package static let bundleMilliseconds: ClosedRange<Double> = 0...10
    package static let keepAliveMilliseconds: ClosedRange<Double> = 1_000...60_000

    // `subscribe` and `unsubscribe`.
    package static let streamsPerRequestMax = 1_024
    package static let sourcesPerRequestMax = 16
    /// A day: longer than any class's deadline may be.
    package static let delayMilliseconds: ClosedRange<Double> = 1...86_400_000
    /// What a jitter buffer's delay may be pinned to.
    package static let pinnedMilliseconds: ClosedRange<Double> = 0...2_000
    package static let mixChannels = 1...2
    package static let lastN = 1...64

    // `report`.
    package static let reportedStreamsMax = 1_024
    package static let reportedMillisecondsMax = 86_400_000.0
    package static let reportedBitsPerSecondMax = 1e12
}

extension StreamDescription {
    package static let sampleRates: ClosedRange<Double> = 4_000...192_000
    package static let channelCounts = 1...8
    package static let frameMillisecondsMax = 1_000.0
    package static let timescales = [48_000, 90_000, 1_000_000]
}

extension StreamLayer {
    /// As many encodings as a stream may have, and temporal layers as one of them may.
    package static let countMax = 8
    package static let bitrates: ClosedRange<Double> = 1...1_000_000_000
    /// Of width and height, in pixels.
    package static let pixelCounts = 1...16_384
    package static let frameRateMax = 1_000.0
}
