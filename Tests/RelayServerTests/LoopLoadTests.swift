import RelayBase
import Testing

@testable import RelayServer

@Suite("A loop's load")
struct LoopLoadTests {
    /// The load after half a second of turns that work for `spent` of every `period` microseconds.
    private func load(_ spent: UInt64, of period: UInt64, before: LoopLoad = LoopLoad()) -> LoopLoad {
        var load = before
        for turn in 1...(500_000 / period) {
            load.note(spent: spent * 1_000, until: MonotonicInstant(nanoseconds: turn * period * 1_000))
        }
        return load
    }

    @Test(
        "protocol document §4.4: nothing is held below a quarter, all of the wish from three quarters on",
        arguments: [(0, 0), (20, 0), (30, 1), (50, 5), (70, 9), (80, 10), (100, 10)] as [(UInt64, UInt64)])
    func delay(percent: UInt64, milliseconds: UInt64) {
        for period in [200, 1_000, 10_000] as [UInt64] {
            let delay = load(period * percent / 100, of: period).delay(of: 10_000_000)
            #expect(delay <= 10_000_000)
            #expect(abs(Int64(delay / 1_000) - Int64(milliseconds * 1_000)) <= 300, "\(percent) % of \(period) µs: \(delay)")
        }
    }

    @Test("an idle wait makes a busy loop idle, one long turn does not make an idle one busy for long")
    func changes() {
        var load = load(900, of: 1_000)
        load.note(spent: 1_000, until: MonotonicInstant(nanoseconds: 3_000_000_000))
        #expect(load.delay(of: 10_000_000) == 0)
        load.note(spent: 10_000_000, until: MonotonicInstant(nanoseconds: 3_010_000_000))
        #expect(load.share < 0.25)
    }

    @Test("clocks that stand still or jump do no harm")
    func oddClocks() {
        var load = LoopLoad()
        for (spent, end) in [(0, 5), (100, 5), (UInt64.max, 5), (0, UInt64.max), (7, 3)] as [(UInt64, UInt64)] {
            load.note(spent: spent, until: MonotonicInstant(nanoseconds: end))
            #expect((0...1).contains(load.share))
        }
    }
}
