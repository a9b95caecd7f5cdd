import MediaProtocol
import RelayBase

/// One media frame as it came, with the instant that its publisher wrote into it.
struct Reception {
    /// Payloads begin with the instant of publishing: 8 bytes of nanoseconds, big-endian. Both ends are on this machine, under one clock.
    static let stampBytes = 8

    let kind: MediaKind
    let flags: MediaFlags
    let layer: MediaLayer
    let stream: UInt32
    let sequence: UInt32
    let byteCount: Int
    let sent: MonotonicInstant
    let received: MonotonicInstant

    /// Nanoseconds from publisher to subscriber.
    var latency: UInt64 { received.nanoseconds(since: sent) }
    var isKey: Bool { flags.contains(.key) }

    /// - Returns: `nil` for what is no media frame of ours: configurations among them.
    init?(_ frame: RawSpan, received: MonotonicInstant) {
        guard let header = try? MediaHeader(parsing: frame), header.kind == .audio || header.kind == .video,
            frame.byteCount >= MediaHeader.byteCount + Reception.stampBytes
        else { return nil }
        var stamp: UInt64 = 0
        for place in 0..<Reception.stampBytes {
            stamp = stamp << 8 | UInt64(unsafe frame.unsafeLoad(fromByteOffset: MediaHeader.byteCount + place, as: UInt8.self))
        }
        kind = header.kind
        flags = header.flags
        layer = header.layer
        stream = header.stream.rawValue
        sequence = header.sequence
        byteCount = frame.byteCount
        sent = MonotonicInstant(nanoseconds: stamp)
        self.received = received
    }
}

extension Sequence<Reception> {
    /// Latencies of the frames of a kind that were published within `window`.
    func latencies(_ kind: MediaKind, sentWithin window: Range<MonotonicInstant>) -> Samples {
        Samples(lazy.filter { $0.kind == kind && window.contains($0.sent) }.map(\.latency))
    }
}
