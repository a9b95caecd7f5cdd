import RelayBase
import Testing

@testable import RelayRooms

/// A directory whose members' profiles are their names.
typealias TestDirectory = RoomDirectory<String, String>

struct NotInTheRoom: Error {}

extension RoomDirectory<String, String> {
    static func make(loop: Int = 0, loops: Int = 1, _ change: (inout Limits) -> Void = { _ in }) -> TestDirectory {
        var limits = Limits()
        change(&limits)
        return TestDirectory(limits: limits, loop: loop, loops: loops)
    }

    /// Joins and comes in: fails where the way leads into the lobby.
    mutating func enter(
        _ room: String, _ profile: String, role: Role = .speaker, publish: PublishKinds = .all, settings: RoomSettings = RoomSettings(), loop: Int = 0
    ) throws -> (room: Room, member: Member) {
        let name = try #require(RoomName(room, bytesMax: 128))
        let admission = RoomAdmission(role: role, publish: publish, settings: settings)
        switch try join(name, at: MemberAddress(loop: loop, token: 1), identity: profile, admission: admission, profile: { _ in profile }) {
        case .joined(let room, let member): return (room, member)
        case .waiting: throw NotInTheRoom()
        }
    }

    /// Joins a room with a lobby and waits there.
    mutating func wait(_ room: String, _ profile: String, role: Role = .speaker, publish: PublishKinds = .all) throws -> Member {
        let name = try #require(RoomName(room, bytesMax: 128))
        var settings = RoomSettings()
        settings.hasLobby = true
        let admission = RoomAdmission(role: role, publish: publish, settings: settings)
        switch try join(name, at: MemberAddress(loop: 0, token: 1), identity: profile, admission: admission, profile: { _ in profile }) {
        case .joined: throw NotInTheRoom()
        case .waiting(_, let member): return member
        }
    }

    @discardableResult
    mutating func publish(_ room: RoomNumber, _ participant: ParticipantID, _ lane: Lane) throws -> Stream {
        try publish(room, participant, lane: lane, settings: RoomSettings(), description: "").stream
    }
}
