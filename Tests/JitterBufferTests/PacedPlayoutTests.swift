import JitterBuffer
import RelayBase
import Testing

@Suite("Paced playout: frames unopened, evenly")
struct PacedPlayoutTests {
    struct Release { var place: Int, at: Int64, target: Int }

    /// Plays a trace with a timer that is exact; frames carry their place.
    static func play(_ trace: Trace, _ configuration: JitterConfiguration = JitterConfiguration()) -> (
        releases: [Release], statistics: JitterStatistics
    ) {
        var playout = PacedPlayout(configuration)
        var releases: [Release] = []
        func releaseDue(_ now: Int64) {
            while let next = playout.nextRelease, next.nanoseconds / 1000 <= UInt64(now) {
                guard playout.release(now: MonotonicInstant(nanoseconds: next.nanoseconds)) else { return }
                let place = unsafe playout.released.unsafeLoadUnaligned(as: Int.self)
                releases.append(Release(place: place, at: Int64(next.nanoseconds / 1000), target: Int(playout.statistics.targetMilliseconds)))
            }
        }
        for (place, arrival) in trace.arrivals {
            releaseDue(arrival)
            let packet = trace.packets[place]
            let frame = [place, 0, 0]
            _ = playout.insert(
                JitterPacket(sequence: packet.sequence, timestamp: packet.timestamp, isDiscontinuity: packet.isDiscontinuity),
                frame: unsafe frame.span.bytes, durationTicks: UInt32(trace.packetMicroseconds * 48 / 1000),
                now: MonotonicInstant(nanoseconds: UInt64(arrival) * 1000))
        }
        releaseDue((trace.arrivals.last?.1 ?? 0) + 3_000_000)
        return (releases, playout.statistics)
    }

    @Test("spacing stays within a tenth of the frame's duration while what comes does not")
    func spacing() {
        let (releases, statistics) = Self.play(TracePattern.gaussian(seconds: 30, milliseconds: 8))
        var worst = 0.0
        for (before, after) in zip(releases, releases.dropFirst()) {
            let ideal = Double((after.place - before.place) * 20_000)
            worst = max(worst, abs(Double(after.at - before.at) - ideal) / ideal)
        }
        #expect(worst <= 0.1)
        #expect(Double(statistics.late) < 0.04 * 1_500)
        #expect(releases.count + Int(statistics.late) == 1_500)
    }

    @Test("frames come out in order, none twice")
    func order() {
        let (releases, _) = Self.play(TracePattern.gaussian(seconds: 20, milliseconds: 25, isOrdered: false))
        #expect(zip(releases, releases.dropFirst()).allSatisfy { $0.place < $1.place && $0.at <= $1.at })
    }

    @Test("what a stall of 2 s held up is dropped and counted, and the delay is as before")
    func stall() {
        let (releases, statistics) = Self.play(TracePattern.stalls(seconds: 30, everySeconds: 100, milliseconds: 2_000...2_000, firstAt: 10))
        #expect((95...100).contains(statistics.late))
        #expect(statistics.targetMilliseconds <= 15)
        #expect(releases.count + Int(statistics.late) == 1_500)
    }

    @Test("a path that is longer from now on by 400 ms costs a second at most")
    func longerPath() {
        let trace = Trace.make(seconds: 30) { _, sent in sent < 10_000_000 ? 0 : 400_000 }
        let (releases, statistics) = Self.play(trace)
        #expect(statistics.late <= 55)
        // And the reference follows: no more than the target is waited in the end.
        let last = releases.last!
        #expect(last.at - trace.packets[last.place].arrival! < 20_000)
    }

    @Test("clocks that drift apart do not make it wait longer", arguments: [-500.0, 500, 1_500, -1_500])
    func drift(ppm: Double) {
        let trace = TracePattern.gaussian(seconds: 300, milliseconds: 4, driftPPM: ppm)
        let (releases, statistics) = Self.play(trace)
        let last = releases.last!
        #expect(last.at - trace.packets[last.place].arrival! < 40_000)
        #expect(abs(Double(statistics.driftPartsPerMillion) - ppm) < 100)
        #expect(Double(statistics.late) < 0.05 * 15_000)
    }

    @Test("a reset drops and counts what is there, and the next frame begins anew")
    func reset() {
        var playout = PacedPlayout(JitterConfiguration())
        let frame: [UInt8] = [1, 2, 3]
        for place in 0..<3 as Range<UInt32> {
            let outcome = playout.insert(
                JitterPacket(sequence: place, timestamp: place * 960), frame: unsafe frame.span.bytes, durationTicks: 960,
                now: MonotonicInstant(nanoseconds: UInt64(place) * 20_000_000))
            #expect(outcome == .stored)
        }
        playout.reset()
        #expect(playout.nextRelease == nil)
        #expect(playout.statistics.discarded == 3)
        let outcome = playout.insert(
            JitterPacket(sequence: 9_000, timestamp: 77), frame: unsafe frame.span.bytes, durationTicks: 960,
            now: MonotonicInstant(nanoseconds: 1_000_000_000))
        #expect(outcome == .stored)
        let next = playout.nextRelease
        #expect(next != nil && next! > MonotonicInstant(nanoseconds: 1_000_000_000) && next! < MonotonicInstant(nanoseconds: 1_100_000_000))
    }

    @Test("the same frame twice is a duplicate, before and after it was released")
    func duplicates() {
        var playout = PacedPlayout(JitterConfiguration())
        let frame: [UInt8] = [1]
        func offer(_ sequence: UInt32, at milliseconds: UInt64) -> InsertOutcome {
            playout.insert(
                JitterPacket(sequence: sequence, timestamp: sequence &* 960), frame: unsafe frame.span.bytes, durationTicks: 960,
                now: MonotonicInstant.zero.advanced(byMilliseconds: milliseconds))
        }
        #expect(offer(0, at: 0) == .stored)
        #expect(offer(0, at: 1) == .duplicate)
        while playout.release(now: MonotonicInstant.zero.advanced(byMilliseconds: 500)) {}
        #expect(offer(0, at: 501) == .duplicate)
        #expect(playout.statistics.duplicates == 2)
    }
}
