import ClusterProtocol
import RelayBase
import RelayRooms
import Testing

@Suite("Rooms that span nodes, and move")
struct RoomCopyTests {
    typealias Directory = RoomDirectory<String, String>

    private static func directory(node: Int) -> Directory {
        var directory = Directory(limits: Limits(), loop: 0, loops: 1)
        directory.number(asNode: node, startingAt: 7) { RoomNumber(UInt64($0.text.utf8.count)) }
        return directory
    }

    private static func enter(_ directory: inout Directory, _ who: String, loop: Int = 0, role: Role = .speaker) throws -> Directory.Member {
        let name = try #require(RoomName("room", bytesMax: 64))
        let admission = RoomAdmission(role: role, publish: .all, settings: RoomSettings())
        let entry = try directory.join(name, at: MemberAddress(loop: loop, token: 1), identity: who, admission: admission) { _ in who }
        guard case .joined(_, let member) = entry else { throw RoomFault.locked }
        return member
    }

    private static func room(_ directory: Directory) throws -> Directory.Room {
        let name = try #require(RoomName("room", bytesMax: 64))
        return try #require(directory.room(named: name))
    }

    @Test("numbers of participants and streams of different nodes and loops never meet, also where counting wraps")
    func numbers() {
        var seen: Set<UInt32> = []
        for node in [1, 2, 1_023] {
            for loop in 0..<2 {
                var directory = Directory(limits: Limits(), loop: loop, loops: 2)
                directory.number(asNode: node, startingAt: (1 << 22) - 4) { _ in RoomNumber(1) }
                for index in 0..<8 {
                    guard let name = RoomName("r\(index)", bytesMax: 8) else { continue }
                    let admission = RoomAdmission(role: .speaker, publish: .all, settings: RoomSettings())
                    let entry = try? directory.join(name, at: MemberAddress(loop: 0, token: 0), identity: "", admission: admission) { _ in "" }
                    guard case .joined(_, let member) = entry else { continue }
                    #expect(member.id.value >> 22 == UInt32(node))
                    #expect(seen.insert(member.id.value).inserted)
                }
            }
        }
        #expect(seen.count >= 6)
    }

    @Test("a room that is restored is as it was, and opens streams of its new home's numbers")
    func restored() throws {
        var first = Self.directory(node: 1)
        let host = try Self.enter(&first, "host", role: .host)
        let number = try Self.room(first).number
        let (_, old) = try first.publish(number, host.id, lane: .audio, settings: RoomSettings(), description: "d")
        _ = try first.lock(number, by: host.id, true)
        let given = first.surrender(number)
        let room = try #require(given)
        #expect(first.rooms.isEmpty && first.surrender(number) == nil)
        var second = Self.directory(node: 2)
        let taken = second.restore(room)
        let restored = try #require(taken)
        #expect(restored.isLocked && restored.members.map(\.id) == [host.id] && restored.streams.map(\.id) == [old.id])
        #expect(second.restore(room) == nil, "it is there already")
        let (_, new) = try second.publish(number, host.id, lane: .video, settings: RoomSettings(), description: "d")
        #expect(old.id >> 20 == 1 && new.id >> 20 == 2)
    }

    @Test("a member that its loop has and the home does not is taken in, with what hosts have imposed; one that the home knows keeps its role")
    func readmitted() throws {
        var home = Self.directory(node: 1)
        let host = try Self.enter(&home, "host", role: .host)
        let guest = try Self.enter(&home, "guest", loop: LoopPlace.of(0, on: 2))
        let number = try Self.room(home).number
        _ = try home.mute(number, by: host.id, guest.id, .audio, true)
        _ = home.leave(number, guest.id)
        let moved = MemberAddress(loop: LoopPlace.of(1, on: 3), token: 9)
        let member = Directory.Member(id: guest.id, address: moved, identity: "guest", profile: "guest", role: .host, publishable: .all)
        let stream = Directory.Stream(id: 77, publisher: guest.id, address: guest.address, lane: .audio, description: "d")
        let readmitted = home.readmit(number, member, [stream])
        let back = try #require(readmitted)
        #expect(back.isNew && back.streams.map(\.id) == [77] && back.streams[0].address == moved)
        #expect(back.room.members.last?.muted == .audio)
        let demoted = Directory.Member(id: host.id, address: moved, identity: "host", profile: "host", role: .listener, publishable: .all)
        let same = home.readmit(number, demoted, [])
        let known = try #require(same)
        #expect(!known.isNew && known.room.members.first?.role == .host && known.room.members.first?.address == moved)
        #expect(home.readmit(RoomNumber(99), member, []) == nil)
    }

    @Test("what clients have not heard is told once: ends first; then they know what stands", arguments: 0..<100)
    func differences(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var home = Self.directory(node: 1)
        for index in 0..<4 { _ = try Self.enter(&home, "m\(index)", role: .host) }
        var copy = RoomCopy<String, String>(try Self.room(home), home: LoopPlace.of(0, on: 1))
        var participants = Set(try Self.room(home).members.map(\.id))
        var streams: Set<UInt32> = []
        var isLocked = false
        for _ in 0..<Int.random(in: 1..<12, using: &generator) {
            guard let room = home.rooms.values.first, let somebody = room.members.randomElement(using: &generator) else { break }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: _ = try Self.enter(&home, "new", role: .host)
            case 1 where room.members.count > 1: _ = home.leave(room.number, somebody.id)
            case 2: _ = try home.publish(room.number, somebody.id, lane: .audio, settings: RoomSettings(), description: "d")
            case 3: _ = try home.lock(room.number, by: somebody.id, Bool.random(using: &generator))
            default: if let stream = room.streams.first { _ = try home.unpublish(room.number, stream.publisher, stream: stream.id) }
            }
        }
        let room = try Self.room(home)
        var hasBegun = false
        for difference in copy.stand(room, home: LoopPlace.of(0, on: 1)) {
            switch difference {
            case .came(let member):
                hasBegun = true
                #expect(participants.insert(member.id).inserted)
            case .left(let id):
                #expect(!hasBegun)
                #expect(participants.remove(id) != nil)
            case .added(let stream):
                hasBegun = true
                #expect(streams.insert(stream.id).inserted)
            case .ended(let id): #expect(!hasBegun && streams.remove(id) != nil)
            case .changed, .moved: break
            case .locked(let locked): isLocked = locked
            }
        }
        #expect(participants == Set(room.members.map(\.id)) && streams == Set(room.streams.map(\.id)) && isLocked == room.isLocked)
        #expect(copy.stand(room, home: LoopPlace.of(0, on: 1)).isEmpty, "told once")
    }
}
