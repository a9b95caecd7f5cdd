import RelayBase

/// Rooms that move between the homes of several nodes.
extension RoomDirectory {
    /// Bits of a participant's number that a node counts in; above them is its own number, so that what two homes have given never meets.
    private static var counterBits: UInt32 { 22 }
    /// Of streams', which are numbered by room: below ``RoomStreams/mix``.
    private static var streamCounterBits: UInt32 { 20 }

    /// From now on numbers are those of a node of a cluster.
    ///
    /// - Parameters:
    ///   - node: 1 to ``LoopPlace/nodeMax``.
    ///   - start: where counting begins, drawn anew by each process: what the one before has given may still be in use.
    ///   - numbering: rooms' numbers, the same on all nodes. No two names that anybody can find may have the same.
    package mutating func number(asNode node: Int, startingAt start: UInt32, numbering: @escaping @Sendable (RoomName) -> RoomNumber) {
        precondition((1...LoopPlace.nodeMax).contains(node), "nodes are numbered from 1")
        let base = UInt32(node) << Self.counterBits
        // In steps, so that each loop keeps to its own.
        let offset = (start & (1 << Self.counterBits - 1)) / step * step + nextParticipant % step
        self.numbering = numbering
        nextParticipant = base | offset & (1 << Self.counterBits - 1)
        firstStream = UInt32(node) << Self.streamCounterBits | 1
    }

    mutating func takeNumber(for name: RoomName) -> RoomNumber {
        if let numbering { return numbering(name) }
        nextRoom &+= UInt64(step)
        return RoomNumber(nextRoom)
    }

    mutating func takeParticipant() -> ParticipantID {
        nextParticipant = after(nextParticipant)
        return ParticipantID(nextParticipant)
    }

    /// The next number of the same node and loop.
    private func after(_ number: UInt32) -> UInt32 {
        guard firstStream > 1 else { return number &+ step }
        let mask: UInt32 = 1 << Self.counterBits - 1
        let next = (number & mask) + step
        return number & ~mask | (next <= mask ? next : next % step)
    }

    // MARK: Moving

    /// A room without anybody, for the first of those who come back to one that was lost with its node.
    package mutating func reopen(_ number: RoomNumber, _ name: RoomName) -> Room? {
        restore(Room(number: number, name: name, nextStream: 0))
    }

    /// Takes over a room that another home had. Streams that it opens from now on have numbers that no other home has given.
    ///
    /// - Returns: the room as it is now; `nil` when one of that name is here already.
    package mutating func restore(_ room: Room) -> Room? {
        guard numbers[room.name] == nil, rooms[room.number] == nil else { return nil }
        var restored = room
        restored.speakers = ActiveSpeakers()
        let node = firstStream >> Self.streamCounterBits
        let own = room.streams.map(\.id).filter { $0 >> Self.streamCounterBits == node }.max()
        if restored.nextStream >> Self.streamCounterBits != node { restored.nextStream = own.map { $0 + 1 } ?? firstStream }
        rooms[room.number] = restored
        numbers[room.name] = room.number
        return restored
    }

    /// Gives a room up: another home has it.
    package mutating func surrender(_ number: RoomNumber) -> Room? {
        guard let room = rooms[number] else { return nil }
        forget(room)
        return room
    }

    /// Takes in a member that its own loop has and that this home does not know, with its streams; or its new address where the home does know it.
    ///
    /// What hosts have imposed here holds. Streams whose number is another's are left out.
    ///
    /// - Returns: the room as it is now, and the streams that are new; `nil` when there is no such room.
    package mutating func readmit(_ number: RoomNumber, _ member: Member, _ streams: [Stream]) -> (room: Room, isNew: Bool, streams: [Stream])? {
        guard var room = rooms[number] else { return nil }
        var member = member
        let known = room.members.firstIndex { $0.id == member.id }
        if let known {
            member.streams = room.members[known].streams
            member.role = room.members[known].role
            member.muted = room.members[known].muted
        } else {
            member.streams = []
            member.role = room.restrictions.role(member.identity, member.role)
            member.muted = room.restrictions.muted(member.identity)
        }
        var new: [Stream] = []
        for var stream in streams where member.role.mayPublish {
            stream.address = member.address
            if let place = room.streams.firstIndex(where: { $0.id == stream.id }) {
                if room.streams[place].publisher == member.id { room.streams[place].address = member.address }
            } else if room.streams.count < RoomFanout.streamsMax, member.streams.count < limits.streamsPerParticipantMax {
                room.streams.append(stream)
                member.streams.append(stream.id)
                new.append(stream)
            }
        }
        for place in room.streams.indices where room.streams[place].publisher == member.id { room.streams[place].address = member.address }
        if let known { room.members[known] = member } else { room.members.append(member) }
        rooms[number] = room
        return (room, known == nil, new)
    }

    /// Ends a stream that its own loop does not have any more.
    package mutating func endStream(_ number: RoomNumber, _ id: UInt32) -> (room: Room, stream: Stream)? {
        guard var room = rooms[number], let place = room.streams.firstIndex(where: { $0.id == id }) else { return nil }
        let stream = room.streams.remove(at: place)
        if let member = room.members.firstIndex(where: { $0.id == stream.publisher }) { room.members[member].streams.removeAll { $0 == id } }
        rooms[number] = room
        return (room, stream)
    }
}

extension RoomDirectory.Room: Codable where Profile: Codable, Description: Codable {
    private enum CodingKeys: CodingKey {
        case number
        case name
        case members
        case waiting
        case streams
        case isLocked
        case restrictions
        case nextStream
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        number = try values.decode(RoomNumber.self, forKey: .number)
        name = try values.decode(RoomName.self, forKey: .name)
        members = try values.decode([RoomDirectory.Member].self, forKey: .members)
        waiting = try values.decode([RoomDirectory.Member].self, forKey: .waiting)
        streams = try values.decode([RoomDirectory.Stream].self, forKey: .streams)
        isLocked = try values.decode(Bool.self, forKey: .isLocked)
        restrictions = try values.decode(RoomRestrictions.self, forKey: .restrictions)
        nextStream = try values.decode(UInt32.self, forKey: .nextStream)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(number, forKey: .number)
        try values.encode(name, forKey: .name)
        try values.encode(members, forKey: .members)
        try values.encode(waiting, forKey: .waiting)
        try values.encode(streams, forKey: .streams)
        try values.encode(isLocked, forKey: .isLocked)
        try values.encode(restrictions, forKey: .restrictions)
        try values.encode(nextStream, forKey: .nextStream)
    }
}
