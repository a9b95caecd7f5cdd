package import RelayBase

/// How much a connection carries, and how much may be under way on it at once. Pure: samples in, numbers out.
///
/// Time is cut into rounds. A round marks what is outstanding and waits until the peer has acknowledged all of it. That takes a round trip; when it takes
/// longer than a round trip and the queue that the relay allows itself, bytes stand in a queue somewhere: the network is the limit, and what was
/// acknowledged meanwhile is what it carries. Then the estimate goes there at once. Rounds that end in time give a lower bound only: the estimate rises
/// to it and never falls.
///
/// ``windowBytes`` bounds the queue by construction: what is outstanding never exceeds what the estimate carries in one undisturbed round trip and
/// ``queueMicroseconds``. An estimate that is too high by a tenth makes the queue longer by a tenth, and no more.
package struct BandwidthEstimate: Sendable, Equatable {
    /// bit/s of TCP payload; `nil`: nothing is known.
    package private(set) var bitsPerSecond: Int?
    /// The network is the limit, not what the relay has to send.
    package private(set) var isLimited = false
    package private(set) var state = CongestionState.clear
    /// The share of the last second or so that bytes waited for the network, 0…1.
    package private(set) var heldShare = 0.0
    /// How long a byte that is sealed now is under way beyond an undisturbed round trip, microseconds, as the last round found.
    package private(set) var queueingMicroseconds: UInt64 = 0

    /// Bytes are under way and nothing has come back for longer than a receiver may take: sending more would only age it.
    package private(set) var isStalled = false

    private var base = RoundTripBase()
    private var variation: UInt64 = 0
    private var last: FlowSample?
    private var mark = FlowMark()
    private var marks = RecentMarks()
    /// When a round was last late, or bytes were last held while the network was the limit.
    private var limitedAt = MonotonicInstant.zero
    /// When the peer last acknowledged anything, or nothing was outstanding.
    private var progressAt = MonotonicInstant.zero
    /// The network was the limit not long ago: the estimate is what it carries, not merely what was sent.
    private var isMeasured = false
    private var calmSince = MonotonicInstant.zero
    /// What the receiver says it gets, when that is less than what was acknowledged.
    private var ceiling: (bitsPerSecond: Int, until: MonotonicInstant)?
    private var recentBitsPerSecond = 0.0

    /// The queue that the relay allows itself in the network, so that the link never runs dry: a quarter of the round trip, which is also how fast the estimate
    /// can rise, within bounds.
    package var queueMicroseconds: UInt64 {
        min(max(base.microseconds / 4, BandwidthEstimate.queueMicrosecondsMin), BandwidthEstimate.queueMicrosecondsMax)
    }
    private static let queueMicrosecondsMin: UInt64 = 20_000
    private static let queueMicrosecondsMax: UInt64 = 50_000
    package static let quantumBytesMin = 1_200
    package static let quantumBytesMax = 16 << 10
    private static let quantumMilliseconds = 20
    private static let roundMillisecondsMin: UInt64 = 50
    private static let idleMilliseconds: UInt64 = 1_000
    private static let marginMicrosecondsMin: UInt64 = 10_000
    /// A receiver may keep its acknowledgement of the last segment or two back (RFC 1122 §4.2.3.2; Linux: 40 ms).
    private static let acknowledgementDelayMicroseconds: UInt64 = 45_000
    private static let delayedBytesMax: UInt64 = 3_000
    private static let calmMilliseconds: UInt64 = 1_000
    private static let measuredMilliseconds: UInt64 = 30_000
    private static let recoveryMilliseconds: UInt64 = 1_500
    private static let congestedQueueMicroseconds: UInt64 = 200_000
    private static let congestedShare = 0.6
    private static let clearShare = 0.1
    private static let reportedBitsPerSecondMin = 300_000.0
    private static let shareMilliseconds = 500.0
    private static let bitsPerSecondMax = 100_000_000_000.0

    package init() {}

    package static func == (left: BandwidthEstimate, right: BandwidthEstimate) -> Bool {
        left.bitsPerSecond == right.bitsPerSecond && left.isLimited == right.isLimited && left.state == right.state && left.mark == right.mark
    }

    // MARK: What follows from it

    /// The most to be sealed and sent at once.
    package var quantumBytes: Int {
        guard isMeasured, let bitsPerSecond else { return BandwidthEstimate.quantumBytesMax }
        let bytes = bitsPerSecond / 8 * BandwidthEstimate.quantumMilliseconds / 1_000
        return min(max(bytes, BandwidthEstimate.quantumBytesMin), BandwidthEstimate.quantumBytesMax)
    }

    /// The most that may be outstanding. Until the link's rate has been measured there is half as much on top, so that the estimate can rise fast.
    package var windowBytes: Int {
        if isStalled { return 0 }
        guard let bitsPerSecond else { return BandwidthEstimate.quantumBytesMax }
        let carried = bytes(bitsPerSecond, microseconds: base.microseconds + queueMicroseconds)
        guard isMeasured else { return max(carried + carried / 2, BandwidthEstimate.quantumBytesMax) }
        return max(carried, BandwidthEstimate.quantumBytesMin * (isLimited ? 2 : 4))
    }

    /// What control and audio may have beyond the window, so that they do not wait for it: ten milliseconds' worth, a short message at least.
    package var reserveBytes: Int {
        guard let bitsPerSecond, !isStalled else { return 0 }
        return min(max(bytes(bitsPerSecond, microseconds: 10_000), 600), BandwidthEstimate.quantumBytesMax)
    }

    /// An undisturbed round trip, microseconds; 0 while nothing is known.
    package var baseRoundTripMicroseconds: UInt64 { base.microseconds }

    /// How long until `bytes` more have left, milliseconds, 2…20: when to look again.
    package func millisecondsToCarry(_ bytes: Int) -> UInt64 {
        guard let bitsPerSecond, bitsPerSecond > 0 else { return 10 }
        let (bits, overflow) = bytes.multipliedReportingOverflow(by: 8_000)
        return overflow ? 20 : UInt64(min(max(bits / bitsPerSecond, 2), 20))
    }

    private func bytes(_ bitsPerSecond: Int, microseconds: UInt64) -> Int {
        // Both are bounded: 10¹¹ bit/s and 10⁷ µs.
        Int(Double(bitsPerSecond) / 8 * Double(microseconds) / 1_000_000)
    }

    // MARK: Samples

    package mutating func take(_ raw: FlowSample) {
        var sample = raw
        sample.outstandingBytes = max(0, min(raw.outstandingBytes, 1 << 40))
        sample.ackedBytes = min(raw.ackedBytes, UInt64.max / 2)
        let allowedQueue = queueMicroseconds
        base.take(sample, allowedQueue: allowedQueue)
        variation = UInt64(min(sample.roundTripVariationMicroseconds, 1_000_000))
        guard let last, sample.now > last.now, sample.ackedBytes >= last.ackedBytes else {
            // The first, or a counter went backwards: nothing can be concluded from it.
            restart(sample, isFromIdle: self.last == nil)
            self.last = sample
            if progressAt == .zero { progressAt = sample.now }
            return
        }
        self.last = sample
        // Everything that was under way has arrived: what is under way now may have been sent just now.
        let hadAll = sample.ackedBytes - last.ackedBytes >= UInt64(last.outstandingBytes)
        if hadAll || sample.outstandingBytes == 0 {
            progressAt = sample.now
        } else if sample.ackedBytes > last.ackedBytes {
            // The kernel knows to the millisecond when the acknowledgement came.
            let since = min(UInt64(sample.sinceAcknowledgementMilliseconds), sample.now.milliseconds(since: last.now))
            progressAt = sample.now.earlier(byMilliseconds: since)
        }
        let quiet = sample.now.nanoseconds(since: progressAt) / 1_000
        isStalled = sample.outstandingBytes > 0 && quiet > base.microseconds + BandwidthEstimate.acknowledgementDelayMicroseconds
        noteHeld(last, sample)
        if last.outstandingBytes == 0, sample.now.milliseconds(since: last.now) >= BandwidthEstimate.idleMilliseconds {
            restart(sample, isFromIdle: true)
        } else {
            measure(last, sample)
        }
        settle(sample)
    }

    /// What the receiver says it gets. It counts where TCP ends at a proxy, which takes more than it passes on; not at rates so low that headers and
    /// control, which the receiver does not count, are much of what was acknowledged.
    package mutating func take(receivedBitsPerSecond received: Int, now: MonotonicInstant) {
        guard received > 0, recentBitsPerSecond >= BandwidthEstimate.reportedBitsPerSecondMin, Double(received) < recentBitsPerSecond * 0.75 else {
            ceiling = nil
            return
        }
        ceiling = (received, now.advanced(byMilliseconds: 5_000))
        bitsPerSecond = min(bitsPerSecond ?? received, received)
        isLimited = true
        isMeasured = true
        limitedAt = now
    }

    private mutating func restart(_ sample: FlowSample, isFromIdle: Bool) {
        mark = FlowMark(sample, isFromIdle: isFromIdle)
        marks.removeAll()
        marks.note(mark, apartNanoseconds: 0)
    }

    private mutating func noteHeld(_ last: FlowSample, _ sample: FlowSample) {
        let milliseconds = Double(sample.now.nanoseconds(since: last.now)) / 1e6
        let weight = min(milliseconds / BandwidthEstimate.shareMilliseconds, 1)
        heldShare += ((last.isHeld ? 1 : 0) - heldShare) * weight
        let rate = Double(sample.ackedBytes - last.ackedBytes) * 8_000 / max(milliseconds, 0.001)
        recentBitsPerSecond += (rate - recentBitsPerSecond) * min(milliseconds / 2_000, 1)
    }

    private mutating func measure(_ last: FlowSample, _ sample: FlowSample) {
        let allowed = base.microseconds + queueMicroseconds + max(variation, BandwidthEstimate.marginMicrosecondsMin)
        if let overdue = overdue(sample, allowed) {
            late(overdue, sample)
            return
        }
        let hadAll = sample.ackedBytes - last.ackedBytes >= UInt64(last.outstandingBytes)
        marks.note(FlowMark(sample, isFromIdle: hadAll), apartNanoseconds: allowed * 1_000 / 6)
        guard sample.ackedBytes >= mark.target else { return }
        if !mark.wasLate { queueingMicroseconds = 0 }
        let elapsed = sample.now.nanoseconds(since: mark.at) / 1_000
        guard elapsed >= BandwidthEstimate.roundMillisecondsMin * 1_000 else { return }
        raise(to: rate(sample.ackedBytes - mark.ackedBytes, elapsed))
        if sample.deliveryRate != last.deliveryRate { raiseToKernels(sample.deliveryRate) }
        mark = FlowMark(sample, isFromIdle: sample.outstandingBytes == 0)
    }

    /// The newest mark that there was time enough to acknowledge and that is not.
    private func overdue(_ sample: FlowSample, _ allowed: UInt64) -> FlowMark? {
        let delayed = allowed + BandwidthEstimate.acknowledgementDelayMicroseconds
        if let mark = marks.newest(before: sample.now, microseconds: allowed),
            mark.target > sample.ackedBytes + BandwidthEstimate.delayedBytesMax
        {
            return mark
        }
        if let mark = marks.newest(before: sample.now, microseconds: delayed), mark.target > sample.ackedBytes { return mark }
        return nil
    }

    /// What was outstanding at the mark still is, in part, although there was time enough: the link was busy all the time.
    private mutating func late(_ overdue: FlowMark, _ sample: FlowSample) {
        let elapsed = sample.now.nanoseconds(since: overdue.at) / 1_000
        let acked = sample.ackedBytes > overdue.ackedBytes ? sample.ackedBytes - overdue.ackedBytes : 0
        queueingMicroseconds = elapsed > base.microseconds ? elapsed - base.microseconds : 0
        isLimited = true
        isMeasured = true
        limitedAt = sample.now
        mark.wasLate = true
        // A stall says nothing about the rate after it; the round goes on until something comes through.
        guard acked > 0 else { return }
        let busy = overdue.isFromIdle ? max(elapsed - min(base.microseconds, elapsed), elapsed / 4) : elapsed
        let measured = rate(acked, busy)
        let hadStall = elapsed / 1_000 > 4 * BandwidthEstimate.roundMillisecondsMin + base.microseconds / 250
        if let bitsPerSecond, hadStall {
            // A stall within the round: halved at most, the next round tells.
            self.bitsPerSecond = max(measured, bitsPerSecond / 2)
        } else {
            bitsPerSecond = measured
        }
        restart(sample, isFromIdle: false)
        mark.wasLate = true
    }

    private func rate(_ bytes: UInt64, _ microseconds: UInt64) -> Int {
        Int(min(Double(bytes) * 8_000_000 / Double(max(microseconds, 1)), BandwidthEstimate.bitsPerSecondMax))
    }

    private mutating func raise(to rate: Int) {
        guard rate > 0 else { return }
        bitsPerSecond = max(bitsPerSecond ?? 0, rate)
    }

    /// The kernel measures within bursts, where a round's mean is far below what the link carries. One burst may be an accident of timing: at most twice.
    private mutating func raiseToKernels(_ deliveryRate: UInt64) {
        guard let bitsPerSecond, deliveryRate > 0 else { return }
        let measured = Int(min(Double(deliveryRate), BandwidthEstimate.bitsPerSecondMax))
        let doubled = bitsPerSecond.multipliedReportingOverflow(by: 2)
        raise(to: min(measured, doubled.overflow ? bitsPerSecond : doubled.partialValue))
    }

    private mutating func settle(_ sample: FlowSample) {
        if isLimited, sample.isHeld { limitedAt = sample.now }
        if isLimited, sample.now.milliseconds(since: limitedAt) >= BandwidthEstimate.calmMilliseconds { isLimited = false }
        if isMeasured, sample.now.milliseconds(since: limitedAt) >= BandwidthEstimate.measuredMilliseconds { isMeasured = false }
        if let limit = ceiling {
            if sample.now >= limit.until { ceiling = nil } else { bitsPerSecond = min(bitsPerSecond ?? limit.bitsPerSecond, limit.bitsPerSecond) }
        }
        let isSilent =
            sample.outstandingBytes > 0
            && sample.now.nanoseconds(since: progressAt) / 1_000 > BandwidthEstimate.congestedQueueMicroseconds + base.microseconds
        let isTroubled =
            isLimited && (heldShare >= BandwidthEstimate.congestedShare || queueingMicroseconds > BandwidthEstimate.congestedQueueMicroseconds)
        if isSilent || isTroubled {
            state = .congested
            calmSince = sample.now
        } else if heldShare > BandwidthEstimate.clearShare {
            calmSince = sample.now
        } else if state == .congested, sample.now.milliseconds(since: calmSince) >= BandwidthEstimate.recoveryMilliseconds {
            state = .clear
        }
    }
}
