/// How much delay a buffer trades for how much concealment.
package enum JitterProfile: UInt8, CaseIterable, Sendable, Hashable {
    /// Conversation: `voiceChat`, `videoChat`.
    case lowLatency
    case balanced
    /// Films and music, where nobody answers: `moviePlayback`.
    case smooth
}

/// What an audio buffer is made for.
package struct JitterConfiguration: Sendable, Hashable {
    /// Of what comes out, in hertz: 8,000, 12,000, 16,000, 24,000 or 48,000.
    package var sampleRate = 48_000
    /// Of what comes out, interleaved: 1 or 2.
    package var channels = 1
    /// Units of the packets' timestamps a second.
    package var timescale = 48_000
    package var profile = JitterProfile.balanced
    /// The delay target is never below, never above; both beside what the profile bounds it to.
    package var delayMillisecondsMin = 0
    package var delayMillisecondsMax = 2_000
    /// The delay target is this, whatever arrives.
    package var pinnedDelayMilliseconds: Int?
    /// Hard bounds: beyond them the oldest packets go first, never all.
    package var packetsMax = 400
    package var bytesMax = 256 << 10
    package var bufferedMillisecondsMax = 5_000
    /// Nothing is done to the sound but what a lost packet makes necessary: no time stretch, no comfort noise (the mode `measurement`).
    package var isMeasurement = false

    package init() {}
}
