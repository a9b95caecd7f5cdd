import RelayBase
import RelayRooms

/// What one connection may send: after `ConnectionFlow`, with the model's numbers in place of the kernel's.
struct SimulatedFlow {
    private(set) var estimate = BandwidthEstimate()
    private(set) var sampledAt = MonotonicInstant.zero
    private(set) var outstandingBytes = 0
    private var sealedAtSample: UInt64 = 0
    private var ackedBytes: UInt64 = 0
    var isHeld = false
    /// When the timer comes; `nil`: it does not run.
    var timerAt: MonotonicInstant?
    private var lowWaterBytes = SimulatedFlow.lowWaterBytesAtFirst

    static let lowWaterBytesAtFirst = 16 << 10
    private static let sliceBytesMin = 600
    private static let nearMicroseconds: UInt64 = 5_000
    /// How often a connection that the network limits is looked at.
    private static let limitedMilliseconds: UInt64 = 50

    func allowance(sealed: UInt64, isUrgent: Bool) -> Int {
        let spent = Int(clamping: sealed &- sealedAtSample)
        let left = estimate.windowBytes + (isUrgent ? estimate.reserveBytes : 0) - outstandingBytes - spent
        guard left >= SimulatedFlow.sliceBytesMin else { return 0 }
        return min(left, estimate.quantumBytes)
    }

    func isSampleDue(_ now: MonotonicInstant) -> Bool {
        now.milliseconds(since: sampledAt) >= (estimate.baseRoundTripMicroseconds > SimulatedFlow.nearMicroseconds ? 15 : 50)
    }

    /// - Returns: whether the peer has taken anything since the last time, or has everything.
    mutating func take(_ path: TCPPath, sealed: UInt64, unsent: Int, now: MonotonicInstant) -> Bool {
        outstandingBytes = path.inFlight + path.unsent + unsent
        sealedAtSample = sealed
        sampledAt = now
        var sample = FlowSample(now: now, ackedBytes: path.ackedBytes, outstandingBytes: outstandingBytes)
        sample.deliveryRate = path.deliveryRate
        sample.roundTripMicroseconds = path.roundTrip.smoothed
        sample.roundTripVariationMicroseconds = path.roundTrip.variation
        sample.roundTripMicrosecondsMin = path.roundTrip.least
        sample.sinceAcknowledgementMilliseconds = UInt32(clamping: now.milliseconds(since: path.acknowledgedAt))
        sample.isHeld = isHeld || unsent > 0
        let progressed = ackedBytes != sample.ackedBytes || outstandingBytes == 0
        ackedBytes = sample.ackedBytes
        estimate.take(sample)
        return progressed
    }

    /// The low water mark to set, when it differs enough.
    mutating func newLowWater() -> Int? {
        let wanted =
            estimate.isLimited ? max(estimate.quantumBytes, BandwidthEstimate.quantumBytesMin * 2) : SimulatedFlow.lowWaterBytesAtFirst
        guard wanted != lowWaterBytes, wanted <= lowWaterBytes / 2 || wanted >= lowWaterBytes * 2 || wanted == SimulatedFlow.lowWaterBytesAtFirst
        else { return nil }
        lowWaterBytes = wanted
        return wanted
    }

    /// When to look again after a flush; `nil`: no need to.
    ///
    /// - Parameter stalledMilliseconds: how long the peer has taken nothing.
    func wait(isBlocked: Bool, stalledMilliseconds: UInt64) -> UInt64? {
        if isHeld { return retryMilliseconds(stalledMilliseconds: stalledMilliseconds) }
        return isBlocked || estimate.isLimited || estimate.state == .congested ? SimulatedFlow.limitedMilliseconds : nil
    }

    private func retryMilliseconds(stalledMilliseconds: UInt64) -> UInt64 {
        guard stalledMilliseconds < 500 else { return 50 }
        let excess = outstandingBytes - estimate.windowBytes + estimate.quantumBytes
        if estimate.isStalled { return 5 }
        return estimate.isLimited ? estimate.millisecondsToCarry(max(excess, 0)) : 2
    }
}

/// The kernel's measure of a path's round trip (RFC 6298 §2), microseconds; 0: none yet.
struct RoundTripMeasure {
    private(set) var smoothed: UInt32 = 0
    private(set) var variation: UInt32 = 0
    private(set) var least: UInt32 = 0

    mutating func take(_ nanoseconds: UInt64) {
        let sample = UInt32(clamping: max(nanoseconds / 1_000, 1))
        least = least == 0 ? sample : min(least, sample)
        guard smoothed > 0 else {
            smoothed = sample
            variation = sample / 2
            return
        }
        let error = sample > smoothed ? sample - smoothed : smoothed - sample
        variation = variation - variation / 4 + error / 4
        smoothed = smoothed - smoothed / 8 + sample / 8
    }
}
