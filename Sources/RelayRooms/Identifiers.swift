/// A participant of a room: unique within the process, never used again while it runs.
package struct ParticipantID: Hashable, Sendable, Comparable, Codable {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }

    package static func < (left: ParticipantID, right: ParticipantID) -> Bool {
        left.value < right.value
    }
}

/// A room's number: what loops say to each other instead of its name. Counted by a process that is alone; in a cluster a digest of the name, so that a room has
/// the same one wherever it begins.
package struct RoomNumber: Hashable, Sendable, Codable {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }
}

/// A room's name as clients say it: 1 to `roomNameBytesMax` bytes of letters, digits and `-._~:@`, so that it can stand in a path, a log and a metric unescaped.
package struct RoomName: Hashable, Sendable {
    package let text: String

    /// - Returns: `nil` when the name is empty, too long, or holds another character.
    package init?(_ text: String, bytesMax: Int) {
        guard !text.isEmpty, text.utf8.count <= bytesMax, text.utf8.allSatisfy(RoomName.isAllowed) else { return nil }
        self.text = text
    }

    /// Names of this beginning belong to pairs: nobody else enters them, whatever the operator's rules say.
    package static let pairPrefix = "pair:"

    /// In whatever case: another spelling would be a room of its own that looks like a pair's.
    package var isPair: Bool { text.prefix(RoomName.pairPrefix.count).lowercased() == RoomName.pairPrefix }

    static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "@"): true
        default: false
        }
    }
}

/// Stream identifiers of a room.
package enum RoomStreams {
    /// Of the room's mix. What is published gets lower ones.
    package static let mix: UInt32 = 0x8000_0000

    /// The identifier behind one of a published stream. Two thousand million streams later, the first come again.
    static func next(after id: UInt32) -> UInt32 { id < mix - 1 ? id + 1 : 1 }
}

/// A stream's place in one loop's fan-out of a room: small and dense, so that filters are look-ups in a table.
package struct StreamSlot: Hashable, Sendable {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }
}

/// The egress lanes of one subscriber in the order in which they are served; control goes before all of them and is not a log.
package enum Lane: Int, Sendable, CaseIterable, Codable {
    case audio
    case video
    case data
}
