/// RTP packets as a capture has them, made into a trace.
///
/// A capture knows when packets came, and of when they were sent only the timestamps. So the fastest packet's transit is taken as 0. Sequence numbers that are
/// missing become lost packets.
struct RTPCollection {
    private struct Packet {
        var received: Int64
        var sequence: UInt16
        var timestamp: UInt32
        var payloadType: UInt8
        var isMarked: Bool
        var byteCount: Int
    }

    private var streams: [UInt32: [Packet]] = [:]
    private static let streamsMax = 4_096
    /// More than RFC 3550 §A.1 has for a source that was restarted.
    private static let gapMax = 3_000

    /// Takes what may be an RTP packet (RFC 3550 §5.1). - Returns: false when it is none, or there are too many.
    @discardableResult
    mutating func add(_ bytes: ArraySlice<UInt8>, received: Int64) -> Bool {
        let reader = ByteReader(bytes)
        guard bytes.count >= 12, reader.byte(0) >> 6 == 2 else { return false }
        let payloadType = reader.byte(1) & 0x7F
        // RTCP on the same port (RFC 5761 §4).
        guard !(64...95).contains(payloadType) else { return false }
        var header = 12 + 4 * Int(reader.byte(0) & 0x0F)
        if reader.byte(0) & 0x10 != 0 {
            guard bytes.count >= header + 4 else { return false }
            header += 4 + 4 * Int(reader.big16(header + 2))
        }
        let padding = reader.byte(0) & 0x20 != 0 ? Int(reader.byte(bytes.count - 1)) : 0
        guard bytes.count >= header + padding else { return false }
        let source = reader.big32(8)
        guard streams[source] != nil || streams.count < Self.streamsMax, streams[source]?.count ?? 0 < TraceText.packetsMax else { return false }
        streams[source, default: []].append(
            Packet(
                received: received, sequence: reader.big16(2), timestamp: reader.big32(4), payloadType: payloadType,
                isMarked: reader.byte(1) & 0x80 != 0, byteCount: bytes.count - header - padding))
        return true
    }

    /// - Parameters:
    ///   - source: the SSRC; `nil`: of the most packets.
    ///   - timescale: `nil`: by the payload type (RFC 3551 §6), 48,000 where that says nothing.
    func trace(name: String, source: UInt32? = nil, timescale: UInt32? = nil) throws(TraceFault) -> ArrivalTrace {
        let chosen = source ?? streams.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key
        guard let chosen, let packets = streams[chosen], let head = packets.first else { throw TraceFault("no RTP packets") }
        var trace = ArrivalTrace(name: name, origin: .recorded, note: "SSRC \(chosen), payload type \(head.payloadType)")
        trace.timescale = timescale ?? Self.timescale(of: head.payloadType)
        // By sequence numbers made long, each once.
        var extended: [Int64: Packet] = [:]
        var newest = Int64(head.sequence)
        for packet in packets {
            let number = newest + Int64(Int16(bitPattern: packet.sequence &- UInt16(truncatingIfNeeded: newest)))
            newest = max(newest, number)
            if extended[number] == nil { extended[number] = packet }
        }
        let numbers = extended.keys.sorted()
        trace.packetTicks = Self.commonStep(numbers, extended)
        var last: Int64?
        for number in numbers {
            guard let packet = extended[number] else { continue }
            if let last, number - last > 1, number - last <= Int64(Self.gapMax), let before = trace.packets.last {
                for step in 1..<UInt32(number - last) {
                    trace.packets.append(
                        TracePacket(
                            sequence: before.sequence &+ step, timestamp: before.timestamp &+ step &* trace.packetTicks, sent: 0, received: nil,
                            byteCount: before.byteCount))
                }
            }
            trace.packets.append(
                TracePacket(
                    sequence: UInt32(truncatingIfNeeded: number), timestamp: packet.timestamp, sent: 0, received: packet.received,
                    byteCount: packet.byteCount, isDiscontinuity: false))
            last = number
        }
        Self.setTimes(&trace)
        return try trace.checked()
    }

    /// Sets send times by timestamps, the fastest packet's transit being 0, and moves all so that the first is sent at 0.
    private static func setTimes(_ trace: inout ArrivalTrace) {
        let media = trace.mediaTimes()
        var fastest = Int64.max
        for (packet, time) in zip(trace.packets, media) {
            guard let received = packet.received else { continue }
            fastest = min(fastest, received - time)
        }
        let earliest = media.min() ?? 0
        for place in trace.packets.indices {
            trace.packets[place].sent = media[place] - earliest
            if let received = trace.packets[place].received { trace.packets[place].received = received - fastest - earliest }
        }
    }

    /// The commonest step between neighbours.
    private static func commonStep(_ numbers: [Int64], _ packets: [Int64: Packet]) -> UInt32 {
        var counts: [UInt32: Int] = [:]
        for (one, next) in zip(numbers, numbers.dropFirst()) where next == one + 1 {
            guard let one = packets[one], let next = packets[next] else { continue }
            let step = next.timestamp &- one.timestamp
            if (1...23_040).contains(step) { counts[step, default: 0] += 1 }
        }
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? 960
    }

    /// RFC 3551 §6, table 4.
    private static func timescale(of payloadType: UInt8) -> UInt32 {
        switch payloadType {
        case 0, 3...5, 7...9, 12, 15, 18: 8_000
        case 6: 16_000
        case 10, 11: 44_100
        case 16: 11_025
        case 17: 22_050
        case 14: 90_000
        default: 48_000
        }
    }
}

/// Reads numbers of a slice; places are from its begin, and the caller has looked at the length.
struct ByteReader {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    func byte(_ place: Int) -> UInt8 { bytes[bytes.startIndex + place] }
    func big16(_ place: Int) -> UInt16 { UInt16(byte(place)) << 8 | UInt16(byte(place + 1)) }
    func big32(_ place: Int) -> UInt32 { UInt32(big16(place)) << 16 | UInt32(big16(place + 2)) }
    func little32(_ place: Int) -> UInt32 { big32(place).byteSwapped }

    /// What is from `place` on, `count` bytes of it at most; empty when there is nothing.
    func rest(from place: Int, count: Int = .max) -> ArraySlice<UInt8> { bytes.dropFirst(place).prefix(count) }
}
