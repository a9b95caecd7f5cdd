import RelayBase

/// Frames of one stream that did not come, and those among them whose time was not over.
struct Losses {
    private(set) var count = 0
    /// A lane goes in order: when the frame behind a lost one left the relay, the lost one had been dropped. It left no later than it came, less the time that
    /// the way takes at least. Was the lost frame younger than its deadline even then, it was dropped too soon.
    private(set) var beforeDeadline = 0

    /// - Parameters:
    ///   - receptions: of one stream, in the order in which they came, its frames published at an even pace.
    ///   - deadline: nanoseconds.
    ///   - transit: nanoseconds that the way takes when nothing waits.
    init(of receptions: [Reception], deadline: UInt64, transit: UInt64) {
        for (earlier, later) in zip(receptions, receptions.dropFirst()) {
            let distance = UInt64(later.sequence &- earlier.sequence)
            guard distance > 1, distance < 1 << 31 else { continue }
            let pace = later.sent.nanoseconds(since: earlier.sent) / distance
            for step in 1..<distance {
                count += 1
                let sent = earlier.sent.advanced(byNanoseconds: pace * step)
                let ageWhenPassed = later.received.nanoseconds(since: sent)
                if ageWhenPassed < deadline + transit { beforeDeadline += 1 }
            }
        }
    }
}
