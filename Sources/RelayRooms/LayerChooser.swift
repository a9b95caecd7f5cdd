package import RelayBase

/// What is known of a subscriber's connection.
package struct BandwidthView: Hashable, Sendable {
    /// What the connection carries, as far as is known; `nil`: nothing is.
    package var bitsPerSecond: Int?
    /// The network is what limits it, not what there is to send.
    package var isLimited: Bool
    package var isCongested: Bool

    package init(bitsPerSecond: Int? = nil, isLimited: Bool = false, isCongested: Bool = false) {
        self.bitsPerSecond = bitsPerSecond
        self.isLimited = isLimited
        self.isCongested = isCongested
    }
}

/// Which layers of its video streams one subscriber gets: down at once when its connection does not carry them, up with care.
///
/// A connection shows what it carries only while more is sent than it does, so going up is a trial. One that fails makes the next wait twice as long; one
/// that lasts, or an estimate that has clearly risen since, makes it short again. Base layers of all streams go before enhancement of any; then the more
/// important streams go first, and equals evenly. The most important stream is never paused.
package struct LayerChooser: Sendable {
    /// One of the subscriber's video streams.
    package struct Stream: Sendable {
        package var slot: StreamSlot
        /// Higher is more important.
        package var priority: Int
        package var wishes: LayerWishes
        /// Lowest first, never empty.
        package var ladder: [LayerOption]

        package init(slot: StreamSlot, priority: Int, wishes: LayerWishes, ladder: [LayerOption]) {
            self.slot = slot
            self.priority = priority
            self.wishes = wishes
            self.ladder = ladder.isEmpty ? [LayerOption(spatial: 0, temporal: LayerChoice.layersMax - 1, bitsPerSecond: 0)] : ladder
        }

        /// Whether a rung may be given; the lowest always may.
        func allows(_ rung: Int) -> Bool {
            guard rung > 0 else { return true }
            let option = ladder[rung]
            // All temporal layers of an upper spatial layer are one rung; a bound on them is put on the choice itself.
            let isBase = option.spatial == ladder[0].spatial
            return option.spatial <= wishes.spatialMax && option.bitsPerSecond <= wishes.bitsPerSecondMax ?? .max
                && (!isBase || ladder[rung - 1].temporal < wishes.temporalMax)
        }

        func next(above rung: Int) -> Int? {
            (max(rung + 1, 0)..<max(ladder.count, rung + 1)).first(where: allows)
        }

        func next(below rung: Int) -> Int? {
            (0..<max(rung, 0)).last(where: allows)
        }

        func bitsPerSecond(_ rung: Int) -> Int { rung < 0 ? 0 : ladder[rung].bitsPerSecond }

        func choice(_ rung: Int) -> LayerChoice {
            guard rung >= 0 else { return .none }
            return LayerChoice(spatial: ladder[rung].spatial, temporal: min(ladder[rung].temporal, wishes.temporalMax))
        }

        /// The rung that is now what the choice was.
        func rung(of option: LayerOption?) -> Int {
            guard let option else { return LayerChooser.paused }
            return ladder.indices.last { rung in
                let other = ladder[rung]
                return allows(rung) && (other.spatial, other.temporal) <= (option.spatial, option.temporal)
            } ?? 0
        }
    }

    /// After a step down, and between the steps up.
    package static let holdMilliseconds: UInt64 = 3_000
    private static let stepMilliseconds: UInt64 = 1_500
    private static let holdMillisecondsMax: UInt64 = 30_000
    /// A step up that is followed by congestion within this time has failed.
    private static let trialMilliseconds: UInt64 = 8_000
    private static let overMillisecondsMax: UInt64 = 300
    private static let congestedMillisecondsMax: UInt64 = 1_000
    /// What is taken to go through while nothing is known.
    private static let startBitsPerSecond = 1_000_000
    private static let headroomPercent = 115
    private static let risenPercent = 140
    static let paused = -1

    private struct Entry {
        var slot: StreamSlot
        /// `nil`: paused.
        var option: LayerOption?
    }

    private var entries: [Entry] = []
    private var rungs: [Int] = []
    private var lastDown: MonotonicInstant?
    private var lastUp: MonotonicInstant?
    private var firstLook: MonotonicInstant?
    private var isOnTrial = false
    private var hold = holdMilliseconds
    /// The estimate without its noise; going down looks at what is known now.
    private var steadyBitsPerSecond: Int?
    /// What the connection was found to carry when a step up failed.
    private var failedBitsPerSecond: Int?
    private var overSince: MonotonicInstant?
    private var congestedSince: MonotonicInstant?

    package init() {}

    /// Whether something was taken away that may be given back.
    package var isHolding: Bool { lastDown != nil }

    /// Looks at the connection and decides, a few times a second.
    ///
    /// - Parameters:
    ///   - streams: those that the subscriber wants, with what may be had of them now.
    ///   - reservedBitsPerSecond: what goes before video: audio and data as they flow.
    /// - Returns: the layers of each stream, in the same order.
    package mutating func look(_ streams: [Stream], _ view: BandwidthView, reservedBitsPerSecond: Int, now: MonotonicInstant) -> [LayerChoice] {
        firstLook = firstLook ?? now
        let budget = view.bitsPerSecond.map { max(0, $0 - reservedBitsPerSecond) }
        adopt(streams, view, budget)
        noteTime(view, now)
        let total = cost(streams)
        let steady = steadyBitsPerSecond.map { max(0, min($0, view.bitsPerSecond ?? $0) - reservedBitsPerSecond) }
        if view.isCongested || view.isLimited, !streams.isEmpty, lower(streams, view, budget, total: total, now) {
            noteDown(now)
        } else if !view.isCongested, mayRaise(now), raise(streams, view, steady, total: total) {
            lastUp = now
            isOnTrial = true
        }
        entries = streams.indices.map { Entry(slot: streams[$0].slot, option: rungs[$0] < 0 ? nil : streams[$0].ladder[rungs[$0]]) }
        return streams.indices.map { streams[$0].choice(rungs[$0]) }
    }

    /// The bit rate that all that is wished for would take; `nil` when nothing of it is missing.
    ///
    /// - Parameter streams: as in the last ``look(_:_:reservedBitsPerSecond:now:)``.
    package func missing(_ streams: [Stream], reservedBitsPerSecond: Int) -> Int? {
        guard streams.count == rungs.count, streams.indices.contains(where: { streams[$0].next(above: rungs[$0]) != nil }) else { return nil }
        let total = streams.reduce(0) { total, stream in
            total + stream.bitsPerSecond(stream.ladder.indices.last(where: stream.allows) ?? 0)
        }
        return total / 100 * LayerChooser.headroomPercent + reservedBitsPerSecond
    }

    private func cost(_ streams: [Stream]) -> Int {
        streams.indices.reduce(0) { $0 + streams[$1].bitsPerSecond(rungs[$1]) }
    }

    /// Finds the streams of before on their ladders of now, and a place for those that are new.
    private mutating func adopt(_ streams: [Stream], _ view: BandwidthView, _ budget: Int?) {
        rungs.removeAll(keepingCapacity: true)
        var new: [Int] = []
        for (place, stream) in streams.enumerated() {
            if let entry = entries.first(where: { $0.slot == stream.slot }) {
                rungs.append(stream.rung(of: entry.option))
            } else {
                rungs.append(LayerChooser.paused)
                new.append(place)
            }
        }
        guard !new.isEmpty else { return }
        let isConstrained = view.isLimited || view.isCongested
        let known = (budget ?? 0) * 100 / LayerChooser.headroomPercent
        var room = (isConstrained && budget != nil ? known : max(known, LayerChooser.startBitsPerSecond)) - cost(streams)
        for place in new.sorted(by: { (streams[$0].priority, $1) > (streams[$1].priority, $0) }) {
            let stream = streams[place]
            rungs[place] = stream.ladder.indices.last { stream.allows($0) && stream.bitsPerSecond($0) <= room } ?? 0
            room -= stream.bitsPerSecond(rungs[place])
        }
    }

    private mutating func noteTime(_ view: BandwidthView, _ now: MonotonicInstant) {
        steadyBitsPerSecond = view.bitsPerSecond.map { ((steadyBitsPerSecond ?? $0) / 5 * 4) + $0 / 5 }
        congestedSince = view.isCongested ? congestedSince ?? now : nil
        if isOnTrial, let lastUp, now.milliseconds(since: lastUp) >= LayerChooser.trialMilliseconds {
            isOnTrial = false
            hold = LayerChooser.holdMilliseconds
            failedBitsPerSecond = nil
        }
        if !view.isCongested, let failed = failedBitsPerSecond, let bits = steadyBitsPerSecond, bits / LayerChooser.risenPercent >= failed / 100 {
            hold = LayerChooser.holdMilliseconds
            failedBitsPerSecond = nil
        }
    }

    private mutating func noteDown(_ now: MonotonicInstant) {
        lastDown = now
        overSince = nil
        guard isOnTrial else { return }
        isOnTrial = false
        hold = min(hold * 2, LayerChooser.holdMillisecondsMax)
        failedBitsPerSecond = steadyBitsPerSecond
    }

    // MARK: Down

    /// Takes layers away when more is sent than goes through. Answers whether anything was.
    private mutating func lower(_ streams: [Stream], _ view: BandwidthView, _ budget: Int?, total: Int, _ now: MonotonicInstant) -> Bool {
        if let budget, total > budget {
            let since = overSince ?? now
            overSince = since
            guard view.isCongested || now.milliseconds(since: since) >= LayerChooser.overMillisecondsMax else { return false }
            return refill(streams, budget * 95 / 100)
        }
        overSince = nil
        // It should fit, but a queue stays: the estimate is too high.
        guard let congestedSince, now.milliseconds(since: congestedSince) >= LayerChooser.congestedMillisecondsMax else { return false }
        if let lastDown, now.milliseconds(since: lastDown) < LayerChooser.congestedMillisecondsMax { return false }
        return lowerOne(streams)
    }

    /// Shares a bit rate out anew, nobody getting more than before.
    private mutating func refill(_ streams: [Stream], _ bitsPerSecond: Int) -> Bool {
        let before = rungs
        for place in streams.indices { rungs[place] = LayerChooser.paused }
        var room = bitsPerSecond
        if let first = order(streams).first(where: { before[$0] >= 0 }) {
            rungs[first] = 0
            room -= streams[first].bitsPerSecond(0)
        }
        climb(streams, &room) { place, rung in rung <= before[place] }
        return rungs != before
    }

    /// The costliest step of the least important stream.
    private mutating func lowerOne(_ streams: [Stream]) -> Bool {
        let order = order(streams)
        for place in order.reversed() {
            guard let below = streams[place].next(below: rungs[place]) else { continue }
            rungs[place] = below
            return true
        }
        guard let last = order.last(where: { rungs[$0] >= 0 }), last != order.first else { return false }
        rungs[last] = LayerChooser.paused
        return true
    }

    // MARK: Up

    private func mayRaise(_ now: MonotonicInstant) -> Bool {
        if let lastDown, now.milliseconds(since: lastDown) < hold { return false }
        return now.milliseconds(since: lastUp ?? firstLook ?? now) >= LayerChooser.stepMilliseconds
    }

    /// Gives more: as much as is known to fit, else one step as a trial. Answers whether anything was given.
    private mutating func raise(_ streams: [Stream], _ view: BandwidthView, _ budget: Int?, total: Int) -> Bool {
        let before = rungs
        if let budget {
            var room = budget * 100 / LayerChooser.headroomPercent - total
            climb(streams, &room) { _, _ in true }
            if rungs != before { return true }
        }
        guard !view.isLimited else { return false }
        for place in order(streams) where rungs[place] < 0 {
            rungs[place] = 0
            return true
        }
        var best: Int?
        for place in order(streams) where streams[place].next(above: rungs[place]) != nil {
            guard let other = best else {
                best = place
                continue
            }
            if streams[place].priority == streams[other].priority, rungs[place] < rungs[other] { best = place }
        }
        guard let best, let rung = streams[best].next(above: rungs[best]) else { return false }
        rungs[best] = rung
        return true
    }

    /// Places by importance; among equals, in the order given.
    private func order(_ streams: [Stream]) -> [Int] {
        streams.indices.sorted { (streams[$0].priority, $1) > (streams[$1].priority, $0) }
    }

    /// Gives steps for as long as they fit: first the base of every stream, then by importance, and among equals to whoever has least.
    private mutating func climb(_ streams: [Stream], _ room: inout Int, _ isAllowed: (_ place: Int, _ rung: Int) -> Bool) {
        let order = order(streams)
        for place in order where rungs[place] < 0 && isAllowed(place, 0) && streams[place].bitsPerSecond(0) <= room {
            rungs[place] = 0
            room -= streams[place].bitsPerSecond(0)
        }
        while true {
            var best: (place: Int, rung: Int)?
            for place in order where rungs[place] >= 0 {
                guard let rung = streams[place].next(above: rungs[place]), isAllowed(place, rung),
                    streams[place].bitsPerSecond(rung) - streams[place].bitsPerSecond(rungs[place]) <= room
                else { continue }
                guard let other = best else {
                    best = (place, rung)
                    continue
                }
                if streams[place].priority == streams[other.place].priority, rungs[place] < rungs[other.place] { best = (place, rung) }
            }
            guard let (place, rung) = best else { return }
            room -= streams[place].bitsPerSecond(rung) - streams[place].bitsPerSecond(rungs[place])
            rungs[place] = rung
        }
    }
}
