package import RelayBase

/// What is known of one connection at one moment: the kernel's counters (TCP_INFO) and what the relay has sealed.
///
/// Nothing of it is trusted to be sane: counters may go backwards (another kernel, a proxy's socket), times may be 0 or absurd.
package struct FlowSample: Sendable, Equatable {
    package var now: MonotonicInstant
    /// Bytes that the peer has acknowledged so far, selectively acknowledged ones included.
    package var ackedBytes: UInt64
    /// Sealed bytes that the peer has not acknowledged: in the relay, in the kernel, and on the way.
    package var outstandingBytes: Int
    /// The kernel's latest measure of delivery, bit/s; 0: none.
    package var deliveryRate: UInt64 = 0
    /// Smoothed round-trip time, its mean deviation and its least value of late; 0: unknown.
    package var roundTripMicroseconds: UInt32 = 0
    package var roundTripVariationMicroseconds: UInt32 = 0
    package var roundTripMicrosecondsMin: UInt32 = 0
    /// How long ago the last acknowledgement came, whatever it acknowledged.
    package var sinceAcknowledgementMilliseconds: UInt32 = 0
    /// More is due to the peer than may be sealed now.
    package var isHeld = false

    package init(now: MonotonicInstant, ackedBytes: UInt64, outstandingBytes: Int) {
        self.now = now
        self.ackedBytes = ackedBytes
        self.outstandingBytes = outstandingBytes
    }
}

/// Whether a connection carries what it is due.
package enum CongestionState: Sendable, Equatable {
    case clear
    case congested
}

/// The round trip without what queues add, in microseconds: the least smoothed one of the last ten seconds, less the queue that the relay itself allows;
/// never below the least that the kernel has seen.
///
/// The kernel's own minimum is minutes old: a path that has become longer would look like a queue for as long.
struct RoundTripBase: Sendable, Equatable {
    private var current = UInt32.max
    private var previous = UInt32.max
    private var startedAt = MonotonicInstant.zero
    private(set) var microseconds: UInt64 = 0

    private static let bucketMilliseconds: UInt64 = 5_000
    /// Beyond that no kernel's number is believed.
    private static let microsecondsMax: UInt32 = 10_000_000

    mutating func take(_ sample: FlowSample, allowedQueue: UInt64) {
        guard sample.roundTripMicroseconds > 0, sample.roundTripMicroseconds <= RoundTripBase.microsecondsMax else { return }
        if sample.now.milliseconds(since: startedAt) >= RoundTripBase.bucketMilliseconds {
            previous = current
            current = .max
            startedAt = sample.now
        }
        current = min(current, sample.roundTripMicroseconds)
        let least = UInt64(min(current, previous))
        let kernel = sample.roundTripMicrosecondsMin <= RoundTripBase.microsecondsMax ? UInt64(sample.roundTripMicrosecondsMin) : 0
        microseconds = min(max(least > allowedQueue ? least - allowedQueue : 0, kernel), least)
    }
}

extension MonotonicInstant {
    func earlier(byMilliseconds delta: UInt64) -> MonotonicInstant {
        let (product, overflow) = delta.multipliedReportingOverflow(by: 1_000_000)
        return MonotonicInstant(nanoseconds: overflow || product > nanoseconds ? 0 : nanoseconds - product)
    }
}
