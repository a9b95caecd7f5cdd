import RelayBase
import Testing

@testable import RelayRooms

@Suite("Bit rate of a participant")
struct BitRateBudgetTests {
    /// `#expect` takes no mutating calls of values.
    private final class Budget {
        private var budget: BitRateBudget

        init(bitsPerSecond: Int, now: MonotonicInstant) {
            budget = BitRateBudget(bitsPerSecond: bitsPerSecond, now: now)
        }

        func take(byteCount: Int, now: MonotonicInstant) -> Bool { budget.take(byteCount: byteCount, now: now) }
    }

    private let start = MonotonicInstant.zero.advanced(byMilliseconds: 1_000)

    @Test("a second's worth passes at once, then so much as time has given back")
    func burstAndRefill() {
        let budget = Budget(bitsPerSecond: 80_000, now: start)
        for _ in 0..<10 { #expect(budget.take(byteCount: 1_000, now: start)) }
        #expect(!budget.take(byteCount: 1, now: start))
        // 80 bits a millisecond.
        let later = start.advanced(byMilliseconds: 1)
        #expect(!budget.take(byteCount: 11, now: later))
        #expect(budget.take(byteCount: 10, now: later))
        #expect(!budget.take(byteCount: 1, now: later))
    }

    @Test("silence saves up a second's worth and no more")
    func ceiling() {
        let budget = Budget(bitsPerSecond: 80_000, now: start)
        let later = start.advanced(byMilliseconds: 3_600_000)
        #expect(budget.take(byteCount: 10_000, now: later))
        #expect(!budget.take(byteCount: 1, now: later))
    }

    @Test("a frame of more than a second's worth passes when nothing was sent before, and is waited for afterwards")
    func largeFrames() {
        let budget = Budget(bitsPerSecond: 80_000, now: start)
        #expect(budget.take(byteCount: 50_000, now: start))
        #expect(!budget.take(byteCount: 50_000, now: start.advanced(byMilliseconds: 3_999)))
        #expect(!budget.take(byteCount: 1, now: start.advanced(byMilliseconds: 4_000)))
        #expect(budget.take(byteCount: 1_000, now: start.advanced(byMilliseconds: 4_100)))
        #expect(!budget.take(byteCount: 50_000, now: start.advanced(byMilliseconds: 5_099)))
        #expect(budget.take(byteCount: 50_000, now: start.advanced(byMilliseconds: 5_100)))
    }

    @Test("in the long run the rate holds, whatever the frames", arguments: 0..<20 as Range<UInt64>)
    func longRun(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bitsPerSecond = Int.random(in: 1_000...10_000_000, using: &random)
        let budget = Budget(bitsPerSecond: bitsPerSecond, now: start)
        var now = start
        var passed = 0
        for _ in 0..<5_000 {
            now = now.advanced(byMilliseconds: UInt64.random(in: 0...20, using: &random))
            let byteCount = Int.random(in: 1...4_000, using: &random)
            if budget.take(byteCount: byteCount, now: now) { passed += byteCount * 8 }
        }
        let seconds = Double(now.milliseconds(since: start)) / 1_000
        #expect(Double(passed) <= Double(bitsPerSecond) * (seconds + 1) + 32_000)
    }

    @Test("no rate and no size traps, and a clock that stands still gives nothing")
    func extremes() {
        for rate in [Int.min, 0, 1, BitRateBudget.bitsPerSecondMax, Int.max] {
            let budget = Budget(bitsPerSecond: rate, now: start)
            for byteCount in [0, 1, 1 << 26, Int.max] {
                _ = budget.take(byteCount: byteCount, now: .zero)
                _ = budget.take(byteCount: byteCount, now: .distantFuture)
            }
        }
        let budget = Budget(bitsPerSecond: 8, now: start)
        #expect(budget.take(byteCount: 1, now: start))
        #expect(!budget.take(byteCount: 1, now: .zero))
    }
}
