import RelayBase
import Testing

@testable import RelayServer

@Suite("Holding a room's frames")
struct FlushHoldTests {
    private static func at(_ microseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: 1_000_000_000 + microseconds * 1_000) }

    @Test("protocol document §6.3: an idle loop, and one whose hold is too short to be worth it, holds nothing", arguments: [0, 199_999] as [UInt64])
    func idle(delay: UInt64) {
        var hold = FlushHold()
        for turn in 0..<10 as Range<UInt64> { #expect(!hold.framesCame(byteCount: 160, now: Self.at(turn * 500)) { delay }) }
        #expect(!hold.isHolding && hold.until == nil)
    }

    @Test("protocol document §6.3: frames wait from the first on for as long as the loop said, and no longer")
    func waits() {
        var hold = FlushHold()
        #expect(hold.framesCame(byteCount: 160, now: Self.at(0)) { 2_000_000 })
        #expect(hold.until == Self.at(2_000))
        // The delay is not asked for again: a hold does not grow.
        #expect(hold.framesCame(byteCount: 320, now: Self.at(500)) { 9_000_000 })
        let endsBefore = hold.ends(now: Self.at(1_900))
        #expect(!endsBefore)
        #expect(hold.until == Self.at(2_000))
        let ends = hold.ends(now: Self.at(2_000))
        let endsAgain = hold.ends(now: Self.at(3_000))
        #expect(ends && !hold.isHolding && !endsAgain)
    }

    @Test(
        "frames that come when the hold is due, or nearly, go with what waited",
        arguments: [(1_949, true), (1_950, false), (2_500, false)] as [(UInt64, Bool)])
    func lastToJoin(microseconds: UInt64, waits: Bool) {
        var hold = FlushHold()
        _ = hold.framesCame(byteCount: 160, now: Self.at(0)) { 2_000_000 }
        #expect(hold.framesCame(byteCount: 320, now: Self.at(microseconds)) { 2_000_000 } == waits)
    }

    @Test("RFC 8446 §5.1: what fills a record waits for no more")
    func full() {
        var hold = FlushHold()
        #expect(!hold.framesCame(byteCount: FlushHold.bytesMax, now: Self.at(0)) { 2_000_000 })
        #expect(hold.framesCame(byteCount: 160, now: Self.at(0)) { 2_000_000 })
        #expect(!hold.framesCame(byteCount: FlushHold.bytesMax, now: Self.at(100)) { 2_000_000 })
        #expect(!hold.isHolding)
    }

    @Test("where nothing joins, a room is left alone, longer each time and not for ever; where something does, it is held on")
    func fruitless() {
        var hold = FlushHold()
        var time: UInt64 = 0
        /// How many flushes go by at once before the next hold begins.
        func passes() -> Int {
            var count = 0
            while true {
                time += 10_000
                if hold.framesCame(byteCount: 160, now: Self.at(time), delay: { 2_000_000 }) { return count }
                count += 1
            }
        }
        func end(joined: Bool) {
            if joined { _ = hold.framesCame(byteCount: 320, now: Self.at(time + 1_000)) { 0 } }
            let ends = hold.ends(now: Self.at(time + 2_000))
            #expect(ends)
        }
        var expected = FlushHold.passesFirst
        for _ in 0..<8 {
            for _ in 1..<FlushHold.fruitlessMax {
                _ = passes()
                end(joined: false)
            }
            #expect(passes() == 0)
            end(joined: false)
            #expect(passes() == expected)
            end(joined: false)
            expected = min(expected * 2, FlushHold.passesMax)
            // The one that ended the pause counts already.
            for _ in 1..<FlushHold.fruitlessMax - 1 {
                #expect(passes() == 0)
                end(joined: false)
            }
            #expect(passes() == 0)
            end(joined: false)
            #expect(passes() == expected)
            end(joined: true)
            expected = FlushHold.passesFirst
        }
        for _ in 0..<100 {
            #expect(passes() == 0)
            end(joined: true)
        }
    }

    @Test("a loop that holding makes idle goes on holding: what was spared counts as load")
    func spared() {
        var load = LoopLoad()
        var work = FlushWork()
        var time: UInt64 = 0
        // 50 subscribers at 8 µs, 2,000 turns a second: 80 % of the time without holding. With it one turn in five flushes.
        for turn in 0..<2_000 as Range<UInt64> {
            time += 500_000
            let flushes = turn.isMultiple(of: 5) ? 50 : 0
            for _ in 0..<flushes { work.flushed() }
            if flushes == 0 { work.spare(50) }
            let spent = UInt64(flushes) * 8_000
            load.note(spent: spent, spared: work.endTurn(nanoseconds: spent), until: MonotonicInstant(nanoseconds: time))
        }
        #expect(load.share < LoopLoad.idleShare)
        #expect(load.delay(of: 2_000_000) > 1_900_000)
    }

    @Test("clocks that jump and turns without flushes do no harm to the cost of one")
    func oddWork() {
        var work = FlushWork()
        #expect(work.endTurn(nanoseconds: .max) == 0)
        work.spare(3)
        #expect(work.endTurn(nanoseconds: 5) == 0, "the cost is not known yet")
        work.flushed()
        _ = work.endTurn(nanoseconds: .max)
        work.spare(1_000_000_000)
        #expect(work.endTurn(nanoseconds: 0) == 1_000_000 * 1_000_000)
    }

    @Test("what waits goes at once when what comes next belongs behind it, and the room may hold again")
    func endsNow() {
        var hold = FlushHold()
        let endsNothing = hold.endNow()
        _ = hold.framesCame(byteCount: 160, now: Self.at(0)) { 2_000_000 }
        let ends = hold.endNow()
        #expect(!endsNothing && ends && !hold.isHolding)
        let holdsAgain = hold.framesCame(byteCount: 160, now: Self.at(100)) { 2_000_000 }
        #expect(holdsAgain)
    }
}
