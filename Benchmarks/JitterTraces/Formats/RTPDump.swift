/// Files of rtptools' rtpdump (rtpdump(1), `dump` format): a line of text, a header of 16 bytes, then packets with 8 bytes before each.
enum RTPDump {
    private static let magic = Array("#!rtpplay1.0 ".utf8)

    static func looksLike(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    static func read(_ bytes: [UInt8], name: String, source: UInt32? = nil, timescale: UInt32? = nil) throws(TraceFault) -> ArrivalTrace {
        guard looksLike(bytes), let lineEnd = bytes.prefix(256).firstIndex(of: UInt8(ascii: "\n")) else { throw TraceFault("not of rtpdump") }
        // Begin (two of 32 bits), address, port, padding.
        var place = lineEnd + 1 + 16
        guard place <= bytes.count else { throw TraceFault("the header of rtpdump is cut off") }
        var packets = RTPCollection()
        while place < bytes.count {
            let reader = ByteReader(bytes[place...])
            guard reader.count >= 8 else { throw TraceFault("a packet's header is cut off at byte \(place)") }
            let length = Int(reader.big16(0))
            let packetLength = Int(reader.big16(2))
            guard length >= 8, length <= reader.count else { throw TraceFault("a packet of \(length) bytes at byte \(place)") }
            // A packet length of 0 is RTCP.
            if packetLength > 0 {
                let body = reader.rest(from: 8, count: length - 8)
                // Headers only, where the dump kept no more: what is missing counts for the size alone.
                packets.add(body, received: Int64(reader.big32(4)) * 1_000_000)
            }
            place += length
        }
        return try packets.trace(name: name, source: source, timescale: timescale)
    }
}
