import RelayBase

/// Where a client comes from, as far as wrong codes are counted: an IPv4 address, or the upper half of an IPv6 one.
package struct PairSource: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// Counts wrong codes, by identity and by address.
///
/// An identity has three misses in any two minutes. An address has a bound too, for an attacker with many certificates; but it never refuses an identity's
/// first try in its window, so that a guest who shares an address with others cannot lock them out. A right code is no miss and forgives none.
///
/// The tables forget nothing that still counts: when one is full, whoever is not in it waits. Only a miss makes an entry, and each needs a certificate of its
/// own, so that nobody fills the tables with names, or pushes their own misses out.
struct PairTries: Sendable {
    private struct Window: Sendable {
        var start: MonotonicInstant
        var count: Int
    }

    private let limits: PairLimits
    /// When an identity's latest misses were, at most ``PairLimits/triesPerIdentityMax`` of them, the earliest first.
    private var identities: [String: [MonotonicInstant]] = [:]
    private var sources: [PairSource: Window] = [:]
    private var pruneAt = MonotonicInstant.zero
    private static let pruneMilliseconds: UInt64 = 10_000

    init(limits: PairLimits) {
        self.limits = limits
    }

    /// Whether a code may be looked at. To be asked before it is: the answer to a code that is not looked at tells nothing about it.
    mutating func mayTry(_ name: String, from source: PairSource, now: MonotonicInstant) -> Bool {
        let misses = recent(name, now)
        guard misses > 0 else { return identities[name] != nil || hasRoom(for: name, now) }
        guard misses < limits.triesPerIdentityMax else { return false }
        if let window = sources[source] { return isOver(window, now) || window.count < limits.triesPerSourceMax }
        return hasRoom(for: source, now)
    }

    mutating func missed(_ name: String, from source: PairSource, now: MonotonicInstant) {
        var misses = identities[name] ?? []
        misses.append(now)
        if misses.count > limits.triesPerIdentityMax { misses.removeFirst() }
        identities[name] = misses
        var window = sources[source] ?? Window(start: now, count: 0)
        if isOver(window, now) { window = Window(start: now, count: 0) }
        window.count += 1
        if sources[source] != nil || hasRoom(for: source, now) { sources[source] = window }
    }

    /// Forgets misses that count no more.
    mutating func expire(now: MonotonicInstant) {
        guard now >= pruneAt else { return }
        pruneAt = now.advanced(byMilliseconds: PairTries.pruneMilliseconds)
        prune(now)
    }

    private mutating func prune(_ now: MonotonicInstant) {
        identities = identities.filter { entry in entry.value.last.map { !hasPassed(since: $0, now) } ?? false }
        sources = sources.filter { !isOver($0.value, now) }
    }

    private func recent(_ name: String, _ now: MonotonicInstant) -> Int {
        identities[name]?.count { !hasPassed(since: $0, now) } ?? 0
    }

    private mutating func hasRoom(for name: String, _ now: MonotonicInstant) -> Bool {
        if identities.count >= limits.identitiesWithMissesMax { expire(now: now) }
        return identities.count < limits.identitiesWithMissesMax
    }

    private mutating func hasRoom(for source: PairSource, _ now: MonotonicInstant) -> Bool {
        if sources.count >= limits.sourcesWithMissesMax { expire(now: now) }
        return sources.count < limits.sourcesWithMissesMax
    }

    private func hasPassed(since instant: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        now.milliseconds(since: instant) >= limits.openMilliseconds
    }

    private func isOver(_ window: Window, _ now: MonotonicInstant) -> Bool {
        hasPassed(since: window.start, now)
    }
}
