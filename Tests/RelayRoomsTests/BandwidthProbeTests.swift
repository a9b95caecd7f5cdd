import RelayBase
import RelayRooms
import Testing

@Suite("§4 whether a connection carries more than it is given")
struct BandwidthProbeTests {
    private static let roundTrip: UInt64 = 40_000

    /// Plays looks ten times a second against a link that shows what it carries when it is sent more than that.
    private static func play(_ seconds: Int, carries: Int, wanted: Int?, known: Int = 120_000) -> (bytes: [Int], known: Int) {
        var probe = BandwidthProbe()
        var view = BandwidthView(bitsPerSecond: known)
        var limitedUntil = 0
        var sent: [Int] = []
        for tick in 0..<(seconds * 10) {
            view.isLimited = tick < limitedUntil
            let bytes = probe.look(
                wanted: wanted, view, roundTripMicroseconds: roundTrip, now: MonotonicInstant(nanoseconds: UInt64(tick + 1) * 100_000_000))
            guard bytes > 0 else { continue }
            sent.append(bytes)
            let milliseconds = bytes * 8_000 / carries
            // Late: the link is what limits, and the estimate is what it carries; else it is what went through in a round trip at least.
            if milliseconds > 60 { limitedUntil = tick + 12 }
            view.bitsPerSecond = max(view.bitsPerSecond ?? 0, milliseconds > 60 ? carries : bytes * 8_000 / (40 + milliseconds))
        }
        return (sent, view.bitsPerSecond ?? 0)
    }

    @Test("a link that is as bad as before is troubled once in a pause, with what it carries in 120 ms")
    func bad() {
        let (sent, known) = Self.play(31, carries: 200_000, wanted: 1_500_000, known: 200_000)
        #expect(sent == Array(repeating: 3_000, count: 11))
        #expect(known <= 200_000)
    }

    @Test("a link that has recovered is known within four seconds, and is left alone then", arguments: [500_000, 2_000_000, 10_000_000])
    func recovered(carries: Int) {
        let wanted = carries * 3 / 4
        let (sent, known) = Self.play(4, carries: carries, wanted: wanted)
        #expect(known >= wanted)
        let (later, _) = Self.play(40, carries: carries, wanted: wanted)
        #expect(later == sent)
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $1 == $0 * 2 })
    }

    @Test("nothing is sent where nothing is missing, nothing is known, or the connection is in trouble")
    func silent() {
        #expect(Self.play(10, carries: 2_000_000, wanted: nil).bytes.isEmpty)
        var probe = BandwidthProbe()
        let now = MonotonicInstant(nanoseconds: 1_000_000_000)
        for view in [
            BandwidthView(), BandwidthView(bitsPerSecond: 100_000, isLimited: true), BandwidthView(bitsPerSecond: 100_000, isCongested: true),
            BandwidthView(bitsPerSecond: 2_000_000),
        ] {
            #expect(probe.look(wanted: 1_500_000, view, roundTripMicroseconds: Self.roundTrip, now: now) == 0)
        }
    }

    @Test("hostile numbers do no harm", arguments: [Int.min, -1, 0, Int.max])
    func extremes(known: Int) {
        var probe = BandwidthProbe()
        let bytes = probe.look(
            wanted: .max, BandwidthView(bitsPerSecond: known), roundTripMicroseconds: .max, now: MonotonicInstant(nanoseconds: 1_000_000_000))
        #expect((0...(256 << 10)).contains(bytes))
    }
}
