import RelayBase
import Testing

@testable import RelayServer

@Suite("Handshakes and turns")
struct HandshakeTurnsTests {
    private func handle(_ index: UInt32) -> Handle { Handle(index: index, generation: 1) }

    @Test(
        "a turn makes steps until its time is spent, and at least one", arguments: [(step: UInt64(1_000), steps: 250), (100_000, 3), (10_000_000, 1)])
    func time(step: UInt64, steps: Int) {
        var turns = HandshakeTurns()
        for index in 0..<1_000 { turns.append(handle(UInt32(index))) }
        for turn in 0..<3 {
            var spent: UInt64 = 0
            var made = 0
            while let next = turns.next(spent: spent) {
                #expect(next == handle(UInt32(turn * steps + made)), "in the order in which they came")
                made += 1
                spent += step
            }
            #expect(made == steps)
        }
        #expect(turns.count == 1_000 - 3 * steps)
    }

    @Test("everybody has a turn while others keep coming, and what had its turn takes no room")
    func queue() {
        var turns = HandshakeTurns()
        var expected: UInt32 = 0
        var appended: UInt32 = 0
        for _ in 0..<5_000 {
            for _ in 0..<3 {
                turns.append(handle(appended))
                appended += 1
            }
            for _ in 0..<2 {
                #expect(turns.next(spent: 0) == handle(expected))
                expected += 1
            }
        }
        while let next = turns.next(spent: 0) {
            #expect(next == handle(expected))
            expected += 1
        }
        #expect(expected == appended && turns.isEmpty && turns.count == 0)
    }
}
