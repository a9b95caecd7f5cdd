import RelayBase

/// Bits a second of one spatial layer, by temporal layer: a moving average over about two seconds, learned from what comes.
///
/// Only while frames come: a layer that pauses keeps the rate that it had.
struct LayerMeter {
    private static let windowMilliseconds: UInt64 = 500
    /// Until so much has been seen a rate is a guess.
    private static let learningMilliseconds: UInt64 = 1_000
    private static let averagedMilliseconds: UInt64 = 1_500
    /// Without a frame for so long a layer counts as not being sent.
    private static let silenceMilliseconds: UInt64 = 2_000

    private var windowBytes = InlineArray<8, UInt32>(repeating: 0)
    private var rates = InlineArray<8, UInt32>(repeating: 0)
    private var windowStart = MonotonicInstant.zero
    private(set) var lastArrival: MonotonicInstant?
    private var learnedMilliseconds: UInt64 = 0
    /// The highest temporal layer that came.
    private(set) var temporalSeen = 0

    mutating func add(temporal: Int, byteCount: Int, now: MonotonicInstant) {
        if isSilent(now) {
            windowStart = now
            for index in 0..<8 { windowBytes[index] = 0 }
        }
        lastArrival = now
        if now.milliseconds(since: windowStart) >= (isLearned ? LayerMeter.windowMilliseconds : LayerMeter.learningMilliseconds) { closeWindow(now) }
        windowBytes[temporal] &+= UInt32(truncatingIfNeeded: byteCount)
        temporalSeen = max(temporalSeen, temporal)
    }

    func isSilent(_ now: MonotonicInstant) -> Bool {
        guard let lastArrival else { return true }
        return now.milliseconds(since: lastArrival) > LayerMeter.silenceMilliseconds
    }

    var isLearned: Bool { learnedMilliseconds > 0 }

    private mutating func closeWindow(_ now: MonotonicInstant) {
        let elapsed = max(now.milliseconds(since: windowStart), 1)
        for index in 0...temporalSeen {
            let current = UInt64(windowBytes[index]) * 8_000 / elapsed
            let before = UInt64(rates[index])
            let averaged =
                isLearned
                ? (before * LayerMeter.averagedMilliseconds + current * elapsed) / (LayerMeter.averagedMilliseconds + elapsed) : current
            rates[index] = UInt32(clamping: averaged)
            windowBytes[index] = 0
        }
        learnedMilliseconds += elapsed
        windowStart = now
    }

    /// Bits a second of the temporal layers up to a bound; `nil` before anything was learned.
    func bitsPerSecond(upTo temporal: Int) -> Int? {
        guard isLearned else { return nil }
        var sum = 0
        for index in 0...min(temporal, 7) { sum += Int(rates[index]) }
        return sum
    }
}
