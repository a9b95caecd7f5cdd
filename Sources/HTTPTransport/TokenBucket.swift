import RelayBase

/// A rate limit: `burst` tokens at the start and at most, `perSecond` new ones a second. Pure; time is passed in.
struct TokenBucket {
    /// Billionths of a token, so that a nanosecond adds `perSecond` of them and nothing is lost by rounding.
    private var level: UInt64
    private let ceiling: UInt64
    private let perSecond: UInt64
    private var refilled: MonotonicInstant

    init(_ budget: HTTP2AbuseLimits.Budget, now: MonotonicInstant) {
        ceiling = UInt64(budget.burst) * 1_000_000_000
        level = ceiling
        perSecond = UInt64(budget.perSecond)
        refilled = now
    }

    /// Takes one token; false when there is none.
    mutating func take(now: MonotonicInstant) -> Bool {
        let (gained, overflow) = now.nanoseconds(since: refilled).multipliedReportingOverflow(by: perSecond)
        refilled = max(refilled, now)
        level = overflow || gained >= ceiling - level ? ceiling : level + gained
        guard level >= 1_000_000_000 else { return false }
        level -= 1_000_000_000
        return true
    }
}
