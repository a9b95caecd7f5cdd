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

/// The control state of the rooms that one loop is home to: who is in, who waits, what they may do and what they publish.
///
/// Pure, and generic over what it only carries: a member's profile and a stream's description belong to the signalling. Who is in and who waits are two lists
/// of which nobody is on both. A room lives as long as somebody is on one of them.
package struct RoomDirectory<Profile: Sendable, Description: Sendable> {
    package struct Member: Sendable {
        package let id: ParticipantID
        package internal(set) var address: MemberAddress
        /// The name by which hosts' acts are remembered when the member comes again.
        package let identity: String
        package internal(set) var profile: Profile
        package internal(set) var role: Role
        /// What the participant may publish at most: no role lifts it.
        package internal(set) var publishable: PublishKinds
        /// What a host has muted.
        package internal(set) var muted: PublishKinds = []
        package internal(set) var streams: [UInt32] = []

        mutating func change(_ change: (inout Profile) -> Void) { change(&profile) }

        /// As its own loop knows a member whom the room's home may not know.
        package init(
            id: ParticipantID, address: MemberAddress, identity: String, profile: Profile, role: Role, publishable: PublishKinds,
            muted: PublishKinds = []
        ) {
            self.id = id
            self.address = address
            self.identity = identity
            self.profile = profile
            self.role = role
            self.publishable = publishable
            self.muted = muted
        }
    }

    package struct Stream: Sendable {
        package let id: UInt32
        package let publisher: ParticipantID
        package internal(set) var address: MemberAddress
        package let lane: Lane
        package let description: Description

        package init(id: UInt32, publisher: ParticipantID, address: MemberAddress, lane: Lane, description: Description) {
            self.id = id
            self.publisher = publisher
            self.address = address
            self.lane = lane
            self.description = description
        }
    }

    package struct Room: Sendable {
        package let number: RoomNumber
        package let name: RoomName
        /// In the order in which they came.
        package internal(set) var members: [Member] = []
        /// The lobby, in the order in which they came.
        package internal(set) var waiting: [Member] = []
        package internal(set) var streams: [Stream] = []
        /// Nobody but hosts comes in.
        package internal(set) var isLocked = false
        package internal(set) var speakers = ActiveSpeakers()
        var restrictions = RoomRestrictions()
        var nextStream: UInt32

        /// The loops that have members, each once.
        package var loops: [Int] {
            var loops: [Int] = []
            for member in members where !loops.contains(member.address.loop) { loops.append(member.address.loop) }
            return loops
        }

        package var hosts: [Member] { members.filter(\.role.mayModerate) }
    }

    /// What became of somebody who asked to join.
    package enum Entry: Sendable {
        case joined(Room, Member)
        case waiting(Room, Member)
    }

    /// Somebody went out, of the room or of its lobby. `room` is as it is without them.
    package struct Departure: Sendable {
        package let room: Room
        package let member: Member
        package let streams: [Stream]
        package let wasWaiting: Bool
    }

    package internal(set) var rooms: [RoomNumber: Room] = [:]
    var numbers: [RoomName: RoomNumber] = [:]
    let limits: Limits
    /// Numbers and participants of different home loops never meet: each loop counts in steps of the number of loops.
    let step: UInt32
    var nextRoom: UInt64
    var nextParticipant: UInt32
    /// Of a room that comes into being.
    var firstStream: UInt32 = 1
    /// In a cluster, the numbers of rooms.
    var numbering: (@Sendable (RoomName) -> RoomNumber)?

    package init(limits: Limits, loop: Int, loops: Int) {
        self.limits = limits
        step = UInt32(loops)
        nextRoom = UInt64(loop)
        nextParticipant = UInt32(loop)
    }

    package func room(named name: RoomName) -> Room? {
        numbers[name].flatMap { rooms[$0] }
    }

    // MARK: Coming and going

    /// Lets somebody in, or into the lobby where the room has one; the room comes into being with its first. Hosts pass lobby and lock.
    ///
    /// - Parameters:
    ///   - identity: what hosts have imposed on it in this room holds again.
    ///   - profile: made with the member's number.
    package mutating func join(
        _ name: RoomName, at address: MemberAddress, identity: String, admission: RoomAdmission, profile: (ParticipantID) -> Profile
    ) throws(RoomFault) -> Entry {
        let known = room(named: name)
        let role = known?.restrictions.role(identity, admission.role) ?? admission.role
        let isHost = role.mayModerate
        let waits = admission.settings.hasLobby && !isHost
        if known?.isLocked == true, !isHost { throw .locked }
        if waits {
            guard known?.waiting.count ?? 0 < limits.lobbyMax else { throw .lobbyFull }
        } else {
            try checkPlace(in: known, admission.settings)
        }
        var room: Room
        if let known {
            room = known
        } else {
            guard rooms.count < limits.roomsMax else { throw .tooManyRooms }
            room = Room(number: takeNumber(for: name), name: name, nextStream: firstStream)
            numbers[name] = room.number
        }
        let id = takeParticipant()
        let member = Member(
            id: id, address: address, identity: identity, profile: profile(id), role: role, publishable: admission.publish,
            muted: room.restrictions.muted(identity))
        if waits { room.waiting.append(member) } else { room.members.append(member) }
        rooms[room.number] = room
        return waits ? .waiting(room, member) : .joined(room, member)
    }

    /// The relay's limit or the room's own, whichever is smaller.
    func checkPlace(in room: Room?, _ settings: RoomSettings) throws(RoomFault) {
        let most = min(limits.participantsPerRoomMax, settings.participantsMax ?? .max)
        guard room?.members.count ?? 0 < most else { throw .roomFull(participantsMax: most) }
    }

    /// Takes somebody out, of the room with their streams or of the lobby. Answers `nil` when they were in neither.
    package mutating func leave(_ number: RoomNumber, _ participant: ParticipantID) -> Departure? {
        guard var room = rooms[number] else { return nil }
        if let place = room.waiting.firstIndex(where: { $0.id == participant }) {
            let member = room.waiting.remove(at: place)
            keep(room)
            return Departure(room: room, member: member, streams: [], wasWaiting: true)
        }
        guard let place = room.members.firstIndex(where: { $0.id == participant }) else { return nil }
        let member = room.members.remove(at: place)
        let streams = room.streams.filter { $0.publisher == participant }
        room.streams.removeAll { $0.publisher == participant }
        room.speakers.forget(participant)
        keep(room)
        return Departure(room: room, member: member, streams: streams, wasWaiting: false)
    }

    /// Changes what is only carried of somebody in a room or its lobby. Answers `nil` when they are in neither.
    package mutating func changeProfile(
        _ number: RoomNumber, _ participant: ParticipantID, _ change: (inout Profile) -> Void
    ) -> (room: Room, isWaiting: Bool)? {
        if let place = rooms[number]?.members.firstIndex(where: { $0.id == participant }) {
            rooms[number]?.members[place].change(change)
        } else if let place = rooms[number]?.waiting.firstIndex(where: { $0.id == participant }) {
            rooms[number]?.waiting[place].change(change)
        } else {
            return nil
        }
        return rooms[number].map { room in (room, room.waiting.contains { $0.id == participant }) }
    }

    /// Stores a room, unless nobody is in it and nobody waits: then it goes.
    mutating func keep(_ room: Room) {
        if room.members.isEmpty, room.waiting.isEmpty { forget(room) } else { rooms[room.number] = room }
    }

    mutating func forget(_ room: Room) {
        rooms[room.number] = nil
        numbers[room.name] = nil
    }

    // MARK: Streams

    /// Opens a stream for a member.
    package mutating func publish(
        _ number: RoomNumber, _ participant: ParticipantID, lane: Lane, settings: RoomSettings, description: Description
    ) throws(RoomFault) -> (room: Room, stream: Stream) {
        guard var room = rooms[number], let index = room.members.firstIndex(where: { $0.id == participant }) else { throw .notAMember }
        guard room.members[index].role.mayPublish else { throw .role }
        guard room.members[index].publishable.contains(PublishKinds(lane)) else { throw .kindNotAllowed }
        guard room.members[index].streams.count < limits.streamsPerParticipantMax else {
            throw .tooManyStreams(streamsMax: limits.streamsPerParticipantMax)
        }
        guard room.streams.count < RoomFanout.streamsMax else { throw .roomStreamsFull(streamsMax: RoomFanout.streamsMax) }
        if room.members[index].streams.isEmpty {
            let most = min(limits.publishersPerRoomMax, settings.publishersMax ?? .max)
            guard room.members.count(where: { !$0.streams.isEmpty }) < most else { throw .tooManyPublishers(publishersMax: most) }
        }
        let stream = Stream(
            id: room.nextStream, publisher: participant, address: room.members[index].address, lane: lane, description: description)
        room.nextStream = RoomStreams.next(after: room.nextStream)
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

extension RoomDirectory.Member: Codable where Profile: Codable {}

extension RoomDirectory.Stream: Codable where Description: Codable {}
