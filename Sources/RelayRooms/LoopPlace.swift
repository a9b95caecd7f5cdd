import RelayBase

/// Where a loop is, as one number: on the own node its index; on another the node's number in front of it.
///
/// So whatever says where somebody is (``MemberAddress``, ``RemoteInterest``, a room's home) says it for a cluster as well, and one comparison tells which it is.
package enum LoopPlace {
    private static let loopBits = 8
    /// Nodes are numbered from 1.
    package static let nodeMax = 1_023
    /// All event loops of a node.
    package static let every = (1 << loopBits) - 1
    /// The thread that speaks with the other nodes.
    package static let gateway = every - 1
    /// Indices of a node's own threads are below.
    package static let ownMax = gateway - 1

    /// - Parameter loop: an index of that node's, ``every`` or ``gateway``.
    package static func of(_ loop: Int, on node: Int) -> Int { node << loopBits | loop }

    package static func isForeign(_ place: Int) -> Bool { place > every }

    /// 0: the own node.
    package static func node(of place: Int) -> Int { place >> loopBits }

    package static func loop(of place: Int) -> Int { place & every }
}

/// How places are written for other nodes and read from them: with the node's number, which is left out again where it is the reader's own.
package struct NodeReader: Sendable {
    package static let key = CodingUserInfoKey(rawValue: "node")
    package let node: Int
    /// Threads that something of the own node may be at.
    package let loops: Int

    package init(node: Int, loops: Int) {
        self.node = node
        self.loops = loops
    }

    func place(of global: Int) -> Int? {
        guard global > LoopPlace.every, LoopPlace.node(of: global) <= LoopPlace.nodeMax else { return nil }
        guard LoopPlace.node(of: global) == node else { return global }
        let loop = LoopPlace.loop(of: global)
        return loop < loops ? loop : nil
    }

    func global(of place: Int) -> Int { LoopPlace.isForeign(place) ? place : LoopPlace.of(place, on: node) }
}

/// A loop's place within a message that may go to another node.
@propertyWrapper
package struct Place: Hashable, Sendable, Codable {
    package var wrappedValue: Int

    package init(wrappedValue: Int) { self.wrappedValue = wrappedValue }

    /// - Throws: `DecodingError` where it names a thread that the own node does not have.
    package init(from decoder: any Decoder) throws {
        let global = try decoder.singleValueContainer().decode(Int.self)
        let reader = NodeReader.key.flatMap { decoder.userInfo[$0] as? NodeReader }
        guard let place = reader.map({ $0.place(of: global) }) ?? global else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no such loop"))
        }
        wrappedValue = place
    }

    package func encode(to encoder: any Encoder) throws {
        let reader = NodeReader.key.flatMap { encoder.userInfo[$0] as? NodeReader }
        var container = encoder.singleValueContainer()
        try container.encode(reader?.global(of: wrappedValue) ?? wrappedValue)
    }
}

extension MemberAddress: Codable {
    private enum CodingKeys: CodingKey {
        case loop
        case token
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(loop: try values.decode(Place.self, forKey: .loop).wrappedValue, token: try values.decode(UInt64.self, forKey: .token))
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(Place(wrappedValue: loop), forKey: .loop)
        try values.encode(token, forKey: .token)
    }
}

extension RemoteInterest: Codable {
    private enum CodingKeys: CodingKey {
        case loop
        case room
        case slot
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let slot = try values.decode(Int.self, forKey: .slot)
        guard (0..<RoomFanout.streamsMax).contains(slot) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no such slot"))
        }
        self.init(
            loop: try values.decode(Place.self, forKey: .loop).wrappedValue, room: Handle(packed: try values.decode(UInt64.self, forKey: .room)),
            slot: StreamSlot(slot))
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(Place(wrappedValue: loop), forKey: .loop)
        try values.encode(room.packed, forKey: .room)
        try values.encode(slot.index, forKey: .slot)
    }
}

extension RoomName: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let name = RoomName(text, bytesMax: RoomName.bytesMaxBetweenNodes) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no name of a room"))
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// More than any node lets its clients say.
    private static let bytesMaxBetweenNodes = 4_096
}
