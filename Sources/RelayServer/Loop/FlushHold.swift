import RelayBase

/// Whether the frames of one room wait on a busy loop so that others join them: then each subscriber gets fewer and larger records, each with one send.
///
/// It decides and does nothing. Holding costs time and pays only where frames join: a room in which nothing did, several times in a row, is left alone for
/// a while, and longer each time.
struct FlushHold: Sendable, Equatable {
    /// Until when the frames that have come wait; `nil`: they do not.
    private(set) var until: MonotonicInstant?
    private var hasJoined = false
    private var fruitless = 0
    /// So many flushes are not held.
    private var passes = 0
    private var passesNext = FlushHold.passesFirst

    /// Holds in a row that nothing joined.
    static let fruitlessMax = 4
    static let passesFirst = 32
    static let passesMax = 1_024
    /// Shorter is not worth a wait of its own.
    static let nanosecondsMin: UInt64 = 200_000
    /// Who would have to wait less than that is served at once along with the others.
    static let slackNanoseconds: UInt64 = 50_000
    /// That much fills a record (RFC 8446 §5.1): waiting for more saves nothing.
    static let bytesMax = 12 << 10

    init() {}

    var isHolding: Bool { until != nil }

    /// Frames came to the room in this turn.
    ///
    /// - Parameters:
    ///   - byteCount: what has come since the last flush.
    ///   - delay: for how long frames may wait, nanoseconds; asked for when a hold might begin, and only then.
    /// - Returns: whether they wait; otherwise the room is to be flushed now.
    mutating func framesCame(byteCount: Int, now: MonotonicInstant, delay: () -> UInt64) -> Bool {
        guard let until else { return begins(byteCount: byteCount, now: now, delay: delay) }
        hasJoined = true
        if byteCount < FlushHold.bytesMax, !isDue(until, now) { return true }
        release()
        return false
    }

    /// Whether what waits has waited long enough by now; then it waits no longer.
    mutating func ends(now: MonotonicInstant) -> Bool {
        guard let until, isDue(until, now) else { return false }
        release()
        return true
    }

    /// What waits goes now, whatever it is for. Answers whether anything does.
    mutating func endNow() -> Bool {
        guard until != nil else { return false }
        release()
        return true
    }

    private func isDue(_ until: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        until <= now.advanced(byNanoseconds: FlushHold.slackNanoseconds)
    }

    private mutating func begins(byteCount: Int, now: MonotonicInstant, delay: () -> UInt64) -> Bool {
        guard passes == 0 else {
            passes -= 1
            return false
        }
        guard byteCount < FlushHold.bytesMax else { return false }
        let nanoseconds = delay()
        guard nanoseconds >= FlushHold.nanosecondsMin else { return false }
        until = now.advanced(byNanoseconds: nanoseconds)
        hasJoined = false
        return true
    }

    private mutating func release() {
        until = nil
        guard !hasJoined else {
            fruitless = 0
            passesNext = FlushHold.passesFirst
            return
        }
        fruitless += 1
        guard fruitless >= FlushHold.fruitlessMax else { return }
        fruitless = 0
        passes = passesNext
        passesNext = min(passesNext * 2, FlushHold.passesMax)
    }
}
