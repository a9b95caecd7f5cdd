import RelayBase
import Testing

@testable import RelayRooms

@Suite("Rooms: control state at the home loop")
struct RoomDirectoryTests {
    private func name(_ text: String) throws -> RoomName {
        try #require(RoomName(text, bytesMax: 128))
    }

    @Test(
        "protocol §2: a room's name is bounded and plain",
        arguments: [
            ("demo", true), ("a-b.c_d~e:f@g", true), ("", false), ("a/b", false), ("a b", false), ("ü", false),
            (String(repeating: "x", count: 128), true),
            (String(repeating: "x", count: 129), false), ("a\n", false), ("a\"", false),
        ])
    func names(text: String, isGood: Bool) {
        #expect((RoomName(text, bytesMax: 128) != nil) == isGood)
    }

    @Test("protocol §2: a room comes with its first member and goes with its last")
    func life() throws {
        var directory = TestDirectory.make()
        let first = try directory.enter("demo", "alice")
        let second = try directory.enter("demo", "bob")
        #expect(second.room.number == first.room.number)
        #expect(second.room.members.map(\.profile) == ["alice", "bob"])
        let published = try directory.publish(first.room.number, first.member.id, lane: .audio, settings: RoomSettings(), description: "opus")
        let left = directory.leave(first.room.number, first.member.id)
        #expect(left?.streams.map(\.id) == [published.stream.id])
        #expect(directory.rooms[first.room.number]?.streams.isEmpty == true)
        let leftAgain = directory.leave(first.room.number, first.member.id)
        #expect(leftAgain == nil)
        let last = directory.leave(first.room.number, second.member.id)
        #expect(last != nil)
        #expect(directory.rooms.isEmpty)
        let again = try directory.enter("demo", "carol")
        #expect(again.room.number != first.room.number)
    }

    @Test("limits: rooms, participants, publishers and streams are refused by the name of their limit")
    func limits() throws {
        var directory = TestDirectory.make { limits in
            limits.roomsMax = 1
            limits.participantsPerRoomMax = 2
            limits.publishersPerRoomMax = 1
            limits.streamsPerParticipantMax = 1
        }
        let none = RoomSettings()
        let a = try directory.enter("one", "a")
        let b = try directory.enter("one", "b")
        #expect(throws: RoomFault.roomFull(participantsMax: 2)) { try directory.enter("one", "c") }
        #expect(throws: RoomFault.tooManyRooms) { try directory.enter("two", "c") }
        let stream = try directory.publish(a.room.number, a.member.id, lane: .video, settings: none, description: "vp8").stream
        #expect(throws: RoomFault.tooManyStreams(streamsMax: 1)) {
            try directory.publish(a.room.number, a.member.id, lane: .video, settings: none, description: "")
        }
        #expect(throws: RoomFault.tooManyPublishers(publishersMax: 1)) {
            try directory.publish(a.room.number, b.member.id, lane: .video, settings: none, description: "")
        }
        #expect(throws: RoomFault.unknownStream) { try directory.unpublish(a.room.number, b.member.id, stream: stream.id) }
        #expect(throws: RoomFault.notAMember) {
            try directory.publish(RoomNumber(99), b.member.id, lane: .video, settings: none, description: "")
        }
        let ended = try directory.unpublish(a.room.number, a.member.id, stream: stream.id)
        #expect(ended.stream.id == stream.id)
    }

    @Test("policy: a room's own bounds hold where they are below the relay's", arguments: [(1, 1), (2, 2), (99, 3)])
    func roomBounds(_ own: Int, _ most: Int) throws {
        var directory = TestDirectory.make {
            $0.participantsPerRoomMax = 3; $0.publishersPerRoomMax = 3
        }
        var settings = RoomSettings()
        settings.participantsMax = own
        settings.publishersMax = own
        var members: [ParticipantID] = []
        for _ in 0..<most { members.append(try directory.enter("r", "x", settings: settings).member.id) }
        #expect(throws: RoomFault.roomFull(participantsMax: most)) { try directory.enter("r", "x", settings: settings) }
        let number = try #require(directory.room(named: name("r"))?.number)
        settings.publishersMax = own - 1
        guard own > 1 else { return }
        for id in members.prefix(min(own - 1, 3)) { _ = try directory.publish(number, id, lane: .audio, settings: settings, description: "") }
        guard own <= 3, let last = members.last else { return }
        #expect(throws: RoomFault.tooManyPublishers(publishersMax: own - 1)) {
            try directory.publish(number, last, lane: .audio, settings: settings, description: "")
        }
    }

    @Test("design §2: home loops never give the same number twice")
    func distinctNumbers() throws {
        var numbers: Set<UInt64> = []
        var participants: Set<UInt32> = []
        for loop in 0..<4 {
            var directory = TestDirectory.make(loop: loop, loops: 4)
            for index in 0..<10 {
                let joined = try directory.enter("r\(index)", "x")
                #expect(numbers.insert(joined.room.number.value).inserted)
                #expect(participants.insert(joined.member.id.value).inserted)
            }
        }
    }
}
