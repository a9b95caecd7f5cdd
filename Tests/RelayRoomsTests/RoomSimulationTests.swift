import RelayBase
import Testing

@testable import RelayRooms

/// Random hosts, guests and latecomers do random things, and a plain model of who is where is kept beside the directory.
@Suite("Rooms: simulation")
struct RoomSimulationTests {
    private enum Place: Equatable {
        case inside
        case waiting
        case gone
    }

    private struct World {
        var directory: TestDirectory
        var places: [ParticipantID: (room: RoomNumber, place: Place)] = [:]
        var random: SeededGenerator
        let limits: Limits

        init(seed: UInt64) {
            var limits = Limits()
            limits.roomsMax = 3
            limits.participantsPerRoomMax = 6
            limits.publishersPerRoomMax = 3
            limits.streamsPerParticipantMax = 2
            limits.lobbyMax = 3
            self.limits = limits
            directory = TestDirectory(limits: limits, loop: 0, loops: 1)
            random = SeededGenerator(seed: seed)
        }

        mutating func somebody() -> (id: ParticipantID, room: RoomNumber) {
            guard let id = places.keys.sorted().randomElement(using: &random), let room = places[id]?.room else {
                return (ParticipantID(0), RoomNumber(0))
            }
            return (id, room)
        }

        mutating func step() {
            let (actor, room) = somebody()
            let (target, _) = somebody()
            switch Int.random(in: 0..<14, using: &random) {
            case 0...3: join()
            case 4: if directory.leave(room, actor) != nil { places[actor]?.place = .gone }
            case 5: _ = try? directory.publish(room, actor, Lane.allCases.randomElement(using: &random) ?? .data)
            case 6:
                let streams = directory.rooms[room]?.streams.map(\.id) ?? []
                _ = try? directory.unpublish(room, actor, stream: streams.randomElement(using: &random) ?? 0)
            case 7:
                _ = try? directory.mute(room, by: actor, target, PublishKinds(rawValue: .random(in: 0...7, using: &random)), .random(using: &random))
            case 8: _ = try? directory.promote(room, by: actor, target, to: Role.allCases.randomElement(using: &random) ?? .host)
            case 9: if (try? directory.remove(room, by: actor, target)) != nil { places[target]?.place = .gone }
            case 10: _ = try? directory.lock(room, by: actor, .random(using: &random))
            case 11: if (try? directory.admit(room, by: actor, target, RoomSettings())) != nil { places[target]?.place = .inside }
            case 12: if (try? directory.deny(room, by: actor, target)) != nil { places[target]?.place = .gone }
            default:
                guard Int.random(in: 0..<8, using: &random) == 0, let ended = try? directory.end(room, by: actor) else { return }
                for member in ended.members + ended.waiting { places[member.id]?.place = .gone }
            }
        }

        private mutating func join() {
            guard let name = RoomName(["a", "b", "c", "d"].randomElement(using: &random) ?? "a", bytesMax: 8) else { return }
            var settings = RoomSettings()
            settings.hasLobby = .random(using: &random)
            settings.participantsMax = .random(in: 1...8, using: &random)
            let admission = RoomAdmission(
                role: Role.allCases.randomElement(using: &random) ?? .host, publish: PublishKinds(rawValue: .random(in: 0...7, using: &random)),
                settings: settings)
            let identity = ["ann", "ben", "cleo"].randomElement(using: &random) ?? "ann"
            switch try? directory.join(
                name, at: MemberAddress(loop: 0, token: 0), identity: identity, admission: admission, profile: { _ in identity })
            {
            case .joined(let room, let member): places[member.id] = (room.number, .inside)
            case .waiting(let room, let member): places[member.id] = (room.number, .waiting)
            case nil: break
            }
        }

        /// What must hold at every moment.
        func check() {
            var seen: [ParticipantID: (room: RoomNumber, place: Place)] = [:]
            #expect(directory.rooms.count <= limits.roomsMax)
            for (number, room) in directory.rooms {
                #expect(number == room.number && directory.room(named: room.name)?.number == number)
                #expect(!room.members.isEmpty || !room.waiting.isEmpty, "a room of nobody")
                #expect(room.members.count <= limits.participantsPerRoomMax && room.waiting.count <= limits.lobbyMax)
                #expect(room.members.count { !$0.streams.isEmpty } <= limits.publishersPerRoomMax)
                for member in room.members { #expect(seen.updateValue((number, .inside), forKey: member.id) == nil, "in two places") }
                for member in room.waiting {
                    #expect(seen.updateValue((number, .waiting), forKey: member.id) == nil, "in two places")
                    #expect(member.streams.isEmpty)
                }
                #expect(room.restrictions.count <= 3, "more identities are restricted than there are")
                // Streams and their owners agree, and nobody publishes what they may not.
                #expect(Set(room.streams.map(\.id)).count == room.streams.count)
                for member in room.members {
                    let own = room.streams.filter { $0.publisher == member.id }
                    #expect(own.map(\.id) == member.streams && own.count <= limits.streamsPerParticipantMax)
                    #expect(own.isEmpty || member.role.mayPublish)
                    for stream in own { #expect(member.publishable.contains(PublishKinds(stream.lane))) }
                }
                #expect(room.streams.allSatisfy { stream in room.members.contains { $0.id == stream.publisher } }, "a stream of nobody")
            }
            for (id, expected) in places where expected.place != .gone {
                #expect(seen[id]?.room == expected.room && seen[id]?.place == expected.place)
            }
            #expect(seen.count == places.values.count { $0.place != .gone }, "somebody who is gone is still there")
        }
    }

    @Test(
        "whatever hosts and guests do, everybody is in one place at most, counts agree, and who is gone is gone", arguments: 0..<40 as Range<UInt64>)
    func invariants(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<400 {
            world.step()
            world.check()
        }
        #expect(world.places.count > 20, "the simulation did nothing")
    }
}
