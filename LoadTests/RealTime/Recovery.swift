import RelayBase

/// When delay is back to normal.
enum Recovery {
    /// The share of a second's frames that may be slower: a busy machine is no backlog.
    private static let share = 0.05
    private static let secondNanoseconds: UInt64 = 1_000_000_000

    /// - Parameters:
    ///   - receptions: of one kind, in the order in which they came.
    ///   - normal: nanoseconds of latency.
    /// - Returns: milliseconds from `begin` to the first frame that was normal itself and led a normal second; `nil` when there is none.
    static func milliseconds(of receptions: [Reception], after begin: MonotonicInstant, normal: UInt64) -> Double? {
        let after = receptions.filter { $0.received >= begin }
        for (place, reception) in after.enumerated() where reception.latency <= normal {
            let end = reception.received.advanced(byNanoseconds: secondNanoseconds)
            let second = after[place...].prefix { $0.received < end }
            let slow = second.count { $0.latency > normal }
            if Double(slow) <= share * Double(second.count) { return Double(reception.received.nanoseconds(since: begin)) / 1e6 }
        }
        return nil
    }
}
