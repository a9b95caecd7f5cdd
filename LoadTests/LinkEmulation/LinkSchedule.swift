/// The two directions of a link between the ends a and b.
package struct LinkDirections: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let aToB = LinkDirections(rawValue: 1)
    package static let bToA = LinkDirections(rawValue: 2)
    package static let both: LinkDirections = [.aToB, .bToA]
}

/// A change and where it happens.
package struct DirectedChange: Equatable, Sendable {
    package let directions: LinkDirections
    package let change: LinkChange

    package init(directions: LinkDirections, change: LinkChange) {
        self.directions = directions
        self.change = change
    }

    /// Reads `rate=2000,ab.loss=1`: changes with a prefix `ab.` or `ba.` concern one direction.
    package static func list(_ text: some StringProtocol) throws(LinkSyntaxFault) -> [DirectedChange] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { item throws(LinkSyntaxFault) in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw LinkSyntaxFault("\(item): not KEY=VALUE") }
            var name = parts[0]
            var directions = LinkDirections.both
            for (prefix, meaning) in [("ab.", LinkDirections.aToB), ("ba.", .bToA)] where name.hasPrefix(prefix) {
                name = name.dropFirst(prefix.count)
                directions = meaning
                break
            }
            guard let key = LinkChange.Key(rawValue: String(name)) else { throw LinkSyntaxFault("\(item): unknown key") }
            return DirectedChange(directions: directions, change: try LinkChange(key, parts[1]))
        }
    }
}

/// Changes in the order of their times, each taken once.
package struct LinkSchedule: Sendable {
    private struct Entry {
        let offsetNanoseconds: UInt64
        let change: DirectedChange
    }

    package static let changesMax = 100_000
    private static let secondsMax = 1e6

    private var entries: [Entry] = []
    private var taken = 0

    package init() {}

    /// Adds `SECONDS:key=value[,key=value…]`, seconds from the link's beginning. Changes at the same time happen in the order in which they were added.
    package mutating func add(_ text: some StringProtocol) throws(LinkSyntaxFault) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Double(parts[0]), seconds >= 0, seconds <= Self.secondsMax else {
            throw LinkSyntaxFault("\(text): not SECONDS:KEY=VALUE")
        }
        let offset = UInt64(seconds * 1e9)
        for change in try DirectedChange.list(parts[1]) {
            guard entries.count < Self.changesMax else { throw LinkSyntaxFault("more than \(Self.changesMax) changes") }
            let place = entries.firstIndex { $0.offsetNanoseconds > offset } ?? entries.endIndex
            entries.insert(Entry(offsetNanoseconds: offset, change: change), at: place)
        }
    }

    /// When the next change is due, in nanoseconds from the beginning; `nil` when there is none left.
    package var nextOffsetNanoseconds: UInt64? {
        taken < entries.count ? entries[taken].offsetNanoseconds : nil
    }

    /// The next change that is due `elapsedNanoseconds` after the beginning.
    package mutating func next(elapsedNanoseconds: UInt64) -> DirectedChange? {
        guard let offset = nextOffsetNanoseconds, offset <= elapsedNanoseconds else { return nil }
        taken += 1
        return entries[taken - 1].change
    }
}
