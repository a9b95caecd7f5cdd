import RelayBase
import Testing

@testable import RelayRooms

@Suite("Choice of layers by bandwidth")
struct LayerChooserTests {
    private static let simulcast = [(0, 150_000), (1, 500_000), (2, 1_500_000)].map { LayerOption(spatial: $0, temporal: 7, bitsPerSecond: $1) }

    /// A link with a queue before it, and what TCP would learn of it: while the queue stands, what goes through; while it does not, only that more might.
    private struct Link {
        var bitsPerSecond: Int
        var queuedBits = 0
        var view = BandwidthView()
        /// Percent that an estimate may be off.
        var noise = 0

        mutating func carry(_ offered: Int, milliseconds: Int, _ random: inout SeededGenerator) {
            queuedBits += offered * milliseconds / 1_000
            let sent = min(queuedBits, bitsPerSecond * milliseconds / 1_000)
            queuedBits -= sent
            // What waits longer than its deadline is dropped at the relay.
            queuedBits = min(queuedBits, offered * 400 / 1_000)
            let delay = queuedBits * 1_000 / bitsPerSecond
            view.isLimited = delay > 10
            view.isCongested = view.isCongested ? delay > 50 : delay > 150
            let known = view.bitsPerSecond ?? 0
            view.bitsPerSecond = view.isLimited ? (known * 7 + bitsPerSecond * 3) / 10 : max(known, min(2 * offered, bitsPerSecond))
        }

        func seen(_ random: inout SeededGenerator) -> BandwidthView {
            var seen = view
            if let bits = view.bitsPerSecond, noise > 0 { seen.bitsPerSecond = bits / 100 * (100 + .random(in: -noise...noise, using: &random)) }
            return seen
        }
    }

    /// A subscriber of one simulcast stream and 32 kbit/s of audio, by the tenth of a second.
    private struct Simulation {
        var link: Link
        var chooser = LayerChooser()
        var now = MonotonicInstant(nanoseconds: 1)
        var random: SeededGenerator
        var choice = LayerChoice.none
        var switches = 0
        var log: [(second: Double, choice: LayerChoice)] = []
        private var pending: [LayerChoice] = []

        init(bitsPerSecond: Int, seed: UInt64 = 1, noise: Int = 0) {
            link = Link(bitsPerSecond: bitsPerSecond, noise: noise)
            random = SeededGenerator(seed: seed)
        }

        mutating func run(seconds: Double, change: (inout Link, Double) -> Void = { _, _ in }) {
            for tick in 0..<Int(seconds * 10) {
                change(&link, Double(tick) / 10)
                let stream = LayerChooser.Stream(slot: StreamSlot(0), priority: 2, wishes: LayerWishes(), ladder: LayerChooserTests.simulcast)
                let next = chooser.look([stream], link.seen(&random), reservedBitsPerSecond: 32_000, now: now)[0]
                if next != choice { switches += 1 }
                choice = next
                // A key frame has to come before a change takes effect.
                pending.append(next)
                let current = pending.count > 2 ? pending.removeFirst() : pending[0]
                log.append((Double(now.nanoseconds) / 1e9, next))
                let video = LayerChooserTests.simulcast.first { $0.choice == current }?.bitsPerSecond ?? 0
                link.carry(video + 32_000, milliseconds: 100, &random)
                now = now.advanced(byMilliseconds: 100)
            }
        }

        /// Seconds until the choice is within the spatial layer for good, from a place in the log on.
        func settles(from start: Int, at spatial: Int) -> Double? {
            guard let last = log[start...].last(where: { $0.choice.spatial != spatial }) else { return 0 }
            return log.last?.choice.spatial == spatial ? last.second - log[start].second + 0.1 : nil
        }
    }

    @Test("2 Mbit/s, 200 kbit/s, 2 Mbit/s: down within 2 s, back within 10 s of the recovery")
    func steps() throws {
        for low in [5.0, 12, 30, 61] {
            var simulation = Simulation(bitsPerSecond: 2_000_000)
            simulation.run(seconds: 20)
            #expect(simulation.choice.spatial == 2, "the top is not reached")
            let fall = simulation.log.count
            simulation.link.bitsPerSecond = 200_000
            simulation.run(seconds: 2)
            #expect(simulation.choice.spatial == 0, "too slow down")
            simulation.run(seconds: low - 2)
            let high = simulation.log[fall...].dropFirst(20).count { $0.choice.spatial != 0 }
            #expect(Double(high) / 10 <= low / 4, "too much is tried: \(high) tenths of a second above")
            let rise = simulation.log.count
            simulation.link.bitsPerSecond = 2_000_000
            simulation.run(seconds: 30)
            let settled = try #require(simulation.settles(from: rise, at: 2), "not back at all")
            #expect(settled <= 10, "back after \(settled) s, after \(low) s below")
        }
    }

    @Test("a connection that never was limited is given everything within a few seconds, step by step")
    func clear() {
        var simulation = Simulation(bitsPerSecond: 100_000_000)
        simulation.run(seconds: 5)
        #expect(simulation.choice.spatial == 2)
        #expect(simulation.switches <= 3)
    }

    @Test("a slow ramp down and up is followed without overshoot", arguments: 0..<5 as Range<UInt64>)
    func ramp(seed: UInt64) {
        var simulation = Simulation(bitsPerSecond: 2_000_000, seed: seed, noise: 5)
        simulation.run(seconds: 10)
        simulation.run(seconds: 60) { $0.bitsPerSecond = 2_000_000 - Int(30_000 * $1) }
        #expect(simulation.choice.spatial == 0)
        simulation.run(seconds: 60) { $0.bitsPerSecond = 200_000 + Int(30_000 * $1) }
        simulation.run(seconds: 30)
        #expect(simulation.choice.spatial == 2)
        #expect(simulation.switches <= 24, "\(simulation.switches) switches")
    }

    @Test(
        "noise does not make it flap: at most six changes a minute", arguments: [400_000, 700_000, 1_600_000, 2_500_000], 1..<6 as Range<UInt64>)
    func noise(bitsPerSecond: Int, seed: UInt64) {
        var simulation = Simulation(bitsPerSecond: bitsPerSecond, seed: seed, noise: 20)
        simulation.run(seconds: 60)
        simulation.switches = 0
        simulation.run(seconds: 120)
        #expect(simulation.switches <= 12, "\(simulation.switches) changes in two minutes")
    }

    private func look(
        _ chooser: inout LayerChooser, _ streams: [LayerChooser.Stream], _ view: BandwidthView, reserved: Int = 0, at milliseconds: UInt64
    ) -> [LayerChoice] {
        chooser.look(streams, view, reservedBitsPerSecond: reserved, now: MonotonicInstant(nanoseconds: 1).advanced(byMilliseconds: milliseconds))
    }

    private func stream(_ slot: Int, priority: Int = 2, _ ladder: [LayerOption] = simulcast, _ change: (inout LayerWishes) -> Void = { _ in })
        -> LayerChooser.Stream
    {
        var wishes = LayerWishes()
        change(&wishes)
        return LayerChooser.Stream(slot: StreamSlot(slot), priority: priority, wishes: wishes, ladder: ladder)
    }

    @Test(
        "protocol §3.8: wishes bound what is given, whatever the bandwidth",
        arguments: [
            (2, 7, nil, LayerChoice(spatial: 2)), (1, 7, nil, LayerChoice(spatial: 1)), (2, 1, nil, LayerChoice(spatial: 2, temporal: 1)),
            (2, 7, 600_000, LayerChoice(spatial: 1)), (2, 7, 10, LayerChoice(spatial: 0)), (0, 0, nil, LayerChoice(spatial: 0, temporal: 0)),
        ] as [(Int, Int, Int?, LayerChoice)])
    func wishes(spatial: Int, temporal: Int, bitrate: Int?, expected: LayerChoice) {
        var chooser = LayerChooser()
        var choice = LayerChoice.none
        let stream = stream(0) {
            $0.spatialMax = spatial
            $0.temporalMax = temporal
            $0.bitsPerSecondMax = bitrate
        }
        for tick in 0..<200 as Range<UInt64> { choice = look(&chooser, [stream], BandwidthView(bitsPerSecond: 50_000_000), at: tick * 100)[0] }
        #expect(choice == expected)
    }

    @Test("bandwidth that is left by audio and data is shared: bases first, then by priority, then evenly")
    func sharing() {
        let limited = { BandwidthView(bitsPerSecond: $0, isLimited: true) }
        var chooser = LayerChooser()
        let streams = [stream(0, priority: 1), stream(1, priority: 3), stream(2, priority: 1)]
        #expect(look(&chooser, streams, limited(460_000), at: 0).map(\.spatial) == [0, 0, 0])
        chooser = LayerChooser()
        var choices = look(&chooser, streams, limited(5_000_000), at: 0)
        #expect(choices.map(\.spatial) == [2, 2, 1] || choices.map(\.spatial) == [2, 2, 2] || choices.map(\.spatial) == [1, 2, 1])
        for tick in 1...4 as ClosedRange<UInt64> { choices = look(&chooser, streams, limited(2_200_000), reserved: 100_000, at: tick * 100) }
        #expect(choices.map(\.spatial) == [0, 2, 0], "the important one goes first, and the others keep their base")
        for tick in 5...9 as ClosedRange<UInt64> { choices = look(&chooser, streams, limited(400_000), at: tick * 100) }
        #expect(choices[1].spatial == 0 && choices[0].spatial == 0 && choices[2].isNone, "of the least important, the last pauses")
        for tick in 10...14 as ClosedRange<UInt64> { choices = look(&chooser, streams, limited(100_000), at: tick * 100) }
        #expect(!choices[1].isNone && choices[0].isNone && choices[2].isNone, "the most important is never paused")
    }

    @Test("when the lowest spatial layer does not fit, its temporal layers go first")
    func temporalFirst() {
        let ladder = [(0, 60_000), (1, 90_000), (7, 150_000)].map { LayerOption(spatial: 0, temporal: $0, bitsPerSecond: $1) }
        var chooser = LayerChooser()
        var choice = look(&chooser, [stream(0, ladder)], BandwidthView(), at: 0)[0]
        #expect(choice.temporal == 7)
        for tick in 1...5 as ClosedRange<UInt64> {
            choice = look(&chooser, [stream(0, ladder)], BandwidthView(bitsPerSecond: 100_000, isLimited: true), at: tick * 100)[0]
        }
        #expect(choice == LayerChoice(spatial: 0, temporal: 1))
    }

    @Test("congestion that stays although all should fit costs one step a second")
    func stubbornCongestion() {
        var chooser = LayerChooser()
        var choice = LayerChoice.none
        for tick in 0..<60 as Range<UInt64> { choice = look(&chooser, [stream(0)], BandwidthView(bitsPerSecond: 9_000_000), at: tick * 100)[0] }
        #expect(choice.spatial == 2)
        let congested = BandwidthView(bitsPerSecond: 9_000_000, isLimited: true, isCongested: true)
        for tick in 60..<73 as Range<UInt64> { choice = look(&chooser, [stream(0)], congested, at: tick * 100)[0] }
        #expect(choice.spatial == 1)
        for tick in 73..<85 as Range<UInt64> { choice = look(&chooser, [stream(0)], congested, at: tick * 100)[0] }
        #expect(choice.spatial == 0)
    }
}
