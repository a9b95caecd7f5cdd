import RelayBase

/// How busy a loop has been lately: the share of time that its turns took, averaged over some tens of milliseconds.
struct LoopLoad: Sendable {
    /// 0 to 1.
    private(set) var share = 0.0
    /// What it would be if no frames were held. It decides for how long they are: by ``share`` a hold would end itself.
    private(set) var unheldShare = 0.0
    private var last: MonotonicInstant?

    /// Time after which what was before counts for a third.
    private static let averageNanoseconds = 50_000_000.0
    /// Up to this share a loop counts as idle: it holds nothing.
    static let idleShare = 0.25
    /// From this share on it holds frames for as long as was wished.
    static let busyShare = 0.75
    /// What is spared in one turn, when frames join, would have been worked in several.
    private static let unheldShareMax = 4.0

    init() {}

    /// A turn ended.
    ///
    /// - Parameters:
    ///   - spent: nanoseconds that it worked, without its wait.
    ///   - spared: nanoseconds more that it would have worked if no frames were held.
    ///   - end: when it ended.
    mutating func note(spent: UInt64, spared: UInt64 = 0, until end: MonotonicInstant) {
        defer { last = end }
        guard let last else { return }
        let period = Double(max(end.nanoseconds(since: last), spent, 1))
        // 1 − e^(−x) without the library: close for short turns, and 1 after a long wait.
        let weight = period / (period + LoopLoad.averageNanoseconds)
        share += (Double(spent) / period - share) * weight
        unheldShare += (min((Double(spent) + Double(spared)) / period, LoopLoad.unheldShareMax) - unheldShare) * weight
    }

    /// For how long frames are held where `wish` nanoseconds are allowed: not at all by an idle loop, in proportion above.
    func delay(of wish: UInt64) -> UInt64 {
        let part = (unheldShare - LoopLoad.idleShare) / (LoopLoad.busyShare - LoopLoad.idleShare)
        return UInt64(Double(wish) * min(max(part, 0), 1))
    }
}
