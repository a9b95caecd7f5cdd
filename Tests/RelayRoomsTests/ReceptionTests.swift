import RelayBase
import Testing

@testable import RelayRooms

@Suite("What receivers report")
struct ReceptionTests {
    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: 1_000_000 + milliseconds) }

    private func totals(received: UInt64 = 0, played: UInt64 = 0, concealed: UInt64 = 0, late: UInt64 = 0, buffer: Double? = nil) -> ReceiverTotals {
        var totals = ReceiverTotals()
        (totals.received, totals.played, totals.concealed, totals.late, totals.bufferMilliseconds) = (received, played, concealed, late, buffer)
        return totals
    }

    @Test(
        "shares are of the frames that should have been played, from 0 to 1",
        arguments: [
            (totals: (100, 90, 10, 0), concealed: 0.1, late: 0.0), ((100, 0, 0, 0), 0, 0), ((90, 0, 10, 5), 10.0 / 95, 5.0 / 95),
            ((0, 0, 0, 0), 0, 0),
            ((0, 0, 7, 0), 1, 0), ((5, 0, 0, 5), 0, 1), ((0, 0, 1 << 53, 1 << 53), 1, 1), ((1 << 53, 1 << 53, 0, 1 << 53), 0, 1),
        ] as [(totals: (UInt64, UInt64, UInt64, UInt64), concealed: Double, late: Double)])
    func shares(of counts: (UInt64, UInt64, UInt64, UInt64), concealed: Double, late: Double) {
        var table = ReceptionTable()
        let reception = table.take(1, totals(received: counts.0, played: counts.1, concealed: counts.2, late: counts.3), now: at(0))
        #expect(abs(reception.concealedShare - concealed) < 1e-9)
        #expect(abs(reception.lateShare - late) < 1e-9)
    }

    @Test("what is judged is the difference to the report before, not the sum since the beginning")
    func differences() {
        var table = ReceptionTable()
        table.take(1, totals(received: 100, played: 50, concealed: 50), now: at(0))
        #expect(table.take(1, totals(received: 200, played: 150, concealed: 50), now: at(2_000)).concealedShare == 0)
        #expect(table.take(1, totals(received: 300, played: 225, concealed: 75), now: at(4_000)).concealedShare == 0.25)
    }

    @Test("who reports ten times a second is judged over a second, not over a tenth of one")
    func oftenReported() {
        var table = ReceptionTable()
        table.take(1, totals(played: 100), now: at(0))
        for step in 1...9 as ClosedRange<UInt64> {
            let reception = table.take(1, totals(played: 100 + step * 9, concealed: step), now: at(step * 100))
            #expect(abs(reception.concealedShare - 0.1) < 1e-9)
        }
    }

    @Test("frames a second are those since the report before; not of the first, of two in a moment, or of counts that go back")
    func pace() {
        var table = ReceptionTable()
        #expect(table.take(1, totals(received: 100), now: at(0)).framesPerSecond == nil)
        #expect(table.take(1, totals(received: 200), now: at(2_000)).framesPerSecond == 50)
        #expect(table.take(1, totals(received: 230), now: at(2_100)).framesPerSecond == nil)
        #expect(table.take(1, totals(received: 10), now: at(4_100)).framesPerSecond == nil)
    }

    @Test("counts that go back have begun anew", arguments: [0, 1, 2, 3])
    func restart(which: Int) {
        var table = ReceptionTable()
        table.take(1, totals(received: 1_000, played: 1_000, concealed: 1_000, late: 1_000), now: at(0))
        var counts: [UInt64] = [2_000, 2_000, 2_000, 2_000]
        counts[which] = 10
        let again = totals(received: counts[0], played: counts[1], concealed: counts[2], late: counts[3])
        var fresh = ReceptionTable()
        #expect(table.take(1, again, now: at(2_000)) == fresh.take(1, again, now: at(2_000)))
    }

    @Test("a report of ten seconds ago says nothing any more, and streams that are over are let go of")
    func forgets() {
        var table = ReceptionTable()
        for stream in [5, 1, 3] as [UInt32] { table.take(stream, totals(played: 10), now: at(0)) }
        #expect(table.current(now: at(9_999)).map(\.stream) == [1, 3, 5])
        #expect(table.reception(of: 3, now: at(9_999)) != nil)
        #expect(table.reception(of: 3, now: at(10_000)) == nil)
        table.removeAll { $0 == 3 }
        #expect(table.count == 1)
    }

    @Test("each receiver counts the same, however large its numbers; the worst is told apart")
    func aggregate() {
        var table = ReceptionTable()
        var aggregate = ReceptionAggregate()
        aggregate.add(table.take(1, totals(played: 100, buffer: 40), now: at(0)))
        aggregate.add(table.take(2, totals(concealed: 1 << 53, buffer: 80), now: at(0)))
        aggregate.add(table.take(3, totals(played: 50, concealed: 50), now: at(0)))
        #expect(aggregate.receivers == 3)
        #expect(aggregate.concealedShare == 0.5)
        #expect(aggregate.concealedShareMax == 1)
        #expect(aggregate.bufferMilliseconds == 60)
        #expect(aggregate.bufferMillisecondsMax == 80)
        #expect(aggregate.jitterMillisecondsMax == nil)
        var sum = ReceptionAggregate()
        sum.add(aggregate)
        sum.add(ReceptionAggregate())
        sum.add(aggregate)
        #expect(sum.receivers == 6 && sum.concealedShare == 0.5 && sum.bufferMilliseconds == 60)
    }

    @Test("the publisher is told of all loops' receivers, every two seconds at most, and not of loops that have gone silent")
    func told() {
        var one = ReceptionAggregate()
        one.add(Reception(concealedShare: 0.5, lateShare: 0, at: at(0)))
        var reception = StreamReception()
        #expect(reception.news(now: at(0)) == nil)
        reception.take(one, from: 0, now: at(0))
        #expect(reception.news(now: at(0))?.receivers == 1)
        #expect(reception.news(now: at(1)) == nil)
        reception.take(one, from: 1, now: at(500))
        #expect(reception.news(now: at(1_999)) == nil)
        #expect(reception.news(now: at(2_000))?.receivers == 2)
        // Again from the same loop: in place of what it said before.
        reception.take(one, from: 1, now: at(4_000))
        #expect(reception.news(now: at(4_000))?.receivers == 2)
        reception.take(one, from: 1, now: at(10_000))
        #expect(reception.total(now: at(10_000))?.receivers == 1)
        #expect(reception.total(now: at(20_000)) == nil)
        #expect(reception.news(now: at(20_000)) == nil)
    }
}
