import MediaProtocol
import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Protocol §3.13: what a muted publisher has kept for it")
struct HeldConfigurationsTests {
    private static func traits(layer: Int) -> FrameTraits { FrameTraits(layer: UInt8(layer << 4)).union(.configuration) }

    @Test("of each layer the latest is held, in the order in which they came, and given out once")
    func latest() {
        let held = HeldConfigurations(budget: ByteBudget(bytesMax: 1 << 20))
        for (stream, layer, byte) in [(UInt32(1), 0, UInt8(1)), (1, 1, 2), (2, 0, 3), (1, 0, 4)] {
            let dropped = held.hold([byte], of: stream, Self.traits(layer: layer))
            #expect(dropped == 0)
        }
        #expect(held.byteCount(of: 1) == 2)
        #expect(held.release(1).map(\.configuration) == [[2], [4]])
        #expect(held.release(1).isEmpty)
        #expect(held.holds(2))
    }

    @Test("what is held is out of the budget, and given back with it")
    func budget() {
        let budget = ByteBudget(bytesMax: 10_000)
        do {
            let held = HeldConfigurations(budget: budget)
            for layer in 0..<8 { _ = held.hold(Array(repeating: 0, count: 1_000), of: 1, Self.traits(layer: layer)) }
            #expect(budget.used >= 8_000)
            _ = held.hold(Array(repeating: 0, count: 10), of: 1, Self.traits(layer: 0))
            #expect(budget.used < 8_000)
        }
        #expect(budget.used == 0)
    }

    @Test("where the budget is used up the oldest go, and what does not fit alone is not kept")
    func exhausted() {
        let budget = ByteBudget(bytesMax: 4_000)
        let held = HeldConfigurations(budget: budget)
        var dropped = 0
        for stream in UInt32(1)...8 { dropped += held.hold(Array(repeating: UInt8(stream), count: 1_000), of: stream, Self.traits(layer: 0)) }
        let kept = (UInt32(1)...8).filter { held.holds($0) }
        #expect(kept == [6, 7, 8])
        #expect(dropped == 5)
        let all = held.hold(Array(repeating: 0, count: 5_000), of: 9, Self.traits(layer: 0))
        #expect(all == 4)
        #expect(budget.used == 0)
    }
}
