package import RelayRooms

/// A room of another node as this node has it: the room as its home gave it last, and what the clients here have been told of it since.
///
/// When nodes have not heard of each other for a while, or a room has got another home, the difference between the two is what the clients are told.
package struct RoomCopy<Profile: Sendable, Description: Sendable>: Sendable {
    package typealias Room = RoomDirectory<Profile, Description>.Room
    package typealias Member = RoomDirectory<Profile, Description>.Member
    package typealias Stream = RoomDirectory<Profile, Description>.Stream

    package private(set) var room: Room
    /// Where its home is.
    package private(set) var home: Int
    private var participants: Set<ParticipantID>
    private var streams: Set<UInt32>
    /// Loops here that have members.
    private var loops: Set<Int> = []

    package init(_ room: Room, home: Int) {
        self.room = room
        self.home = home
        participants = Set(room.members.map(\.id))
        streams = Set(room.streams.map(\.id))
    }

    package var isWanted: Bool { !loops.isEmpty }

    package mutating func opened(_ loop: Int) { loops.insert(loop) }

    package mutating func dropped(_ loop: Int) { loops.remove(loop) }

    // MARK: What goes by

    package mutating func replace(_ room: Room, home: Int) {
        self.room = room
        self.home = home
    }

    package mutating func came(_ participant: ParticipantID) { participants.insert(participant) }
    package mutating func left(_ participant: ParticipantID) { participants.remove(participant) }
    package mutating func added(_ stream: UInt32) { streams.insert(stream) }
    package mutating func ended(_ stream: UInt32) { streams.remove(stream) }

    // MARK: What has to be made good

    package enum Difference: Sendable {
        case came(Member)
        case left(ParticipantID)
        case added(Stream)
        case ended(UInt32)
        case changed(Member)
        case locked(Bool)
        case moved(ParticipantID, MemberAddress)
    }

    /// Takes the room over as it stands. Answers what the clients here do not know of it: ends before beginnings.
    package mutating func stand(_ room: Room, home: Int) -> [Difference] {
        var differences: [Difference] = []
        let members = Set(room.members.map(\.id))
        let open = Set(room.streams.map(\.id))
        for stream in streams.subtracting(open).sorted() { differences.append(.ended(stream)) }
        for participant in participants.subtracting(members).sorted() { differences.append(.left(participant)) }
        for member in room.members {
            guard participants.contains(member.id) else {
                differences.append(.came(member))
                continue
            }
            guard let before = self.room.members.first(where: { $0.id == member.id }) else { continue }
            if before.role != member.role || before.muted != member.muted { differences.append(.changed(member)) }
            if before.address != member.address { differences.append(.moved(member.id, member.address)) }
        }
        for stream in room.streams where !streams.contains(stream.id) { differences.append(.added(stream)) }
        if self.room.isLocked != room.isLocked { differences.append(.locked(room.isLocked)) }
        participants = members
        streams = open
        replace(room, home: home)
        return differences
    }
}
