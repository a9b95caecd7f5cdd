import Testing

@testable import RelayRooms

/// Which slot of a loop carries which mix, and who is moved for it.
@Suite("Places of a room's mix")
struct MixPlacementTests {
    /// A loop's listeners, by the mix that each gets in a tick.
    private struct Room {
        var placement = MixPlacement()
        var listeners: [MixListener] = []

        init(_ count: Int, channels: Int = 1) {
            listeners = (0..<count).map { MixListener(ParticipantID(UInt32($0)), channels: channels) }
        }

        /// - Returns: who was moved.
        mutating func tick(_ mixes: [Int?]) -> [Int] {
            for (place, mix) in mixes.enumerated() { listeners[place].mix = mix }
            placement.assign(&listeners, mixCount: (mixes.compactMap { $0 }.max() ?? -1) + 1)
            let moved = listeners.indices.filter { listeners[$0].hasMoved }
            for place in listeners.indices { listeners[place].hasMoved = false }
            // Everybody sits where its mix goes, in a slot of its channels; a slot has one mix.
            for listener in listeners {
                guard let mix = listener.mix else { continue }
                #expect(placement.mixes[listener.place] == mix && placement.channels[listener.place] == listener.channels)
            }
            return moved
        }
    }

    @Test("who only listens stays where a loop has put it at first, and so does who speaks with nobody else there")
    func first() {
        var room = Room(5)
        #expect(room.tick([0, 0, 0, 0, 0]) == [])
        var alone = Room(1)
        #expect(alone.tick([3]) == [])
        #expect(alone.tick([0]) == [])
        var stereo = Room(2, channels: 2)
        #expect(stereo.tick([0, 0]) == [])
        #expect(stereo.listeners[0].place == 1)
    }

    @Test("who begins to speak is moved, whatever the order of mixes and listeners, and moved back behind it", arguments: 0..<6)
    func speaker(who: Int) {
        var room = Room(6)
        _ = room.tick([0, 0, 0, 0, 0, 0])
        var speaking = [Int?](repeating: 1, count: 6)
        speaking[who] = 0
        #expect(room.tick(speaking) == [who])
        #expect(room.tick(speaking) == [])
        #expect(room.tick([0, 0, 0, 0, 0, 0]) == [who])
    }

    @Test("places are used again: speakers who take turns need two")
    func reuse() {
        var room = Room(6)
        for turn in 0..<100 {
            var speaking = [Int?](repeating: 0, count: 6)
            speaking[turn % 6] = 1
            _ = room.tick(speaking)
        }
        // One for each number of channels, one for who speaks, and one that was free while the last speaker was still in his.
        #expect(room.placement.channels.count <= 4)
    }

    @Test("who takes nothing stays, and takes no place from those who do")
    func inactive() {
        var room = Room(3)
        #expect(room.tick([0, nil, 0]) == [])
        #expect(room.tick([0, 1, nil]) == [1])
        #expect(room.tick([nil, nil, nil]) == [])
        #expect(room.placement.mixes.allSatisfy { $0 == nil })
    }

    @Test("of another number of channels, a listener goes to a place that has it")
    func channels() {
        var room = Room(3)
        _ = room.tick([0, 0, 0])
        room.listeners[1].channels = 2
        #expect(room.tick([0, 1, 0]) == [1])
        #expect(room.listeners[1].place == MixPlacement.firstPlace(channels: 2))
        room.listeners[1].channels = 1
        #expect(room.tick([0, 0, 0]) == [1])
    }

    @Test("whatever mixes there are, as few as can be are moved: a mix of many stays where most of them are")
    func many() {
        var room = Room(20)
        _ = room.tick([Int?](repeating: 0, count: 20))
        // Twelve go on with one mix, eight with another.
        #expect(room.tick((0..<20).map { $0 < 8 ? 0 : 1 }) == Array(0..<8))
        #expect(room.tick((0..<20).map { $0 < 8 ? 1 : 0 }) == [])
        // All of them with one again: the fewer come to the more.
        #expect(room.tick([Int?](repeating: 0, count: 20)) == Array(0..<8))
    }
}
