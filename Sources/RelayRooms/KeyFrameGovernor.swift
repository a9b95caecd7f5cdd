package import RelayBase

/// When the publisher of one layer is asked for a key frame.
///
/// Requests are merged: however many need one, it is asked for once. The next time is no sooner than a least interval, and no sooner than the key frames that
/// are asked for stay a share of the layer's bit rate, so that a thousand joiners do not turn a stream into key frames. The wait is bounded all the same.
package struct KeyFrameGovernor: Sendable {
    /// Whoever needs a key frame is served within this time of the last one, however large key frames are.
    package static let waitMillisecondsMax: UInt64 = 10_000

    package struct Bounds: Sendable {
        package let intervalMillisecondsMin: UInt64
        /// Of the layer's bit rate, percent.
        package let sharePercent: Int

        package init(intervalMillisecondsMin: UInt64, sharePercent: Int) {
            self.intervalMillisecondsMin = intervalMillisecondsMin
            self.sharePercent = sharePercent
        }
    }

    /// Somebody needs a key frame.
    package private(set) var isWanted = false
    private var lastRequest: MonotonicInstant?
    private var lastKeyFrame: MonotonicInstant?
    /// Of the last key frame.
    package private(set) var keyFrameBytes = 0

    package init() {}

    /// - Parameter atOnce: however shortly ago the last was asked for.
    package mutating func want(atOnce: Bool = false) {
        isWanted = true
        if atOnce {
            lastRequest = nil
            lastKeyFrame = nil
        }
    }

    /// Nobody needs one any more.
    package mutating func cancel() {
        isWanted = false
    }

    /// A key frame came, asked for or not: every need until now is served by it.
    package mutating func keyFrameCame(byteCount: Int, now: MonotonicInstant) {
        isWanted = false
        keyFrameBytes = byteCount
        lastKeyFrame = now
    }

    /// Milliseconds between key frames that keep both bounds.
    ///
    /// - Parameter bitsPerSecond: the layer's rate; 0 while it is not known.
    package func intervalMilliseconds(_ bounds: Bounds, bitsPerSecond: Int) -> UInt64 {
        let longest = max(KeyFrameGovernor.waitMillisecondsMax, bounds.intervalMillisecondsMin)
        let share = UInt64(min(max(bounds.sharePercent, 1), 100)) * UInt64(min(max(bitsPerSecond, 0), 1 << 40))
        guard share > 0 else { return bounds.intervalMillisecondsMin }
        let needed = UInt64(min(max(keyFrameBytes, 0), 1 << 32)) * 8 * 100 * 1_000 / share
        return min(max(bounds.intervalMillisecondsMin, needed), longest)
    }

    /// Whether the publisher is to be asked now: then ``requested(now:)`` follows.
    package func isDue(now: MonotonicInstant, _ bounds: Bounds, bitsPerSecond: Int) -> Bool {
        guard isWanted else { return false }
        let interval = intervalMilliseconds(bounds, bitsPerSecond: bitsPerSecond)
        if let lastRequest, now.milliseconds(since: lastRequest) < interval { return false }
        if let lastKeyFrame, now.milliseconds(since: lastKeyFrame) < interval { return false }
        return true
    }

    /// The publisher is asked. The need stays until a key frame comes.
    package mutating func requested(now: MonotonicInstant) {
        lastRequest = now
    }
}
