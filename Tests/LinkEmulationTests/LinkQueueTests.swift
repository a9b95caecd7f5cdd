import RelayBase
import Testing

@testable import LinkEmulation

/// A queue under a microscope: packets are told apart by the number in their first bytes.
private final class Bench {
    var queue: LinkQueue
    /// Never goes back: what a stall has held is due at once.
    private var now = MonotonicInstant.zero
    var arrivals: [(number: UInt32, at: MonotonicInstant)] = []

    init(seed: UInt64 = 1, _ change: (inout LinkSettings) -> Void) {
        var settings = LinkSettings()
        change(&settings)
        queue = LinkQueue(settings, seed: seed)
    }

    func offer(_ number: UInt32, bytes: Int = 1_000, at nanoseconds: UInt64) -> LinkQueue.Offer {
        var packet = [UInt8](repeating: 0xA5, count: bytes)
        for place in 0..<4 { packet[place] = UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32(place))) }
        return unsafe queue.offer(packet.span.bytes, now: MonotonicInstant(nanoseconds: nanoseconds))
    }

    /// Asks at every deadline up to `end`, so that arrivals are told at the instant of the model.
    func run(until end: UInt64) {
        while let next = queue.nextDeadline, next.nanoseconds <= end { take(at: max(next, now)) }
        take(at: MonotonicInstant(nanoseconds: end))
    }

    func change(_ change: LinkChange, at nanoseconds: UInt64) {
        now = MonotonicInstant(nanoseconds: nanoseconds)
        queue.change(change, now: now)
    }

    func take(at instant: MonotonicInstant) {
        now = max(now, instant)
        var taken: [UInt32] = []
        queue.deliver(now: now) { packet in
            var number: UInt32 = 0
            for place in 0..<4 { number = number << 8 | UInt32(unsafe packet.unsafeLoad(fromByteOffset: place, as: UInt8.self)) }
            taken.append(number)
            return true
        }
        for number in taken { arrivals.append((number, now)) }
    }

    var milliseconds: [Double] { arrivals.map { Double($0.at.nanoseconds) / 1e6 } }
    var isConserved: Bool {
        let counters = queue.counters
        return counters.offered == counters.lost + counters.overflowed + counters.delivered + UInt64(queue.packetsInside)
    }
}

@Suite("One direction of an emulated link")
struct LinkQueueTests {
    @Test(
        "a packet takes its bytes over the rate, and the delay",
        arguments: [
            (kilobits: 0.0, delay: 0.0, arrivals: [0.0, 0, 0]),
            (kilobits: 0, delay: 20, arrivals: [20, 20, 20]),
            (kilobits: 8_000, delay: 0, arrivals: [1, 2, 3]),
            (kilobits: 8_000, delay: 20, arrivals: [21, 22, 23]),
            (kilobits: 200, delay: 5, arrivals: [45, 85, 125]),
        ])
    func times(kilobits: Double, delay: Double, arrivals: [Double]) {
        let bench = Bench {
            $0.bitsPerSecond = kilobits * 1_000
            $0.delayNanoseconds = UInt64(delay * 1e6)
        }
        for number in 0..<3 as Range<UInt32> { #expect(bench.offer(number, at: 0) == .accepted) }
        bench.run(until: 1_000_000_000)
        #expect(bench.milliseconds == arrivals)
        #expect(bench.isConserved)
    }

    @Test("an idle transmitter begins a packet when it comes")
    func idle() {
        let bench = Bench { $0.bitsPerSecond = 8e6 }
        _ = bench.offer(0, at: 0)
        _ = bench.offer(1, at: 10_000_000)
        bench.run(until: 1_000_000_000)
        #expect(bench.milliseconds == [1, 11])
    }

    @Test("the queue holds its bound and drops what finds no room", arguments: [(bytes: 0, accepted: 1), (5_000, 5), (5_999, 5), (6_000, 6)])
    func bound(bytes: Int, accepted: Int) {
        let bench = Bench {
            $0.bitsPerSecond = 8e3
            $0.queueBytesMax = bytes
        }
        let offers = (0..<10).map { bench.offer($0, at: 0) }
        #expect(offers.filter { $0 == .accepted }.count == accepted)
        #expect(offers.filter { $0 == .overflowed }.count == 10 - accepted)
        #expect(bench.queue.counters.waitingBytesHighest <= max(bytes, 1_000))
        #expect(bench.isConserved)
    }

    @Test("what travels does not fill the queue")
    func travelling() {
        let bench = Bench {
            $0.bitsPerSecond = 8e6
            $0.delayNanoseconds = 1_000_000_000
            $0.queueBytesMax = 2_000
        }
        // One packet a millisecond: as fast as they are sent.
        for number in 0..<500 as Range<UInt32> { #expect(bench.offer(number, at: UInt64(number) * 1_000_000) == .accepted) }
        #expect(bench.queue.waitingBytes <= 2_000)
        #expect(bench.queue.bytesInside == 500_000)
    }

    @Test("a new rate concerns what waits, the half-sent packet included")
    func rateChange() {
        let bench = Bench { $0.bitsPerSecond = 8e6 }
        for number in 0..<2 as Range<UInt32> { _ = bench.offer(number, at: 0) }
        // Half of the first is sent; the other half, 4,000 bits, takes 20 ms at 200 kbit/s, the second 40 ms.
        bench.change(.bitsPerSecond(200e3), at: 500_000)
        bench.run(until: 1_000_000_000)
        #expect(bench.milliseconds == [20.5, 60.5])
    }

    @Test("a stall holds what waits and what travels, and lets all of it go afterwards")
    func stall() {
        let bench = Bench {
            $0.bitsPerSecond = 8e6
            $0.delayNanoseconds = 10_000_000
        }
        for number in 0..<4 as Range<UInt32> { _ = bench.offer(number, at: 0) }
        // One has been sent and travels, one is half sent.
        bench.change(.stall(true), at: 1_500_000)
        #expect(bench.queue.nextDeadline == nil)
        #expect(bench.offer(4, at: 100_000_000) == .accepted)
        bench.run(until: 2_000_000_000)
        #expect(bench.arrivals.isEmpty)
        bench.change(.stall(false), at: 2_000_000_000)
        bench.run(until: 3_000_000_000)
        #expect(bench.milliseconds == [2_000, 2_010.5, 2_011.5, 2_012.5, 2_013.5])
        #expect(bench.arrivals.map(\.number) == [0, 1, 2, 3, 4])
    }

    @Test("a stalled queue is bounded too")
    func stalledBound() {
        let bench = Bench {
            $0.isStalled = true
            $0.queueBytesMax = 3_000
        }
        let offers = (0..<5).map { bench.offer($0, at: UInt64($0)) }
        #expect(offers == [.accepted, .accepted, .accepted, .overflowed, .overflowed])
    }

    @Test("a receiver that takes no more gets the rest later, whole")
    func refusal() {
        let bench = Bench { _ in }
        for number in 0..<3 as Range<UInt32> { _ = bench.offer(number, at: 0) }
        var taken = 0
        bench.queue.deliver(now: .zero) { _ in
            if taken == 1 { return false }
            taken += 1
            return true
        }
        bench.run(until: 1)
        #expect(bench.arrivals.map(\.number) == [1, 2])
        #expect(bench.isConserved)
    }

    @Test("the rate is kept within 1 %, however the queue is asked", arguments: [64e3, 200e3, 2e6, 5e6, 100e6, 1e9])
    func rate(bitsPerSecond: Double) {
        let bench = Bench {
            $0.bitsPerSecond = bitsPerSecond
            $0.queueBytesMax = 1 << 20
        }
        var sizes = SeededGenerator(seed: 7)
        var bits = 0.0
        for number in 0..<500 as Range<UInt32> {
            let bytes = Int.random(in: 40...1_500, using: &sizes)
            bits += Double(bytes) * 8
            #expect(bench.offer(number, bytes: bytes, at: 0) == .accepted)
        }
        let expected = bits / bitsPerSecond
        bench.run(until: 1_000_000_000_000)
        let last = Double(bench.arrivals.last?.at.nanoseconds ?? 0) / 1e9
        #expect(abs(last - expected) < expected * 0.01)
    }

    @Test("losses come at their share, and the same seed loses the same packets", arguments: [0.0, 0.01, 0.2, 1])
    func loss(share: Double) {
        var results: [[Bool]] = []
        for seed in [3, 3, 4] as [UInt64] {
            let bench = Bench(seed: seed) { $0.lossShare = share }
            results.append((0..<20_000).map { bench.offer($0, bytes: 40, at: 0) == .lost })
            #expect(bench.isConserved)
        }
        #expect(results[0] == results[1])
        #expect((share == 0 || share == 1) == (results[0] == results[2]))
        let measured = Double(results[0].filter { $0 }.count) / 20_000
        // Five standard deviations.
        #expect(abs(measured - share) <= 5 * (share * (1 - share) / 20_000).squareRoot())
    }

    @Test("jitter spreads arrivals within its bound and never turns the order round")
    func jitter() {
        let bench = Bench {
            $0.delayNanoseconds = 20_000_000
            $0.jitterNanoseconds = 10_000_000
        }
        for number in 0..<1_000 as Range<UInt32> {
            bench.run(until: UInt64(number) * 20_000_000)
            _ = bench.offer(number, at: UInt64(number) * 20_000_000)
        }
        bench.run(until: 100_000_000_000)
        #expect(bench.arrivals.map(\.number) == Array(0..<1_000))
        let delays = bench.arrivals.map { Double($0.at.nanoseconds) / 1e6 - Double($0.number) * 20 }
        #expect(delays.allSatisfy { $0 >= 20 && $0 < 30 })
        #expect((delays.max() ?? 0) > 29 && (delays.min() ?? 0) < 21)
    }

    @Test(
        "whatever happens, no packet is made, lost sight of or overtaken, and asking more often changes nothing",
        arguments: 1...40 as ClosedRange<UInt64>)
    func properties(seed: UInt64) {
        let often = LinkQueueTests.play(seed: seed, asksOften: true)
        let seldom = LinkQueueTests.play(seed: seed, asksOften: false)
        #expect(often == seldom)
        #expect(often == often.sorted())
    }

    /// Random traffic and random changes. - Returns: the numbers that arrived, in order.
    private static func play(seed: UInt64, asksOften: Bool) -> [UInt32] {
        var generator = SeededGenerator(seed: seed)
        let bench = Bench(seed: seed) {
            $0.bitsPerSecond = 1e6
            $0.delayNanoseconds = 5_000_000
            $0.queueBytesMax = 20_000
        }
        var now: UInt64 = 0
        var number: UInt32 = 0
        for _ in 0..<2_000 {
            now += UInt64.random(in: 0...12_000_000, using: &generator)
            if asksOften { bench.run(until: now) }
            switch Int.random(in: 0..<40, using: &generator) {
            case 0: bench.change(.bitsPerSecond(.random(in: 5e4...5e6, using: &generator)), at: now)
            case 1: bench.change(.stall(.random(using: &generator)), at: now)
            case 2: bench.change(.delayNanoseconds(.random(in: 0...50_000_000, using: &generator)), at: now)
            case 3: bench.change(.jitterNanoseconds(.random(in: 0...5_000_000, using: &generator)), at: now)
            case 4: bench.change(.lossShare(.random(in: 0...0.1, using: &generator)), at: now)
            default:
                _ = bench.offer(number, bytes: .random(in: 40...1_500, using: &generator), at: now)
                number += 1
            }
            #expect(bench.isConserved)
            #expect(bench.queue.waitingBytes <= 20_000 + 1_500)
        }
        bench.change(.stall(false), at: now)
        bench.run(until: now + 1_000_000_000_000)
        #expect(bench.queue.packetsInside == 0)
        #expect(bench.queue.bytesInside == 0)
        #expect(bench.isConserved)
        return bench.arrivals.map(\.number)
    }
}
