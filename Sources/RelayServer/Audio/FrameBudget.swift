import RelayBase

/// Bounds the frames of one stream that a worker looks at: a burst as behind a stall, and then as many a second as frames of 2.5 ms make, twice over.
struct FrameBudget {
    static let burst: UInt64 = 2_000
    static let perSecond: UInt64 = 800

    private var left = FrameBudget.burst
    private var filledAt: MonotonicInstant

    init(now: MonotonicInstant) {
        filledAt = now
    }

    mutating func take(now: MonotonicInstant) -> Bool {
        if left == 0 {
            // Seen rarely: whoever sends as others do never uses it up.
            let more = now.nanoseconds(since: filledAt) * FrameBudget.perSecond / 1_000_000_000
            guard more > 0 else { return false }
            left = min(FrameBudget.burst, more)
            filledAt = now
        }
        left -= 1
        return true
    }
}
