import RelayBase
import Testing

@testable import RelayRooms

/// A stream that lies in several slots: who is moved from one to another gets each of its frames once, in order.
@Suite("Egress: subscribers that move between slots of a stream")
struct MovingTests {
    private static let stream: UInt32 = 0x8000_0000
    private static let discontinuity: UInt8 = 0x04

    private final class Room {
        let h = Harness()
        let shared: StreamSlot
        let own: StreamSlot
        let subscriber: Handle

        init() {
            shared = h.fanout.addStream(id: MovingTests.stream, publisher: ParticipantID(0), lane: .audio, isDerived: true) ?? StreamSlot(-1)
            own = h.fanout.addStream(id: MovingTests.stream, publisher: ParticipantID(0), lane: .audio, isDerived: true) ?? StreamSlot(-1)
            subscriber = h.subscriber()
            h.subscribe(subscriber, shared)
        }

        func move(from old: StreamSlot, to new: StreamSlot) { h.fanout.move(Int(subscriber.index), from: old, to: new, now: h.now) }

        func read() -> [UInt32] {
            let received = Received()
            while h.pull(subscriber, room: 16 << 10, into: received) > 0 {}
            guard received.cut(), received.bytes.isEmpty else { return [] }
            return received.frames.map(\.number)
        }

        /// The same tick in both slots: one frame's number each.
        func tick() -> (shared: UInt32, own: UInt32) {
            let first = h.nextNumber
            h.publish(shared)
            h.publish(own)
            return (first, first + 1)
        }
    }

    @Test("a published stream is found by its number, what is derived of it never")
    func derived() {
        let h = Harness()
        let slot = h.stream(7, .audio)
        let other = h.fanout.addStream(id: 7, publisher: ParticipantID(7), lane: .audio, isDerived: true)
        #expect(h.fanout.slot(of: 7) == slot && h.fanout.openSlots == [slot])
        let subscriber = h.subscriber()
        #expect(h.fanout.slot(of: 7, for: Int(subscriber.index)) == nil)
        if let other { h.subscribe(subscriber, other) }
        #expect(h.fanout.slot(of: 7, for: Int(subscriber.index)) == other)
        h.fanout.endStream(slot)
        #expect(h.fanout.slot(of: 7) == nil)
    }

    @Test("from the move on it is the other slot's frames, whether or not some of the first are queued", arguments: [true, false])
    func moves(isRead: Bool) {
        let room = Room()
        let before = room.tick()
        var got = isRead ? room.read() : []
        room.move(from: room.shared, to: room.own)
        let behind = room.tick()
        got += room.read()
        #expect(got == [before.shared, behind.own])
        room.h.fanout.tidy(now: room.h.now)
        #expect(room.h.fanout.slot(of: Self.stream, for: Int(room.subscriber.index)) == room.own)
        room.move(from: room.own, to: room.shared)
        let last = room.tick()
        #expect(room.read() == [last.shared])
        #expect(room.h.imbalance(room.subscriber) == 0 && room.h.pending(room.subscriber) == 0)
    }

    @Test("no frame is lost or doubled by a move in every tick of a subscriber who reads in time")
    func often() {
        let room = Room()
        var at = room.shared
        var expected: [UInt32] = []
        var got: [UInt32] = []
        for turn in 0..<200 {
            if turn % 3 != 0 {
                let next = at == room.shared ? room.own : room.shared
                room.move(from: at, to: next)
                at = next
            }
            let tick = room.tick()
            expected.append(at == room.shared ? tick.shared : tick.own)
            got += room.read()
            if turn % 7 == 0 { room.h.fanout.tidy(now: room.h.now) }
        }
        #expect(got == expected)
        #expect(room.h.imbalance(room.subscriber) == 0)
    }

    @Test("who is moved back while frames of the first stay are queued loses those, and they are counted")
    func lagging() {
        let room = Room()
        let first = room.tick()
        room.move(from: room.shared, to: room.own)
        let second = room.tick()
        room.move(from: room.own, to: room.shared)
        let third = room.tick()
        #expect(room.read() == [second.own, third.shared])
        #expect(room.h.account(room.subscriber).superseded == 1)
        #expect(room.h.imbalance(room.subscriber) == 0)
        _ = first
    }

    @Test("a move of who is held gives nothing, and the release begins in the new slot with a frame that says so")
    func held() {
        let room = Room()
        _ = room.tick()
        room.h.hold(room.subscriber)
        room.move(from: room.shared, to: room.own)
        _ = room.tick()
        #expect(room.read() == [])
        let hears = room.h.fanout.hears(Int(room.subscriber.index), room.own)
        #expect(!hears)
        room.h.release(room.subscriber)
        let behind = room.tick()
        let received = Received()
        while room.h.pull(room.subscriber, room: 16 << 10, into: received) > 0 {}
        #expect(received.cut())
        #expect(received.frames.map(\.number) == [behind.own] && received.flags.map { $0 & Self.discontinuity } == [Self.discontinuity])
        #expect(room.h.imbalance(room.subscriber) == 0)
    }

    @Test("what a slot was made of for somebody before is nobody else's, also not by a resumption")
    func another() {
        let room = Room()
        let before = room.tick()
        #expect(room.read() == [before.shared])
        _ = room.tick()
        room.move(from: room.shared, to: room.own)
        room.h.fanout.park(Int(room.subscriber.index))
        let behind = room.tick()
        room.h.fanout.unpark(Int(room.subscriber.index), asksForKeyFrames: false)
        let mark = ReceivedMark(sequence: before.shared, timestamp: 0)
        _ = room.h.fanout.rewind(Int(room.subscriber.index), room.own, after: mark, now: room.h.now)
        #expect(room.read() == [behind.own])
        #expect(room.h.imbalance(room.subscriber) == 0)
    }

    @Test("who leaves the room takes both slots along, and the account comes out")
    func leaves() {
        let room = Room()
        _ = room.tick()
        room.move(from: room.shared, to: room.own)
        _ = room.tick()
        let account = room.h.fanout.removeSubscriber(room.subscriber)
        #expect(account.map { $0.entered == $0.delivered + $0.dropped } == true)
        #expect(room.h.fanout.streams[room.shared.index].subscribers == 0 && room.h.fanout.streams[room.own.index].subscribers == 0)
    }
}
