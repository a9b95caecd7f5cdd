/// Classic pcap files (draft-ietf-opsawg-pcap) with RTP over UDP, IPv4 or IPv6: both byte orders, times in micro- or nanoseconds.
enum PacketCapture {
    private struct Layout {
        var isLittle: Bool
        var nanosecondsPerFraction: Int64
        var linkType: UInt32
    }

    /// More than any interface hands over (MAXIMUM_SNAPLEN of libpcap).
    private static let packetBytesMax = 262_144

    static func looksLike(_ bytes: [UInt8]) -> Bool { (try? layout(bytes)) != nil }

    private static func layout(_ bytes: [UInt8]) throws(TraceFault) -> Layout {
        guard bytes.count >= 24 else { throw TraceFault("shorter than a header of pcap") }
        let reader = ByteReader(bytes[...])
        let isLittle: Bool
        let scale: Int64
        switch reader.big32(0) {
        case 0xA1B2_C3D4: (isLittle, scale) = (false, 1_000)
        case 0xA1B2_3C4D: (isLittle, scale) = (false, 1)
        case 0xD4C3_B2A1: (isLittle, scale) = (true, 1_000)
        case 0x4D3C_B2A1: (isLittle, scale) = (true, 1)
        case 0x0A0D_0D0A: throw TraceFault("pcapng; make it pcap: tshark -F pcap -r IN -w OUT")
        default: throw TraceFault("not of pcap")
        }
        let type = isLittle ? reader.little32(20) : reader.big32(20)
        return Layout(isLittle: isLittle, nanosecondsPerFraction: scale, linkType: type & 0xFFFF)
    }

    static func read(_ bytes: [UInt8], name: String, source: UInt32? = nil, timescale: UInt32? = nil) throws(TraceFault) -> ArrivalTrace {
        let layout = try layout(bytes)
        var packets = RTPCollection()
        var place = 24
        while place < bytes.count {
            let reader = ByteReader(bytes[place...])
            guard reader.count >= 16 else { throw TraceFault("a record's header is cut off at byte \(place)") }
            func number(_ at: Int) -> Int64 { Int64(layout.isLittle ? reader.little32(at) : reader.big32(at)) }
            let captured = Int(number(8))
            guard captured <= packetBytesMax, captured <= reader.count - 16 else {
                throw TraceFault("a record of \(captured) bytes at byte \(place)")
            }
            let time = number(0) * 1_000_000_000 + number(4) * layout.nanosecondsPerFraction
            if let payload = datagram(reader.rest(from: 16, count: captured), layout.linkType) { packets.add(payload, received: time) }
            place += 16 + captured
        }
        return try packets.trace(name: name, source: source, timescale: timescale)
    }

    // MARK: Down to the datagram

    /// The UDP payload of a frame; `nil` for anything else, fragments among it.
    private static func datagram(_ frame: ArraySlice<UInt8>, _ linkType: UInt32) -> ArraySlice<UInt8>? {
        let reader = ByteReader(frame)
        switch linkType {
        case 1:
            guard reader.count >= 14 else { return nil }
            var place = 12
            // 802.1Q and 802.1ad tags.
            while reader.count >= place + 6, [0x8100, 0x88A8].contains(reader.big16(place)) { place += 4 }
            return network(reader.rest(from: place + 2))
        // DLT_NULL and DLT_LOOP: an address family of 4 bytes.
        case 0, 108: return network(reader.rest(from: 4))
        case 101, 228, 229, 12, 14: return network(frame)
        // LINUX_SLL and LINUX_SLL2.
        case 113: return network(reader.rest(from: 16))
        case 276: return network(reader.rest(from: 20))
        default: return nil
        }
    }

    private static func network(_ packet: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let reader = ByteReader(packet)
        guard reader.count >= 20 else { return nil }
        switch reader.byte(0) >> 4 {
        case 4:
            let header = 4 * Int(reader.byte(0) & 0x0F)
            let total = Int(reader.big16(2))
            guard header >= 20, total >= header, reader.byte(9) == 17, reader.big16(6) & 0x3FFF == 0 else { return nil }
            return transport(reader.rest(from: header, count: total - header))
        case 6:
            guard reader.count >= 40 else { return nil }
            var next = reader.byte(6)
            var rest = reader.rest(from: 40, count: Int(reader.big16(4)))
            // Hop-by-hop, routing, destination options.
            while [0, 43, 60].contains(next) {
                let extra = ByteReader(rest)
                guard extra.count >= 8 else { return nil }
                next = extra.byte(0)
                rest = extra.rest(from: 8 + 8 * Int(extra.byte(1)))
            }
            return next == 17 ? transport(rest) : nil
        default: return nil
        }
    }

    private static func transport(_ segment: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let reader = ByteReader(segment)
        guard reader.count >= 8 else { return nil }
        let length = Int(reader.big16(4))
        // What was cut by the capture is taken as far as it goes.
        return length >= 8 ? reader.rest(from: 8, count: length - 8) : nil
    }
}
