import Signalling
import Testing

@testable import RelayServer

@Suite("Protocol §3.4: requests behind a join that is not answered yet")
struct WaitingRequestsTests {
    private static let subscribe = ClientRequest.subscribe(.init(streams: nil, all: true, delivery: .live))
    private static let join = ClientRequest.join(.init(room: "r", displayName: nil))

    @Test("what needs the room waits, in order; what does not is done at once")
    func order() {
        var waiting = WaitingRequests()
        #expect(waiting.isToWait(Self.subscribe))
        #expect(!waiting.isToWait(.time(.init(clientTime: 0))) && !waiting.isToWait(.pairList) && !waiting.isToWait(Self.join))
        for id in UInt64(1)...5 {
            let isKept = waiting.keep(id, Self.subscribe, messageBytes: 10, bytesMax: 100)
            #expect(isKept)
        }
        #expect(waiting.takeAll().map(\.id) == [1, 2, 3, 4, 5])
        #expect(waiting.isEmpty && waiting.takeAll().isEmpty)
    }

    @Test("another join waits behind a leave")
    func another() {
        var waiting = WaitingRequests()
        _ = waiting.keep(1, .leave, messageBytes: 10, bytesMax: 100)
        #expect(waiting.isToWait(Self.join))
    }

    @Test("as many wait as may, by number and by bytes; taken out, there is room again", arguments: [(1, 64), (20_000, 3)])
    func bounds(messageBytes: Int, fit: Int) {
        var waiting = WaitingRequests()
        for _ in 0..<2 {
            let kept = (0..<100).filter { waiting.keep(UInt64($0), Self.subscribe, messageBytes: messageBytes, bytesMax: 65_536) }
            #expect(kept == Array(0..<fit))
            _ = waiting.takeAll()
        }
    }
}
