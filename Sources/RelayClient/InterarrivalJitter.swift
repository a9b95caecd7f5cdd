package import RelayBase

/// The mean deviation of the spacing of arrivals from that of timestamps (RFC 3550 §6.4.1).
package struct InterarrivalJitter: Sendable {
    package private(set) var milliseconds = 0.0
    private var last: (timestamp: UInt32, at: MonotonicInstant)?

    /// Timestamps that jump by more than this are a new timeline, not jitter.
    private static let jumpMillisecondsMax = 10_000.0

    package init() {}

    /// - Parameter ticksPerSecond: of the timestamps; positive.
    package mutating func take(timestamp: UInt32, ticksPerSecond: Double, now: MonotonicInstant) {
        defer { last = (timestamp, now) }
        guard let last, ticksPerSecond > 0 else { return }
        let media = Double(Int32(bitPattern: timestamp &- last.timestamp)) / ticksPerSecond * 1_000
        guard media.magnitude <= Self.jumpMillisecondsMax else { return }
        let arrival = Double(now.nanoseconds(since: last.at)) / 1e6
        milliseconds += ((arrival - media).magnitude - milliseconds) / 16
    }
}
