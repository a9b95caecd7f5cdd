/// Interarrival jitter of one stream at one receiver (RFC 3550 §6.4.1): the mean deviation of the transit time's changes, smoothed by a sixteenth.
package struct ReceiverJitter: Sendable {
    private var previousTransit: Int?
    /// Sixteenths of a microsecond, as RFC 3550 §A.8 keeps it.
    private var scaled = 0

    package init() {}

    /// - Parameter transitMicroseconds: from the instant at which the frame was due to its arrival.
    package mutating func arrived(transitMicroseconds: Int) {
        // An hour at most, so nothing overflows.
        let transit = min(max(transitMicroseconds, 0), LatencyRecording.microsecondsMax)
        if let previousTransit { scaled += abs(transit - previousTransit) - (scaled + 8) >> 4 }
        previousTransit = transit
    }

    /// `nil` before the first frame, 0 before the second.
    package var microseconds: Int? { previousTransit == nil ? nil : scaled >> 4 }
}
