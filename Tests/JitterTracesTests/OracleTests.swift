import RelayBase
import Testing

@testable import jitter_traces

@Suite("Oracle and schedules, by hand")
struct OracleTests {
    private static let millisecond: Int64 = 1_000_000

    /// Packets of 20 ms, sent at their media time, with the given transits; `nil` is lost. Silence is marked before the places of `begins`, so talkspurts begin there.
    private static func trace(_ transits: [Int64?], begins: [Int] = []) -> ArrivalTrace {
        var trace = ArrivalTrace(name: "hand", origin: .generated)
        for (number, transit) in transits.enumerated() {
            let sent = Int64(number) * 20 * millisecond
            trace.packets.append(
                TracePacket(
                    sequence: UInt32(number), timestamp: UInt32(number) * 960, sent: sent, received: transit.map { sent + $0 * millisecond },
                    byteCount: 160, isSilence: begins.contains(number + 1)))
        }
        return trace
    }

    @Test("a constant transit needs no delay but that of the grid")
    func constant() {
        let even = Oracle.play(Self.trace([40, 40, 40, 40]), concealedRatio: 0)
        #expect(even.meanDelay == 0 && even.concealedRatio == 0)
        let odd = Oracle.play(Self.trace([43, 43, 43]), concealedRatio: 0)
        #expect(abs(odd.meanDelay - 7) < 1e-9)
    }

    @Test("one late packet: without a budget all wait for it, with one it is concealed")
    func budget() {
        let trace = Self.trace([40, 40, 90, 40])
        // D is 90: the others wait 50 ms.
        #expect(abs(Oracle.play(trace, concealedRatio: 0).meanDelay - 37.5) < 1e-9)
        let lossy = Oracle.play(trace, concealedRatio: 0.25)
        #expect(lossy.meanDelay == 0 && abs(lossy.concealedRatio - 0.25) < 1e-9)
        #expect(abs(Schedule.fixed(trace, concealedRatio: 0.25).meanDelay) < 1e-9)
        #expect(abs(Schedule.fixed(trace, concealedRatio: 0.24).meanDelay - 37.5) < 1e-9)
    }

    @Test("between talkspurts the delay changes, within one it does not")
    func talkspurts() {
        let transits: [Int64?] = [40, 40, 40, 40, 80, 40]
        let one = Oracle.play(Self.trace(transits), concealedRatio: 0)
        #expect(abs(one.meanDelay - 200.0 / 6) < 1e-9)
        // The second begins at packet 3: only its packets wait.
        let two = Oracle.play(Self.trace(transits, begins: [3]), concealedRatio: 0)
        #expect(abs(two.meanDelay - 80.0 / 6) < 1e-9)
    }

    @Test("the budget is spent in the talkspurt where it saves most, not where the latest packet is")
    func whereItCounts() {
        // One late packet each; the first talkspurt is short, the second long: concealing in the second saves more although its packet is less late.
        let transits: [Int64?] = [40, 100, 40, 40, 40, 80, 40, 40, 40]
        let trace = Self.trace(transits, begins: [3])
        let played = Oracle.play(trace, concealedRatio: 1.0 / 9)
        // First talkspurt at D = 100: 60 + 0 + 60; second at 40: nothing. Eight are played.
        #expect(abs(played.meanDelay - 120.0 / 8) < 1e-9)
    }

    @Test("lost packets are concealed whatever the delay, and do not use up the budget")
    func losses() {
        let trace = Self.trace([40, nil, 40, 70, 40])
        let played = Oracle.play(trace, concealedRatio: 0)
        #expect(abs(played.concealedRatio - 0.2) < 1e-9)
        #expect(abs(played.meanDelay - 90.0 / 4) < 1e-9)
    }

    @Test("no schedule of any talkspurts is better: all are tried", arguments: 1...20 as ClosedRange<UInt64>)
    func exhaustive(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let transits: [Int64?] = (0..<9).map { _ in
            Int.random(in: 0..<10, using: &generator) == 0 ? nil : Int64.random(in: 0...12, using: &generator) * 10
        }
        let trace = Self.trace(transits, begins: [3, 6])
        let input = Schedule.Input(trace)
        let budget = 2 + transits.count { $0 == nil }
        let played = Oracle.play(trace, concealedRatio: Double(budget) / 9)
        var best = Double.infinity
        for code in 0..<14 * 14 * 14 {
            let delays = [code % 14 - 1, code / 14 % 14 - 1, code / 196 - 1]
            var sum = 0.0
            var concealed = 0
            for place in 0..<9 {
                if let delay = input.delay(place, at: delays[place / 3]) { sum += delay } else { concealed += 1 }
            }
            if concealed <= budget, concealed < 9 { best = min(best, sum / Double(9 - concealed)) }
        }
        #expect(abs(played.meanDelay - best) < 1e-9)
    }

    @Test("150 ms without sound is an interruption, 140 ms is none", arguments: [(7, 0), (8, 1), (20, 1)])
    func interruptions(lost: Int, expected: Int) {
        let transits: [Int64?] = [40, 40] + [Int64?](repeating: nil, count: lost) + [40]
        #expect(Schedule.fixed(Self.trace(transits), concealedRatio: 0).interruptions == Double(expected))
    }

    @Test("a percentile and a mean are over what is played, by its length")
    func accounting() {
        var playout = Playout(player: "x", pointMilliseconds: 10)
        for number in 0..<100 { playout.points.append(.init(time: Int64(number), delayMilliseconds: Double(number))) }
        playout.points.append(.init(time: 100, delayMilliseconds: nil, concealed: 1))
        playout.points.append(.init(time: 101, delayMilliseconds: nil, isPause: true))
        playout.finish()
        #expect(abs(playout.meanDelay - 49.5) < 1e-9)
        #expect(playout.delay95 == 94)
        #expect(abs(playout.concealedRatio - 1.0 / 101) < 1e-9)
    }
}
