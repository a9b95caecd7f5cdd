import BenchmarkSupport
import RelayBase

/// What was received in a measured window.
struct Tally {
    var messages = 0
    /// How late messages came, counted from the instant at which each was due. Only where latency is asked for.
    var latency: LatencyHistogram?
    /// As of the last receive.
    var now: UInt64 = 0
}

/// Microseconds, to the microsecond up to a quarter of a second.
struct LatencyHistogram {
    private static let microsecondsMax = 1 << 18
    private var counts = [UInt32](repeating: 0, count: microsecondsMax)
    private(set) var count = 0

    @inline(__always)
    mutating func record(nanoseconds: UInt64) {
        counts[min(Int(truncatingIfNeeded: nanoseconds / 1_000), Self.microsecondsMax - 1)] &+= 1
        count &+= 1
    }

    /// Milliseconds that so many of all (0 to 1) do not pass.
    func quantile(_ share: Double) -> Double {
        let wanted = Int((Double(count) * share).rounded(.up))
        var seen = 0
        for (microseconds, entries) in counts.enumerated() where entries > 0 {
            seen += Int(entries)
            if seen >= wanted { return Double(microseconds) / 1_000 }
        }
        return .nan
    }
}

/// Counts a server's WebSocket messages by their headers (RFC 6455 §5.2), in whatever pieces they come. Payloads are stepped over, but for the instant at which
/// a message was due, and for the few messages that are not binary, which are kept.
struct MessageScanner {
    /// Behind the media header; native byte order, since it comes back to who wrote it.
    static let dueOffset = 16
    private static let peekBytes = dueOffset + 8

    /// Bytes of the current message that are still to come.
    private var left = 0
    /// The current message is one of these.
    private var keeps = false
    private var opcode: UInt8 = 0
    private var kept: [UInt8] = []
    /// The beginning of a message that was cut off before it could be read.
    private var cut: [UInt8] = []
    private(set) var controls: [(opcode: UInt8, payload: [UInt8])] = []

    mutating func takeControls() -> [(opcode: UInt8, payload: [UInt8])] {
        defer { controls.removeAll() }
        return controls
    }

    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ tally: inout Tally) throws(BenchmarkFault) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            if left > 0 {
                unsafe step(over: &rest)
            } else if !cut.isEmpty {
                // One by one until it can be read: this is rare.
                unsafe cut.append(rest.removeFirst())
                let begun = cut
                let used = try unsafe begun.span.bytes.withUnsafeBytes { (bytes) throws(BenchmarkFault) in try unsafe begin(bytes, &tally) }
                if used > 0 { cut.removeAll(keepingCapacity: true) }
            } else {
                let used = try unsafe begin(UnsafeRawBufferPointer(rebasing: rest), &tally)
                if used == 0 {
                    unsafe cut.append(contentsOf: rest)
                    return
                }
                unsafe rest = unsafe rest.dropFirst(used)
            }
        }
    }

    /// - Returns: how much of `bytes` was used; 0 when it is too little to tell.
    @inline(__always)
    private mutating func begin(_ bytes: UnsafeRawBufferPointer, _ tally: inout Tally) throws(BenchmarkFault) -> Int {
        guard bytes.count >= 2 else { return 0 }
        let (first, second) = unsafe (bytes[0], Int(bytes[1]))
        guard first & 0xF0 == 0x80, second < 128 else { throw BenchmarkFault("a server's frame that is in parts or masked") }
        var (header, length) = (2, second)
        if second == 126 {
            guard bytes.count >= 4 else { return 0 }
            (header, length) = unsafe (4, Int(bytes[2]) << 8 | Int(bytes[3]))
        } else if second == 127 {
            guard bytes.count >= 10 else { return 0 }
            (header, length) = (10, 0)
            for place in 2..<10 {
                guard length < 1 << 24 else { throw BenchmarkFault("a server's message of over 16 MiB") }
                length = unsafe length << 8 | Int(bytes[place])
            }
        }
        guard first & 0x0F == 2 else {
            (opcode, left) = (first & 0x0F, length)
            keeps = true
            if length == 0 { finishControl() }
            return header
        }
        let peek = min(length, Self.peekBytes)
        guard bytes.count >= header + peek else { return 0 }
        tally.messages &+= 1
        if peek == Self.peekBytes, tally.latency != nil {
            let due = unsafe bytes.loadUnaligned(fromByteOffset: header + Self.dueOffset, as: UInt64.self)
            if due > 0, tally.now > due { tally.latency?.record(nanoseconds: tally.now &- due) }
        }
        let used = min(bytes.count, header + length)
        left = header + length - used
        return used
    }

    private mutating func step(over rest: inout Slice<UnsafeRawBufferPointer>) {
        let taken = unsafe min(left, rest.count)
        if keeps { unsafe kept.append(contentsOf: rest.prefix(taken)) }
        unsafe rest = unsafe rest.dropFirst(taken)
        left -= taken
        if left == 0, keeps { finishControl() }
    }

    private mutating func finishControl() {
        controls.append((opcode, kept))
        kept.removeAll(keepingCapacity: true)
        keeps = false
    }
}
