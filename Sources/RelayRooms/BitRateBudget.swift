package import RelayBase

/// Bits that somebody may send: so many a second, and a second's worth at once.
///
/// A frame that is larger than a second's worth passes when nothing has been spent; what it takes too much is waited for afterwards, so that the rate holds in
/// the long run and a large key frame is not locked out for ever.
package struct BitRateBudget: Sendable {
    /// Above it the arithmetic in billionths of a bit would not fit.
    package static let bitsPerSecondMax = 1_000_000_000

    package let bitsPerSecond: Int
    /// Billionths of a bit, so that a nanosecond adds `bitsPerSecond` of them and nothing is lost by rounding. Negative after a large frame.
    private var level: Int64
    private let ceiling: Int64
    private var refilled: MonotonicInstant

    /// - Parameter bitsPerSecond: 1 to ``bitsPerSecondMax``; other values are taken for the nearest of them.
    package init(bitsPerSecond: Int, now: MonotonicInstant) {
        self.bitsPerSecond = min(max(bitsPerSecond, 1), BitRateBudget.bitsPerSecondMax)
        ceiling = Int64(self.bitsPerSecond) * 1_000_000_000
        level = ceiling
        refilled = now
    }

    /// Takes what a frame of so many bytes costs; false, and nothing taken, when it may not pass now.
    package mutating func take(byteCount: Int, now: MonotonicInstant) -> Bool {
        refill(now)
        // Frames are bounded far below this by their own limit.
        let cost = Int64(min(byteCount, 1 << 29)) * 8 * 1_000_000_000
        guard level >= cost || level == ceiling else { return false }
        level -= cost
        return true
    }

    private mutating func refill(_ now: MonotonicInstant) {
        guard now > refilled else { return }
        let (gained, overflow) = now.nanoseconds(since: refilled).multipliedReportingOverflow(by: UInt64(bitsPerSecond))
        refilled = now
        let missing = UInt64(ceiling - level)
        level = overflow || gained >= missing ? ceiling : level + Int64(gained)
    }
}
