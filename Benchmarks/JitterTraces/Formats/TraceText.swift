/// The project's own format of traces: text, described in `Benchmarks/JitterTraces/README.md`.
enum TraceText {
    static let firstLine = "segue-jitter-trace 1"
    /// A day of packets of 20 ms.
    static let packetsMax = 4_320_000
    /// A day: bounds what is computed of it.
    private static let nanosecondsMax: Int64 = 86_400_000_000_000

    // MARK: Writing

    static func write(_ trace: ArrivalTrace) -> String {
        var text = "\(firstLine)\nname \(trace.name)\norigin \(trace.origin.rawValue)\n"
        if !trace.note.isEmpty { text += "note \(trace.note)\n" }
        text += "timescale \(trace.timescale)\nticks \(trace.packetTicks)\n"
        if let first = trace.packets.first { text += "first \(first.sequence) \(first.timestamp) \(first.byteCount)\n" }
        text += "packets \(trace.packets.count)\n"
        var expected = Expected(trace)
        var lastSent: Int64 = 0
        for packet in trace.packets {
            let sent = packet.sent / 1_000
            var line = "\(sent - lastSent) \(packet.received.map { "\($0 / 1_000 - sent)" } ?? "-")"
            lastSent = sent
            if packet.byteCount != expected.byteCount { line += " b\(packet.byteCount)" }
            if packet.sequence != expected.sequence { line += " s\(packet.sequence)" }
            if packet.timestamp != expected.timestamp { line += " t\(packet.timestamp)" }
            if packet.isSilence { line += " q" }
            if packet.isDiscontinuity { line += " d" }
            expected.follow(packet, trace.packetTicks)
            text += line + "\n"
        }
        return text
    }

    /// What a line leaves out because it follows from the line before.
    private struct Expected {
        var sequence: UInt32
        var timestamp: UInt32
        var byteCount: Int

        init(_ trace: ArrivalTrace) {
            sequence = trace.packets.first?.sequence ?? 0
            timestamp = trace.packets.first?.timestamp ?? 0
            byteCount = trace.packets.first?.byteCount ?? 0
        }

        mutating func follow(_ packet: TracePacket, _ ticks: UInt32) {
            sequence = packet.sequence &+ 1
            timestamp = packet.timestamp &+ ticks
            byteCount = packet.byteCount
        }
    }

    // MARK: Reading

    static func read(_ text: String) throws(TraceFault) -> ArrivalTrace {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: true)[...]
        guard lines.popFirst() == firstLine[...] else { throw TraceFault("the first line is not \"\(firstLine)\"") }
        var trace = ArrivalTrace(name: "", origin: .recorded)
        var first: (sequence: UInt32, timestamp: UInt32, byteCount: Int) = (0, 0, 0)
        var announced: Int?
        while announced == nil {
            guard let line = lines.popFirst() else { throw TraceFault("no line \"packets\"") }
            let words = line.split(separator: " ", maxSplits: 1)
            let value = words.count == 2 ? words[1] : ""
            switch words[0] {
            case "name": trace.name = String(value)
            case "note": trace.note = String(value)
            case "origin":
                guard let origin = ArrivalTrace.Origin(rawValue: String(value)) else { throw TraceFault("origin \(value)") }
                trace.origin = origin
            case "timescale": trace.timescale = try number(value, 1...192_000)
            case "ticks": trace.packetTicks = try number(value, 1...(192_000 * 120 / 1_000))
            case "first":
                let parts = value.split(separator: " ")
                guard parts.count == 3 else { throw TraceFault("first: sequence, timestamp, bytes") }
                first = (
                    try number(parts[0], UInt32.min...UInt32.max), try number(parts[1], UInt32.min...UInt32.max), try number(parts[2], 0...65_535)
                )
            case "packets": announced = try number(value, 0...packetsMax)
            default: throw TraceFault("unknown: \(line)")
            }
        }
        guard lines.count == announced else { throw TraceFault("\(lines.count) packets, \(announced ?? 0) announced") }
        var expected = Expected(trace)
        (expected.sequence, expected.timestamp, expected.byteCount) = first
        trace.packets.reserveCapacity(lines.count)
        var sent: Int64 = 0
        for line in lines {
            let packet = try packet(line, &sent, expected)
            expected.follow(packet, trace.packetTicks)
            trace.packets.append(packet)
        }
        return trace
    }

    private static func packet(_ line: Substring, _ sent: inout Int64, _ expected: Expected) throws(TraceFault) -> TracePacket {
        let words = line.split(separator: " ")
        guard words.count >= 2 else { throw TraceFault("a packet is its send time and its transit: \(line)") }
        let microsecondsMax = nanosecondsMax / 1_000
        sent += try number(words[0], -microsecondsMax...microsecondsMax)
        guard (0...microsecondsMax).contains(sent) else { throw TraceFault("sent outside of a day: \(line)") }
        var packet = TracePacket(
            sequence: expected.sequence, timestamp: expected.timestamp, sent: sent * 1_000, received: nil, byteCount: expected.byteCount)
        if words[1] != "-" {
            let received = sent + (try number(words[1], -microsecondsMax...microsecondsMax))
            guard (0...microsecondsMax).contains(received) else { throw TraceFault("received outside of a day: \(line)") }
            packet.received = received * 1_000
        }
        for word in words.dropFirst(2) {
            switch word.first {
            case "b": packet.byteCount = try number(word.dropFirst(), 0...65_535)
            case "s": packet.sequence = try number(word.dropFirst(), UInt32.min...UInt32.max)
            case "t": packet.timestamp = try number(word.dropFirst(), UInt32.min...UInt32.max)
            case "q" where word.utf8.count == 1: packet.isSilence = true
            case "d" where word.utf8.count == 1: packet.isDiscontinuity = true
            default: throw TraceFault("unknown: \(word)")
            }
        }
        return packet
    }

    private static func number<Number: FixedWidthInteger>(_ text: Substring, _ bounds: ClosedRange<Number>) throws(TraceFault) -> Number {
        guard let value = Number(text), bounds.contains(value) else { throw TraceFault("\(text): a whole number from \(bounds)") }
        return value
    }
}
