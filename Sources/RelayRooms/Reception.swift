package import RelayBase

/// What a receiver has counted of a stream since it subscribed, and what it measures now. Validated: no number is negative, none is infinite.
package struct ReceiverTotals: Sendable, Equatable {
    package static let countMax: UInt64 = 1 << 53

    package var received: UInt64 = 0
    package var played: UInt64 = 0
    package var concealed: UInt64 = 0
    package var late: UInt64 = 0
    package var bufferMilliseconds: Double?
    package var jitterMilliseconds: Double?
    package var bitsPerSecond: Double?

    package init() {}

    func hasGoneBack(from earlier: ReceiverTotals) -> Bool {
        received < earlier.received || played < earlier.played || concealed < earlier.concealed || late < earlier.late
    }
}

/// How one receiver has had one stream of late.
package struct Reception: Sendable, Equatable {
    /// Shares from 0 to 1 of the frames that should have been played.
    package var concealedShare: Double
    package var lateShare: Double
    package var bufferMilliseconds: Double?
    package var jitterMilliseconds: Double?
    package var bitsPerSecond: Double?
    /// Frames that came since the report before; `nil` for the first, and within a fifth of a second.
    package var framesPerSecond: Double?
    package var at: MonotonicInstant

    /// A receiver that has said nothing for so long is not counted any more.
    package static let millisecondsMax: UInt64 = 10_000

    package func isCurrent(_ now: MonotonicInstant) -> Bool { now.milliseconds(since: at) < Self.millisecondsMax }
}

/// One receiver's reports, by stream: differences of the totals over a second at least, so that who reports often is not judged by a moment.
package struct ReceptionTable: Sendable {
    private struct Entry {
        let stream: UInt32
        var baseline: ReceiverTotals
        var baselineAt: MonotonicInstant
        var totals: ReceiverTotals
        var reception: Reception
    }

    private static let spanMilliseconds: UInt64 = 1_000
    /// By stream number.
    private var entries: [Entry] = []

    package init() {}

    package var count: Int { entries.count }

    /// Takes what is reported of a stream. The caller bounds the streams: those that the receiver has subscribed to.
    @discardableResult
    package mutating func take(_ stream: UInt32, _ totals: ReceiverTotals, now: MonotonicInstant) -> Reception {
        let (place, isThere) = find(stream)
        if !isThere {
            let reception = Self.reception(totals, since: ReceiverTotals(), now)
            entries.insert(Entry(stream: stream, baseline: totals, baselineAt: now, totals: totals, reception: reception), at: place)
            return reception
        }
        // Whoever counts from 0 again has begun anew.
        let isAnew = totals.hasGoneBack(from: entries[place].totals)
        if isAnew {
            entries[place].baseline = ReceiverTotals()
            entries[place].baselineAt = now
        }
        var reception = Self.reception(totals, since: entries[place].baseline, now)
        let elapsed = now.milliseconds(since: entries[place].reception.at)
        if elapsed >= 200, !isAnew {
            reception.framesPerSecond = Double(totals.received - entries[place].totals.received) * 1_000 / Double(elapsed)
        }
        if now.milliseconds(since: entries[place].baselineAt) >= Self.spanMilliseconds {
            entries[place].baseline = totals
            entries[place].baselineAt = now
        }
        entries[place].totals = totals
        entries[place].reception = reception
        return reception
    }

    /// What is known of a stream, unless it is too old.
    package func reception(of stream: UInt32, now: MonotonicInstant) -> Reception? {
        let (place, isThere) = find(stream)
        guard isThere, entries[place].reception.isCurrent(now) else { return nil }
        return entries[place].reception
    }

    /// The streams of which something current is known, in order.
    package func current(now: MonotonicInstant) -> [(stream: UInt32, totals: ReceiverTotals, reception: Reception)] {
        entries.filter { $0.reception.isCurrent(now) }.map { ($0.stream, $0.totals, $0.reception) }
    }

    /// Lets go of the streams that are over.
    package mutating func removeAll(but isThere: (UInt32) -> Bool) {
        entries.removeAll { !isThere($0.stream) }
    }

    private func find(_ stream: UInt32) -> (place: Int, isThere: Bool) {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].stream < stream { low = middle + 1 } else { high = middle }
        }
        return (low, low < entries.count && entries[low].stream == stream)
    }

    private static func reception(_ totals: ReceiverTotals, since baseline: ReceiverTotals, _ now: MonotonicInstant) -> Reception {
        let concealed = Double(totals.concealed &- baseline.concealed)
        let late = Double(totals.late &- baseline.late)
        let played = Double(totals.played &- baseline.played)
        let received = Double(totals.received &- baseline.received)
        // Who does not say what it has played has played what came in time.
        let expected = concealed + max(played, totals.played == 0 ? received - late : 0)
        return Reception(
            concealedShare: expected > 0 ? min(1, concealed / expected) : 0, lateShare: expected > 0 ? min(1, late / expected) : late > 0 ? 1 : 0,
            bufferMilliseconds: totals.bufferMilliseconds, jitterMilliseconds: totals.jitterMilliseconds, bitsPerSecond: totals.bitsPerSecond, at: now
        )
    }
}

/// How several receivers have a stream. Each counts the same, whatever it says that it has counted.
package struct ReceptionAggregate: Sendable, Equatable, Codable {
    package private(set) var receivers = 0
    private var concealedSum = 0.0
    private var lateSum = 0.0
    private var bufferSum = 0.0
    private var buffers = 0
    package private(set) var concealedShareMax = 0.0
    package private(set) var lateShareMax = 0.0
    package private(set) var bufferMillisecondsMax: Double?
    package private(set) var jitterMillisecondsMax: Double?

    package init() {}

    /// Of one that came from another node: it can be added to others.
    package var isSane: Bool {
        (0...1_000_000_000).contains(receivers) && (0...receivers).contains(buffers)
            && [concealedSum, lateSum, bufferSum, concealedShareMax, lateShareMax, bufferMillisecondsMax ?? 0, jitterMillisecondsMax ?? 0].allSatisfy(
                \.isFinite)
    }

    package var concealedShare: Double { receivers > 0 ? concealedSum / Double(receivers) : 0 }
    package var lateShare: Double { receivers > 0 ? lateSum / Double(receivers) : 0 }
    package var bufferMilliseconds: Double? { buffers > 0 ? bufferSum / Double(buffers) : nil }

    package mutating func add(_ reception: Reception) {
        receivers += 1
        concealedSum += reception.concealedShare
        lateSum += reception.lateShare
        concealedShareMax = max(concealedShareMax, reception.concealedShare)
        lateShareMax = max(lateShareMax, reception.lateShare)
        if let buffer = reception.bufferMilliseconds {
            bufferSum += buffer
            buffers += 1
            bufferMillisecondsMax = max(bufferMillisecondsMax ?? 0, buffer)
        }
        if let jitter = reception.jitterMilliseconds { jitterMillisecondsMax = max(jitterMillisecondsMax ?? 0, jitter) }
    }

    package mutating func add(_ other: ReceptionAggregate) {
        receivers += other.receivers
        concealedSum += other.concealedSum
        lateSum += other.lateSum
        bufferSum += other.bufferSum
        buffers += other.buffers
        concealedShareMax = max(concealedShareMax, other.concealedShareMax)
        lateShareMax = max(lateShareMax, other.lateShareMax)
        if let buffer = other.bufferMillisecondsMax { bufferMillisecondsMax = max(bufferMillisecondsMax ?? 0, buffer) }
        if let jitter = other.jitterMillisecondsMax { jitterMillisecondsMax = max(jitterMillisecondsMax ?? 0, jitter) }
    }
}

/// A stream's receivers on all loops, as the publisher's loop has heard of them.
package struct StreamReception: Sendable {
    private var parts: [(loop: Int, aggregate: ReceptionAggregate, at: MonotonicInstant)] = []
    private var lastTold: MonotonicInstant?
    /// Something has come that the publisher was not told.
    package private(set) var hasNews = false

    /// Between two reports to the publisher, and between two that a loop sends of its receivers.
    package static let tellMillisecondsMin: UInt64 = 2_000

    package init() {}

    package mutating func take(_ aggregate: ReceptionAggregate, from loop: Int, now: MonotonicInstant) {
        parts.removeAll { $0.loop == loop }
        parts.append((loop, aggregate, now))
        hasNews = true
    }

    /// All receivers of which something current is known; `nil` when there are none.
    package mutating func total(now: MonotonicInstant) -> ReceptionAggregate? {
        parts.removeAll { now.milliseconds(since: $0.at) >= Reception.millisecondsMax }
        var total = ReceptionAggregate()
        for part in parts { total.add(part.aggregate) }
        return total.receivers > 0 ? total : nil
    }

    /// What the publisher is to be told now; `nil` when it was told a moment ago, or there is nothing new.
    package mutating func news(now: MonotonicInstant) -> ReceptionAggregate? {
        guard hasNews, lastTold.map({ now.milliseconds(since: $0) >= Self.tellMillisecondsMin }) ?? true else { return nil }
        hasNews = false
        guard let total = total(now: now) else { return nil }
        lastTold = now
        return total
    }

}
