extension RelayMessage.ResumedSession {
    /// The value as JSON.
    ///
    /// - Parameter participants: the room's, as a JSON array: large rooms are put together of pieces that were encoded once each. Not used without a room.
    package func encoded(participants: [UInt8]) -> [UInt8] {
        var rest = self
        rest.room = nil
        guard let room, var entry = JSONText.encode(room), var bytes = JSONText.encode(rest), bytes.count > 2 else {
            return JSONText.encode(self) ?? Array("{}".utf8)
        }
        // Both are objects with members: what is added goes before the brace that ends each.
        entry.removeLast()
        entry += ",\"participants\":".utf8
        entry += participants
        entry.append(UInt8(ascii: "}"))
        bytes.removeLast()
        bytes += ",\"room\":".utf8
        bytes += entry
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
