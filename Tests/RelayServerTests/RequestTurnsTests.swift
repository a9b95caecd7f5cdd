import RelayBase
import Testing

@testable import RelayServer

@Suite("HTTP requests and turns")
struct RequestTurnsTests {
    private func handle(_ index: UInt32) -> Handle { Handle(index: index, generation: 1) }

    @Test("a connection has a bounded number of requests in a turn; the rest waits for the next ones")
    func share() {
        var turns = RequestTurns()
        var share = RequestTurns.Share()
        for _ in 0..<3 {
            turns.beginTurn()
            while turns.next() != nil { share.resume() }
            let begun = (0..<100).count { _ in turns.begin(&share, of: handle(1)) }
            #expect(begun == RequestTurns.requestsMax)
            #expect(share.isWaiting && !turns.isEmpty)
        }
        turns.beginTurn()
        #expect(turns.next() == handle(1))
        #expect(turns.next() == nil && turns.isEmpty)
    }

    @Test("who asks for no more than its share never waits")
    func modest() {
        var turns = RequestTurns()
        var share = RequestTurns.Share()
        for _ in 0..<1_000 {
            turns.beginTurn()
            for _ in 0..<RequestTurns.requestsMax { #expect(turns.begin(&share, of: handle(1))) }
        }
        #expect(!share.isWaiting && turns.isEmpty)
    }

    @Test("when the time for requests is used up, others wait in order, and everybody's turn comes however many there are")
    func time() {
        var turns = RequestTurns()
        var shares = Array(repeating: RequestTurns.Share(), count: 100)
        var served = Array(repeating: 0, count: 100)
        // A request that takes all the time of a turn.
        func ask(_ place: Int) {
            guard turns.begin(&shares[place], of: handle(UInt32(place))) else { return }
            served[place] += 1
            turns.ended(RequestTurns.nanosecondsMax)
        }
        turns.beginTurn()
        for place in 0..<100 { ask(place) }
        #expect(served == [1] + Array(repeating: 0, count: 99))
        for turn in 1..<300 {
            turns.beginTurn()
            var resumed = 0
            while let next = turns.next() {
                resumed += 1
                shares[Int(next.index)].resume()
                // Each has more to ask: it goes to the end.
                ask(Int(next.index))
                ask(Int(next.index))
            }
            #expect(resumed == 1, "turn \(turn)")
        }
        // Nobody but the first had its share at once, and it has asked for no more.
        #expect(served[0] == 1 && served[1...].allSatisfy { (2...4).contains($0) })
    }

    @Test("a connection that waits again in the same turn is not taken up again in it")
    func sameTurn() {
        var turns = RequestTurns()
        var share = RequestTurns.Share()
        turns.beginTurn()
        while turns.begin(&share, of: handle(1)) {}
        turns.beginTurn()
        var resumed = 0
        while turns.next() != nil {
            resumed += 1
            share.resume()
            while turns.begin(&share, of: handle(1)) {}
        }
        #expect(resumed == 1 && share.isWaiting)
    }
}
