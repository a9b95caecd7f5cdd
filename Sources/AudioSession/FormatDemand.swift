package import RelayBase

/// What a publisher is told of the format that is wanted of its stream: better at once, less when that has lasted a moment.
package struct FormatDemand: Sendable {
    package static let lessMilliseconds: UInt64 = 500

    /// `nil`: nothing yet, so it sends the best.
    package private(set) var told: WantedFormat?
    private var lessSince: MonotonicInstant?
    private var mustTell = false

    package init() {}

    /// Whoever publishes may not have heard what it was told last.
    package mutating func tellAgain() { mustTell = told != nil }

    /// - Parameter wanted: the best over all that hear the stream; `nil`: nobody does, which is said by other means and changes nothing here.
    /// - Returns: what the publisher is to be told now; `nil`: nothing new.
    package mutating func look(_ wanted: WantedFormat?, now: MonotonicInstant) -> WantedFormat? {
        let before = told ?? .full
        guard let wanted, wanted != before else {
            lessSince = nil
            return again(before)
        }
        guard before.covers(wanted) else {
            lessSince = nil
            return tell(before.union(wanted))
        }
        let since = lessSince ?? now
        lessSince = since
        guard now.milliseconds(since: since) >= FormatDemand.lessMilliseconds else { return again(before) }
        lessSince = nil
        return tell(wanted)
    }

    /// When ``look(_:now:)`` has something to say although nothing changes.
    package var nextDeadline: MonotonicInstant? { lessSince?.advanced(byMilliseconds: FormatDemand.lessMilliseconds) }

    private mutating func tell(_ wanted: WantedFormat) -> WantedFormat {
        told = wanted
        mustTell = false
        return wanted
    }

    private mutating func again(_ before: WantedFormat) -> WantedFormat? {
        defer { mustTell = false }
        return mustTell ? before : nil
    }
}
