import RelayBase
import Testing

@testable import RelayRooms

/// How much room the rest of a begun message needs: what goes behind it at once is not to be another frame when control waits.
@Suite("Rooms: the rest of a begun message")
struct BegunMessageTests {
    @Test("PROTOCOL §6.1: with as much room as the rest needs, the message ends and no other begins", arguments: [1, 500, 20_000])
    func rest(room: Int) {
        let harness = Harness()
        let (slot, subscriber) = (harness.stream(1, .video), harness.subscriber())
        harness.subscribe(subscriber, slot)
        harness.publish(slot, bytes: 30_000, .key)
        harness.publish(slot, bytes: 100)
        let received = Received()
        #expect(harness.fanout.begunByteCount(Int(subscriber.index)) == 0)
        #expect(harness.pull(subscriber, room: room, into: received) == room)
        let rest = 30_004 - room
        #expect(harness.fanout.begunByteCount(Int(subscriber.index)) == rest)
        #expect(harness.pull(subscriber, room: rest, into: received) == rest)
        #expect(!harness.isMidMessage(subscriber))
        #expect(harness.drain(subscriber) == [2])
    }
}
