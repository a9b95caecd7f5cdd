import RelayBase
import Testing

@testable import RelayRooms

@Suite("Rooms: control state at the home loop")
struct RoomDirectoryTests {
    private func directory(loop: Int = 0, loops: Int = 1, _ change: (inout Limits) -> Void = { _ in }) -> RoomDirectory<String, String> {
        var limits = Limits()
        change(&limits)
        return RoomDirectory(limits: limits, loop: loop, loops: loops)
    }

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
        var directory = directory()
        let first = try directory.join(name("demo"), at: MemberAddress(loop: 0, token: 1)) { _ in "alice" }
        let second = try directory.join(name("demo"), at: MemberAddress(loop: 0, token: 2)) { _ in "bob" }
        #expect(second.room.number == first.room.number)
        #expect(second.room.members.map(\.profile) == ["alice", "bob"])
        let published = try directory.publish(first.room.number, first.member.id, lane: .audio, description: "opus")
        let left = directory.leave(first.room.number, first.member.id)
        #expect(left?.streams.map(\.id) == [published.stream.id])
        #expect(directory.rooms[first.room.number]?.streams.isEmpty == true)
        let leftAgain = directory.leave(first.room.number, first.member.id)
        #expect(leftAgain == nil)
        let last = directory.leave(first.room.number, second.member.id)
        #expect(last != nil)
        #expect(directory.rooms.isEmpty)
        let again = try directory.join(name("demo"), at: MemberAddress(loop: 0, token: 3)) { _ in "carol" }
        #expect(again.room.number != first.room.number)
    }

    @Test("limits: rooms, participants, publishers and streams are refused by the name of their limit")
    func limits() throws {
        var directory = directory { limits in
            limits.roomsMax = 1
            limits.participantsPerRoomMax = 2
            limits.publishersPerRoomMax = 1
            limits.streamsPerParticipantMax = 1
        }
        let address = MemberAddress(loop: 0, token: 1)
        let a = try directory.join(name("one"), at: address) { _ in "a" }
        let b = try directory.join(name("one"), at: address) { _ in "b" }
        let one = try name("one")
        let two = try name("two")
        #expect(throws: RoomFault.roomFull(participantsMax: 2)) { try directory.join(one, at: address) { _ in "c" } }
        #expect(throws: RoomFault.tooManyRooms) { try directory.join(two, at: address) { _ in "c" } }
        let stream = try directory.publish(a.room.number, a.member.id, lane: .video, description: "vp8").stream
        #expect(throws: RoomFault.tooManyStreams(streamsMax: 1)) { try directory.publish(a.room.number, a.member.id, lane: .video, description: "") }
        #expect(throws: RoomFault.tooManyPublishers(publishersMax: 1)) {
            try directory.publish(a.room.number, b.member.id, lane: .video, description: "")
        }
        #expect(throws: RoomFault.unknownStream) { try directory.unpublish(a.room.number, b.member.id, stream: stream.id) }
        #expect(throws: RoomFault.notAMember) { try directory.publish(RoomNumber(99), b.member.id, lane: .video, description: "") }
        let ended = try directory.unpublish(a.room.number, a.member.id, stream: stream.id)
        #expect(ended.stream.id == stream.id)
    }

    @Test("design §2: home loops never give the same number twice")
    func distinctNumbers() throws {
        var numbers: Set<UInt32> = []
        var participants: Set<UInt32> = []
        for loop in 0..<4 {
            var directory = directory(loop: loop, loops: 4)
            for index in 0..<10 {
                let joined = try directory.join(name("r\(index)"), at: MemberAddress(loop: loop, token: 0)) { _ in "x" }
                #expect(numbers.insert(joined.room.number.value).inserted)
                #expect(participants.insert(joined.member.id.value).inserted)
            }
        }
    }
}
