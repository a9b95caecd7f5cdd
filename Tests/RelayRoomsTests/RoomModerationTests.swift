import RelayBase
import Testing

@testable import RelayRooms

@Suite("Rooms: roles, moderation, lobby")
struct RoomModerationTests {
    private struct Hall {
        var directory = TestDirectory.make()
        let number: RoomNumber
        let host: ParticipantID
        let speaker: ParticipantID
        let listener: ParticipantID

        init() throws {
            let host = try directory.enter("hall", "host", role: .host)
            number = host.room.number
            self.host = host.member.id
            speaker = try directory.enter("hall", "speaker", role: .speaker, publish: [.audio, .data]).member.id
            listener = try directory.enter("hall", "listener", role: .listener).member.id
        }

        func member(_ id: ParticipantID) -> TestDirectory.Member? { directory.rooms[number]?.members.first { $0.id == id } }
    }

    // MARK: Roles

    @Test(
        "protocol §3.13: hosts and speakers publish, listeners and recorders do not",
        arguments: [(Role.host, true), (.speaker, true), (.listener, false), (.recorder, false)])
    func publishing(_ role: Role, _ mayPublish: Bool) throws {
        var directory = TestDirectory.make()
        let (room, member) = try directory.enter("r", "x", role: role)
        if mayPublish {
            try directory.publish(room.number, member.id, .video)
        } else {
            #expect(throws: RoomFault.role) { try directory.publish(room.number, member.id, .video) }
        }
    }

    @Test("policy: no role lifts the ceiling on kinds")
    func ceiling() throws {
        var hall = try Hall()
        #expect(throws: RoomFault.kindNotAllowed) { try hall.directory.publish(hall.number, hall.speaker, .video) }
        _ = try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .host)
        #expect(throws: RoomFault.kindNotAllowed) { try hall.directory.publish(hall.number, hall.speaker, .video) }
        try hall.directory.publish(hall.number, hall.speaker, .audio)
    }

    @Test("protocol §3.13: only hosts moderate", arguments: [Role.speaker, .listener, .recorder])
    func onlyHosts(_ role: Role) throws {
        var hall = try Hall()
        let (number, host) = (hall.number, hall.host)
        let other = try hall.directory.enter("hall", "other", role: role).member.id
        let waiting = try hall.directory.wait("hall", "late").id
        #expect(throws: RoomFault.notHost) { try hall.directory.mute(number, by: other, host, .all, true) }
        #expect(throws: RoomFault.notHost) { try hall.directory.remove(number, by: other, host) }
        #expect(throws: RoomFault.notHost) { try hall.directory.promote(number, by: other, other, to: .host) }
        #expect(throws: RoomFault.notHost) { try hall.directory.lock(number, by: other, true) }
        #expect(throws: RoomFault.notHost) { try hall.directory.end(number, by: other) }
        #expect(throws: RoomFault.notHost) { try hall.directory.admit(number, by: other, waiting, RoomSettings()) }
        #expect(throws: RoomFault.notHost) { try hall.directory.deny(number, by: other, waiting) }
        // Who waits is no member at all, whatever role it waits for.
        #expect(throws: RoomFault.notAMember) { try hall.directory.end(number, by: waiting) }
        #expect(throws: RoomFault.notAMember) { try hall.directory.admit(number, by: waiting, waiting, RoomSettings()) }
        #expect(hall.directory.rooms[number]?.members.count == 4)
    }

    @Test("protocol §3.13: an act on somebody who is not there is refused, and nobody reaches into another room")
    func unknownParticipants() throws {
        var hall = try Hall()
        let elsewhere = try hall.directory.enter("elsewhere", "x").member.id
        let waiting = try hall.directory.wait("hall", "late").id
        for participant in [elsewhere, ParticipantID(9_999), waiting] {
            #expect(throws: RoomFault.unknownParticipant) { try hall.directory.mute(hall.number, by: hall.host, participant, .all, true) }
            #expect(throws: RoomFault.unknownParticipant) { try hall.directory.remove(hall.number, by: hall.host, participant) }
            #expect(throws: RoomFault.unknownParticipant) { try hall.directory.promote(hall.number, by: hall.host, participant, to: .host) }
        }
        for participant in [elsewhere, ParticipantID(9_999), hall.speaker] {
            #expect(throws: RoomFault.unknownParticipant) { try hall.directory.admit(hall.number, by: hall.host, participant, RoomSettings()) }
            #expect(throws: RoomFault.unknownParticipant) { try hall.directory.deny(hall.number, by: hall.host, participant) }
        }
        #expect(throws: RoomFault.notAMember) { try hall.directory.remove(RoomNumber(99), by: hall.host, hall.speaker) }
    }

    // MARK: Mute, promote, remove, lock, end

    @Test("protocol §3.13: mute adds kinds, unmute takes them off, and what changes nothing is no news")
    func mute() throws {
        var hall = try Hall()
        let first = try hall.directory.mute(hall.number, by: hall.host, hall.speaker, .audio, true)
        #expect(first?.member.muted == .audio)
        #expect(try hall.directory.mute(hall.number, by: hall.host, hall.speaker, .audio, true) == nil)
        #expect(try hall.directory.mute(hall.number, by: hall.host, hall.speaker, .all, true)?.member.muted == .all)
        #expect(try hall.directory.mute(hall.number, by: hall.host, hall.speaker, [.audio, .video], false)?.member.muted == .data)
        #expect(try hall.directory.mute(hall.number, by: hall.host, hall.speaker, .video, false) == nil)
        #expect(hall.member(hall.speaker)?.muted == .data)
    }

    @Test("protocol §3.13: who may not publish any more has its streams ended, and only its own")
    func demotion() throws {
        var hall = try Hall()
        let kept = try hall.directory.publish(hall.number, hall.host, .audio)
        let ended = [try hall.directory.publish(hall.number, hall.speaker, .audio), try hall.directory.publish(hall.number, hall.speaker, .data)]
        let change = try #require(try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .listener))
        #expect(change.ended.map(\.id) == ended.map(\.id))
        #expect(change.room.streams.map(\.id) == [kept.id])
        #expect(hall.member(hall.speaker)?.streams == [])
        #expect(change.previousRole == .speaker)
        #expect(throws: RoomFault.role) { try hall.directory.publish(hall.number, hall.speaker, .audio) }
        #expect(try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .listener) == nil)
        #expect(try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .speaker)?.ended.isEmpty == true)
        try hall.directory.publish(hall.number, hall.speaker, .audio)
    }

    @Test("protocol §3.13: a host that gives its role away moderates no more")
    func hostsAreEquals() throws {
        var hall = try Hall()
        _ = try hall.directory.promote(hall.number, by: hall.host, hall.listener, to: .host)
        _ = try hall.directory.promote(hall.number, by: hall.listener, hall.host, to: .listener)
        #expect(throws: RoomFault.notHost) { try hall.directory.lock(hall.number, by: hall.host, true) }
    }

    @Test("protocol §3.13: who is removed is out with its streams, and may come again")
    func remove() throws {
        var hall = try Hall()
        let stream = try hall.directory.publish(hall.number, hall.speaker, .audio)
        let departure = try hall.directory.remove(hall.number, by: hall.host, hall.speaker)
        #expect(departure.streams.map(\.id) == [stream.id])
        #expect(!departure.wasWaiting)
        #expect(!departure.room.members.contains { $0.id == hall.speaker })
        #expect(throws: RoomFault.notAMember) { try hall.directory.publish(hall.number, hall.speaker, .audio) }
        let again = try hall.directory.enter("hall", "speaker").member
        #expect(again.id != hall.speaker && again.role == .speaker)
        _ = try hall.directory.remove(hall.number, by: hall.host, hall.host)
        #expect(hall.member(hall.host) == nil)
    }

    @Test("protocol §3.13: a lock keeps everybody out but hosts, of the room and of its lobby")
    func lock() throws {
        var hall = try Hall()
        #expect(try hall.directory.lock(hall.number, by: hall.host, true)?.isLocked == true)
        #expect(try hall.directory.lock(hall.number, by: hall.host, true) == nil)
        for role in [Role.speaker, .listener, .recorder] {
            #expect(throws: RoomFault.locked) { try hall.directory.enter("hall", "late", role: role) }
            #expect(throws: RoomFault.locked) { try hall.directory.wait("hall", "late", role: role) }
        }
        _ = try hall.directory.enter("hall", "second host", role: .host)
        _ = try hall.directory.lock(hall.number, by: hall.host, false)
        _ = try hall.directory.enter("hall", "late")
    }

    @Test("protocol §3.13: an end empties room and lobby, and the name is free for a new room")
    func end() throws {
        var hall = try Hall()
        let waiting = try hall.directory.wait("hall", "late").id
        _ = try hall.directory.lock(hall.number, by: hall.host, true)
        let room = try hall.directory.end(hall.number, by: hall.host)
        #expect(room.members.count == 3)
        #expect(room.waiting.map(\.id) == [waiting])
        #expect(hall.directory.rooms.isEmpty)
        #expect(hall.directory.end(hall.number) == nil)
        let next = try hall.directory.enter("hall", "first again")
        #expect(next.room.number != hall.number && !next.room.isLocked)
    }

    // MARK: Coming again

    @Test("protocol §3.13: a mute is not shed by leaving, nor by another device, and is lifted for who comes after")
    func muteStays() throws {
        var hall = try Hall()
        _ = try hall.directory.mute(hall.number, by: hall.host, hall.speaker, [.audio, .video], true)
        _ = hall.directory.leave(hall.number, hall.speaker)
        let again = try hall.directory.enter("hall", "speaker").member
        #expect(again.muted == [.audio, .video])
        let device = try hall.directory.enter("hall", "speaker").member
        #expect(device.muted == [.audio, .video])
        #expect(try hall.directory.enter("hall", "somebody else").member.muted == [])
        #expect(try hall.directory.enter("elsewhere", "speaker").member.muted == [])
        _ = try hall.directory.mute(hall.number, by: hall.host, again.id, .audio, false)
        #expect(try hall.directory.enter("hall", "speaker").member.muted == .video)
        // Who was there stays as it was.
        #expect(hall.member(device.id)?.muted == [.audio, .video])
        _ = try hall.directory.remove(hall.number, by: hall.host, again.id)
        #expect(try hall.directory.enter("hall", "speaker").member.muted == .video)
    }

    @Test("protocol §3.13: a demotion is not shed by leaving, and a promotion lifts it")
    func demotionStays() throws {
        var hall = try Hall()
        _ = try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .listener)
        _ = hall.directory.leave(hall.number, hall.speaker)
        let again = try hall.directory.enter("hall", "speaker", role: .host).member
        #expect(again.role == .listener)
        #expect(try hall.directory.enter("hall", "speaker", role: .recorder).member.role == .recorder)
        _ = try hall.directory.promote(hall.number, by: hall.host, again.id, to: .speaker)
        #expect(try hall.directory.enter("hall", "speaker", role: .host).member.role == .speaker)
        _ = try hall.directory.promote(hall.number, by: hall.host, again.id, to: .host)
        #expect(try hall.directory.enter("hall", "speaker", role: .host).member.role == .host)
        #expect(try hall.directory.enter("hall", "speaker", role: .listener).member.role == .listener)
    }

    @Test("protocol §3.13: a host that was demoted passes neither lock nor lobby when it comes again")
    func demotedHost() throws {
        var hall = try Hall()
        let second = try hall.directory.enter("hall", "second", role: .host).member.id
        _ = try hall.directory.promote(hall.number, by: hall.host, second, to: .speaker)
        _ = hall.directory.leave(hall.number, second)
        #expect(try hall.directory.wait("hall", "second", role: .host).role == .speaker)
        _ = try hall.directory.lock(hall.number, by: hall.host, true)
        #expect(throws: RoomFault.locked) { try hall.directory.enter("hall", "second", role: .host) }
    }

    @Test("protocol §3.13: who waits is let in with what was imposed on its identity meanwhile")
    func restrictedInTheLobby() throws {
        var hall = try Hall()
        let waiting = try hall.directory.wait("hall", "speaker").id
        _ = try hall.directory.mute(hall.number, by: hall.host, hall.speaker, .audio, true)
        _ = try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .listener)
        let admitted = try hall.directory.admit(hall.number, by: hall.host, waiting, RoomSettings()).member
        #expect(admitted.role == .listener && admitted.muted == .audio)
    }

    @Test("policy reload: a new role of the policy is no way round a demotion")
    func reviewOfTheDemoted() throws {
        var hall = try Hall()
        _ = try hall.directory.promote(hall.number, by: hall.host, hall.speaker, to: .listener)
        _ = hall.directory.leave(hall.number, hall.speaker)
        let again = try hall.directory.enter("hall", "speaker", role: .listener).member.id
        #expect(hall.directory.review(hall.number, again, roleBefore: .listener, admission(.host)) == nil)
        #expect(hall.member(again)?.role == .listener)
    }

    @Test("protocol §3.13: of restrictions the newest 256 are remembered, and none after the room")
    func restrictionsBound() throws {
        var hall = try Hall()
        for number in 0...RoomRestrictions.identitiesMax {
            let guest = try hall.directory.enter("hall", "guest \(number)").member.id
            _ = try hall.directory.mute(hall.number, by: hall.host, guest, .audio, true)
            _ = hall.directory.leave(hall.number, guest)
        }
        #expect(hall.directory.rooms[hall.number]?.restrictions.count == RoomRestrictions.identitiesMax)
        #expect(try hall.directory.enter("hall", "guest 0").member.muted == [])
        #expect(try hall.directory.enter("hall", "guest 1").member.muted == .audio)
        _ = try hall.directory.end(hall.number, by: hall.host)
        #expect(try hall.directory.enter("hall", "guest 1").member.muted == [])
    }

    // MARK: Lobby

    @Test("policy: everybody but hosts waits in the lobby, and comes in with the same number")
    func lobby() throws {
        var hall = try Hall()
        let first = try hall.directory.wait("hall", "first", role: .listener)
        let second = try hall.directory.wait("hall", "second", role: .recorder)
        #expect(hall.member(first.id) == nil)
        let admitted = try hall.directory.admit(hall.number, by: hall.host, second.id, RoomSettings())
        #expect(admitted.member.id == second.id && admitted.member.role == .recorder)
        #expect(admitted.room.waiting.map(\.id) == [first.id])
        #expect(throws: RoomFault.unknownParticipant) { try hall.directory.admit(hall.number, by: hall.host, second.id, RoomSettings()) }
        let denied = try hall.directory.deny(hall.number, by: hall.host, first.id)
        #expect(denied.wasWaiting && denied.room.waiting.isEmpty)
        #expect(throws: RoomFault.unknownParticipant) { try hall.directory.deny(hall.number, by: hall.host, first.id) }
        var settings = RoomSettings()
        settings.hasLobby = true
        _ = try hall.directory.enter("hall", "another host", role: .host, settings: settings)
    }

    @Test("policy: a full room refuses whom a host would let in, and who waits goes on waiting")
    func admitIntoFullRoom() throws {
        var hall = try Hall()
        let waiting = try hall.directory.wait("hall", "late").id
        var settings = RoomSettings()
        settings.participantsMax = 3
        #expect(throws: RoomFault.roomFull(participantsMax: 3)) { try hall.directory.admit(hall.number, by: hall.host, waiting, settings) }
        #expect(hall.directory.rooms[hall.number]?.waiting.map(\.id) == [waiting])
    }

    @Test("limits: a lobby is bounded")
    func lobbyBound() throws {
        var directory = TestDirectory.make { $0.lobbyMax = 2 }
        let first = try directory.wait("r", "a").id
        _ = try directory.wait("r", "b")
        #expect(throws: RoomFault.lobbyFull) { try directory.wait("r", "c") }
        let number = try #require(directory.rooms.keys.first)
        #expect(directory.leave(number, first)?.wasWaiting == true)
        _ = try directory.wait("r", "c")
    }

    @Test("protocol §3.13: a lobby outlives its hosts, and the room lives as long as somebody waits")
    func lobbyWithoutHost() throws {
        var directory = TestDirectory.make()
        let host = try directory.enter("r", "host", role: .host)
        let waiting = try directory.wait("r", "late").id
        #expect(directory.leave(host.room.number, host.member.id) != nil)
        #expect(directory.rooms[host.room.number]?.waiting.map(\.id) == [waiting])
        let next = try directory.enter("r", "next host", role: .host)
        #expect(next.room.number == host.room.number)
        _ = directory.leave(host.room.number, next.member.id)
        #expect(directory.leave(host.room.number, waiting) != nil)
        #expect(directory.rooms.isEmpty)
    }

    // MARK: A changed policy

    private func admission(_ role: Role, _ publish: PublishKinds = .all) -> RoomAdmission {
        RoomAdmission(role: role, publish: publish, settings: RoomSettings())
    }

    @Test("policy reload: a role that the policy gave goes with it, a role that a host gave stays")
    func reviewOfRoles() throws {
        var hall = try Hall()
        let byPolicy = hall.directory.review(hall.number, hall.host, roleBefore: .host, admission(.listener))
        #expect(byPolicy?.member.role == .listener && byPolicy?.previousRole == .host)
        _ = try hall.directory.enter("hall", "next host", role: .host)
        let next = try #require(hall.directory.rooms[hall.number]?.hosts.first?.id)
        _ = try hall.directory.promote(hall.number, by: next, hall.listener, to: .speaker)
        #expect(hall.directory.review(hall.number, hall.listener, roleBefore: .listener, admission(.recorder)) == nil)
        #expect(hall.member(hall.listener)?.role == .speaker)
    }

    @Test("policy reload: streams of a kind that may not be published any more end, the others stay")
    func reviewOfKinds() throws {
        var hall = try Hall()
        let audio = try hall.directory.publish(hall.number, hall.speaker, .audio)
        let data = try hall.directory.publish(hall.number, hall.speaker, .data)
        let change = hall.directory.review(hall.number, hall.speaker, roleBefore: .speaker, admission(.speaker, [.video, .data]))
        #expect(change?.ended.map(\.id) == [audio.id])
        #expect(hall.member(hall.speaker)?.streams == [data.id])
        #expect(throws: RoomFault.kindNotAllowed) { try hall.directory.publish(hall.number, hall.speaker, .audio) }
        try hall.directory.publish(hall.number, hall.speaker, .video)
    }

    @Test("policy reload: what changes nothing is no news, and who waits is let in as the new policy says")
    func reviewOfTheLobby() throws {
        var hall = try Hall()
        #expect(hall.directory.review(hall.number, hall.speaker, roleBefore: .speaker, admission(.speaker, .all)) == nil)
        let waiting = try hall.directory.wait("hall", "late", role: .speaker).id
        #expect(hall.directory.review(hall.number, waiting, roleBefore: .speaker, admission(.listener, .audio)) == nil)
        let admitted = try hall.directory.admit(hall.number, by: hall.host, waiting, RoomSettings()).member
        #expect(admitted.role == .listener && admitted.publishable == .audio)
    }
}
