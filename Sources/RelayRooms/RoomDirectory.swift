package import RelayBase

/// Where a member's connection lives: its loop, and the loop's own name for it.
package struct MemberAddress: Hashable, Sendable {
    package let loop: Int
    package let token: UInt64

    package init(loop: Int, token: UInt64) {
        self.loop = loop
        self.token = token
    }
}

/// Why a room refused. The signalling layer gives each its stable code and sentence.
package enum RoomFault: Error, Hashable, Sendable {
    case tooManyRooms
    case roomFull(participantsMax: Int)
    case tooManyPublishers(publishersMax: Int)
    case tooManyStreams(streamsMax: Int)
    case roomStreamsFull(streamsMax: Int)
    case notAMember
    case unknownStream
}

/// The control state of the rooms that one loop is home to: who is in, what they publish.
///
/// Pure, and generic over what it only carries: a member's profile and a stream's description belong to the signalling.
package struct RoomDirectory<Profile: Sendable, Description: Sendable> {
    package struct Member: Sendable {
        package let id: ParticipantID
        package let address: MemberAddress
        package let profile: Profile
        package internal(set) var streams: [UInt32] = []
    }

    package struct Stream: Sendable {
        package let id: UInt32
        package let publisher: ParticipantID
        package let address: MemberAddress
        package let lane: Lane
        package let description: Description
    }

    package struct Room: Sendable {
        package let number: RoomNumber
        package let name: RoomName
        /// In the order in which they came.
        package internal(set) var members: [Member] = []
        package internal(set) var streams: [Stream] = []
        fileprivate var nextStream: UInt32 = 1

        /// The loops that have members, each once.
        package var loops: [Int] {
            var loops: [Int] = []
            for member in members where !loops.contains(member.address.loop) { loops.append(member.address.loop) }
            return loops
        }
    }

    package private(set) var rooms: [RoomNumber: Room] = [:]
    private var numbers: [RoomName: RoomNumber] = [:]
    private let limits: Limits
    /// Numbers and participants of different home loops never meet: each loop counts in steps of the number of loops.
    private let step: UInt32
    private var nextRoom: UInt32
    private var nextParticipant: UInt32

    package init(limits: Limits, loop: Int, loops: Int) {
        self.limits = limits
        step = UInt32(loops)
        nextRoom = UInt32(loop) &+ UInt32(loops)
        nextParticipant = UInt32(loop) &+ UInt32(loops)
    }

    package func room(named name: RoomName) -> Room? {
        numbers[name].flatMap { rooms[$0] }
    }

    /// Lets a member in; the room comes into being with its first.
    ///
    /// - Parameter profile: made with the member's number.
    package mutating func join(
        _ name: RoomName, at address: MemberAddress, profile: (ParticipantID) -> Profile
    ) throws(RoomFault) -> (room: Room, member: Member) {
        let number: RoomNumber
        if let known = numbers[name] {
            number = known
        } else {
            guard rooms.count < limits.roomsMax else { throw .tooManyRooms }
            number = RoomNumber(nextRoom)
            nextRoom &+= step
            numbers[name] = number
            rooms[number] = Room(number: number, name: name)
        }
        guard let count = rooms[number]?.members.count, count < limits.participantsPerRoomMax else {
            throw .roomFull(participantsMax: limits.participantsPerRoomMax)
        }
        let id = ParticipantID(nextParticipant)
        let member = Member(id: id, address: address, profile: profile(id))
        nextParticipant &+= step
        rooms[number]?.members.append(member)
        guard let room = rooms[number] else { throw .notAMember }
        return (room, member)
    }

    /// Takes a member out with its streams; the room goes with its last. Answers `nil` when it was not in.
    package mutating func leave(_ number: RoomNumber, _ participant: ParticipantID) -> (room: Room, member: Member, streams: [Stream])? {
        guard var room = rooms[number], let index = room.members.firstIndex(where: { $0.id == participant }) else { return nil }
        let member = room.members.remove(at: index)
        let streams = room.streams.filter { $0.publisher == participant }
        room.streams.removeAll { $0.publisher == participant }
        if room.members.isEmpty {
            rooms[number] = nil
            numbers[room.name] = nil
        } else {
            rooms[number] = room
        }
        return (room, member, streams)
    }

    /// Opens a stream for a member.
    package mutating func publish(_ number: RoomNumber, _ participant: ParticipantID, lane: Lane, description: Description)
        throws(RoomFault) -> (room: Room, stream: Stream)
    {
        guard var room = rooms[number], let index = room.members.firstIndex(where: { $0.id == participant }) else { throw .notAMember }
        guard room.members[index].streams.count < limits.streamsPerParticipantMax else {
            throw .tooManyStreams(streamsMax: limits.streamsPerParticipantMax)
        }
        guard room.streams.count < RoomFanout.streamsMax else { throw .roomStreamsFull(streamsMax: RoomFanout.streamsMax) }
        if room.members[index].streams.isEmpty {
            guard room.members.count(where: { !$0.streams.isEmpty }) < limits.publishersPerRoomMax else {
                throw .tooManyPublishers(publishersMax: limits.publishersPerRoomMax)
            }
        }
        let stream = Stream(
            id: room.nextStream, publisher: participant, address: room.members[index].address, lane: lane, description: description)
        room.nextStream &+= 1
        room.members[index].streams.append(stream.id)
        room.streams.append(stream)
        rooms[number] = room
        return (room, stream)
    }

    /// Ends one of a member's own streams.
    package mutating func unpublish(_ number: RoomNumber, _ participant: ParticipantID, stream id: UInt32)
        throws(RoomFault) -> (room: Room, stream: Stream)
    {
        guard var room = rooms[number], let index = room.members.firstIndex(where: { $0.id == participant }) else { throw .notAMember }
        guard let place = room.streams.firstIndex(where: { $0.id == id && $0.publisher == participant }) else { throw .unknownStream }
        let stream = room.streams.remove(at: place)
        room.members[index].streams.removeAll { $0 == id }
        rooms[number] = room
        return (room, stream)
    }
}
