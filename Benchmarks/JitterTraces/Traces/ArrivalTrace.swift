/// One packet of a trace.
struct TracePacket: Equatable, Sendable {
    var sequence: UInt32
    /// Of its first sample, in the trace's timescale.
    var timestamp: UInt32
    /// Nanoseconds since the trace's beginning, by one clock for both ends.
    var sent: Int64
    /// `nil`: it never came.
    var received: Int64?
    /// Of its payload.
    var byteCount: Int
    /// Silence until the next packet (DTX).
    var isSilence = false
    /// It goes on from nothing that came before.
    var isDiscontinuity = false
}

/// When the packets of a stream were sent and when they came, in the order in which they were sent.
struct ArrivalTrace: Equatable, Sendable {
    enum Origin: String, Sendable {
        case recorded
        case generated
    }

    var name: String
    var origin: Origin
    /// What it is of, in a line.
    var note = ""
    /// Timestamp units a second.
    var timescale: UInt32 = 48_000
    /// Of one packet, in timestamp units.
    var packetTicks: UInt32 = 960
    var packets: [TracePacket] = []

    /// Those that came, in the order in which they came; packets of one instant in the order in which they were sent.
    var arrivals: [TracePacket] {
        packets.enumerated().filter { $0.element.received != nil }
            .sorted { ($0.element.received ?? 0, $0.offset) < ($1.element.received ?? 0, $1.offset) }
            .map(\.element)
    }

    /// When the last packet came.
    var end: Int64 { packets.compactMap(\.received).max() ?? 0 }

    /// Whether silence is marked.
    var hasPauses: Bool { packets.contains(where: \.isSilence) }

    /// Nanoseconds that `packetTicks` play.
    var packetNanoseconds: Int64 { Int64(packetTicks) * 1_000_000_000 / Int64(timescale) }

    /// Where the packets' samples are on the sender's clock: nanoseconds since the first, by timestamps taken apart modulo 2³².
    func mediaTimes() -> [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(packets.count)
        var ticks: Int64 = 0
        var last = packets.first?.timestamp ?? 0
        for packet in packets {
            ticks += Int64(Int32(bitPattern: packet.timestamp &- last))
            last = packet.timestamp
            let seconds = Double(ticks) / Double(timescale)
            // Timestamps of a hostile trace are bounded to somewhat more than a day.
            times.append(Int64((max(-1e5, min(1e5, seconds)) * 1e9).rounded()))
        }
        return times
    }
}

extension ArrivalTrace {
    /// Bounds what a player has to do.
    static let nanosecondsMax: Int64 = 86_400_000_000_000

    /// - Throws: when something of it is outside of a day.
    func checked() throws(TraceFault) -> ArrivalTrace {
        for packet in packets where !(0...Self.nanosecondsMax).contains(packet.received ?? 0) || !(0...Self.nanosecondsMax).contains(packet.sent) {
            throw TraceFault("\(name): packet \(packet.sequence) is outside of a day")
        }
        return self
    }
}

/// Why a file is no trace.
struct TraceFault: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
