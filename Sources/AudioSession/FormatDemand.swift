package import RelayBase

/// What the best of an audio stream's subscribers can use of it.
package struct WantedFormat: Hashable, Sendable {
    /// 1 or 2.
    package private(set) var channels: Int
    package private(set) var bandwidth: AudioBandwidth

    package init(channels: Int, bandwidth: AudioBandwidth) {
        self.channels = min(max(channels, 1), ReceiveFormat.channelsMax)
        self.bandwidth = bandwidth
    }

    /// Everything.
    package static let full = ReceiveFormat.full.wanted

    /// What another subscriber can use, too.
    package mutating func formUnion(_ other: WantedFormat) {
        channels = max(channels, other.channels)
        bandwidth = max(bandwidth, other.bandwidth)
    }

    package func union(_ other: WantedFormat?) -> WantedFormat {
        guard let other else { return self }
        var both = self
        both.formUnion(other)
        return both
    }

    package func covers(_ other: WantedFormat) -> Bool { union(other) == self }
}

extension WantedFormat? {
    /// `nil`: nobody hears it.
    package mutating func formUnion(_ other: WantedFormat?) {
        self = self?.union(other) ?? other
    }
}

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
