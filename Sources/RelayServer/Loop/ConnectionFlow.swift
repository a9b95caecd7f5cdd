import Reactor
import RelayBase
import RelayRooms

/// What one connection may send: its bandwidth estimate, and how much of the window is left since the kernel was last asked.
///
/// The kernel is asked only when it can make a difference: every 50 ms of a connection that sends (15 ms over a distance), and when the window looks used up. What was
/// sealed since then counts as outstanding, so that on a fast link there is no call for most sends.
struct ConnectionFlow {
    private(set) var estimate = BandwidthEstimate() {
        didSet { bounds = Bounds(estimate) }
    }
    /// What follows from the estimate, worked out when that changes and not for every send.
    private var bounds = Bounds(BandwidthEstimate())

    private struct Bounds {
        let windowBytes: Int
        let reserveBytes: Int
        let quantumBytes: Int
        let sampleMilliseconds: UInt64
        /// A timer looks at the connection between flushes.
        let isWatched: Bool

        init(_ estimate: BandwidthEstimate) {
            windowBytes = estimate.windowBytes
            reserveBytes = estimate.reserveBytes
            quantumBytes = estimate.quantumBytes
            sampleMilliseconds = estimate.baseRoundTripMicroseconds > ConnectionFlow.nearMicroseconds ? 15 : 50
            isWatched = estimate.isLimited || estimate.state == .congested
        }
    }
    /// When the kernel was last asked.
    private(set) var sampledAt = MonotonicInstant.zero
    /// What was outstanding then, and how much had been sealed.
    private(set) var outstandingBytes = 0
    private var sealedAtSample: UInt64 = 0
    /// More is due than may be sealed now; a timer comes back to it.
    var isHeld = false
    var timer: TimerID?
    var timerDeadline = MonotonicInstant.zero
    /// The class of bit rates that the connection is counted in.
    var countedRate: Int?

    // For the admin API, as they were at the last sample.
    private(set) var notSentBytes = 0

    /// What the socket was told (TCP_NOTSENT_LOWAT), bytes.
    private(set) var lowWaterBytes = ConnectionFlow.lowWaterBytesAtFirst

    static let lowWaterBytesAtFirst = 16 << 10
    /// Less than that is not worth a record of its own, and no part of a frame is shorter.
    private static let sliceBytesMin = 600
    /// A round trip longer than that is no local network's: there a stall matters sooner than it would be noticed otherwise.
    private static let nearMicroseconds: UInt64 = 5_000

    /// bit/s; `nil`: unknown.
    var bitsPerSecond: Int? { estimate.bitsPerSecond }
    var isLimited: Bool { estimate.isLimited }
    var isCongested: Bool { estimate.state == .congested }
    /// The least of late, without the acknowledgements that the peer delays; 0: unknown.
    var baseRoundTripMicroseconds: UInt64 { estimate.baseRoundTripMicroseconds }

    /// Plaintext bytes that may be sealed now, 16 KiB at most; 0: the window is used up.
    ///
    /// - Parameters:
    ///   - sealed: ``SecureConnection/sealedBytes``.
    ///   - isUrgent: control or audio, which may use the reserve.
    func allowance(sealed: UInt64, isUrgent: Bool) -> Int {
        let spent = Int(clamping: sealed &- sealedAtSample)
        let (outstanding, overflow) = outstandingBytes.addingReportingOverflow(spent)
        guard !overflow else { return 0 }
        let left = bounds.windowBytes + (isUrgent ? bounds.reserveBytes : 0) - outstanding
        guard left >= ConnectionFlow.sliceBytesMin else { return 0 }
        return min(left, bounds.quantumBytes)
    }

    /// Whether the kernel is to be asked again, unless the window is used up before that.
    func isSampleDue(_ now: MonotonicInstant) -> Bool {
        now.milliseconds(since: sampledAt) >= bounds.sampleMilliseconds
    }

    /// Whether ``EventLoop/followFlow(_:hasSealed:)`` has anything to do after a send that the kernel took whole.
    func needsFollowing(_ now: MonotonicInstant) -> Bool {
        isHeld || bounds.isWatched || isSampleDue(now)
    }

    /// Takes in what the kernel says.
    ///
    /// - Returns: whether the peer has taken anything since the last time, or has everything.
    mutating func take(_ info: TCPInfo, sealed: UInt64, unsent: Int, now: MonotonicInstant) -> Bool {
        let inFlight = Int(clamping: info.bytesInFlight)
        notSentBytes = Int(info.notSentBytes)
        outstandingBytes = inFlight.addingReportingOverflow(notSentBytes + unsent).partialValue
        if outstandingBytes < 0 { outstandingBytes = 0 }
        sealedAtSample = sealed
        sampledAt = now
        var sample = FlowSample(
            now: now, ackedBytes: info.bytesAcked &+ info.bytesSelectivelyAcked, outstandingBytes: outstandingBytes)
        let deliveryRate = info.deliveryRateBytesPerSecond.multipliedReportingOverflow(by: 8)
        sample.deliveryRate = deliveryRate.overflow ? 0 : deliveryRate.partialValue
        sample.roundTripMicroseconds = info.roundTripMicroseconds
        sample.roundTripVariationMicroseconds = info.roundTripVariationMicroseconds
        sample.roundTripMicrosecondsMin = info.roundTripMicrosecondsMin
        sample.sinceAcknowledgementMilliseconds = info.lastAckMilliseconds
        sample.isHeld = isHeld || unsent > 0
        let acked = ackedBytes
        ackedBytes = sample.ackedBytes
        estimate.take(sample)
        return ackedBytes != acked || outstandingBytes == 0
    }

    private var ackedBytes: UInt64 = 0

    /// The kernel does not tell: the window starts afresh, and what the socket takes is the only bound.
    mutating func knowsNothing(sealed: UInt64, now: MonotonicInstant) {
        outstandingBytes = 0
        sealedAtSample = sealed
        sampledAt = now
    }

    /// What the receiver says it gets.
    mutating func take(receivedBitsPerSecond: Int, now: MonotonicInstant) {
        estimate.take(receivedBitsPerSecond: receivedBitsPerSecond, now: now)
    }

    /// The low water mark to set, when it differs enough to be worth the call.
    mutating func newLowWater() -> Int32? {
        let wanted = estimate.isLimited ? max(estimate.quantumBytes, BandwidthEstimate.quantumBytesMin * 2) : ConnectionFlow.lowWaterBytesAtFirst
        guard wanted != lowWaterBytes, wanted <= lowWaterBytes / 2 || wanted >= lowWaterBytes * 2 || wanted == ConnectionFlow.lowWaterBytesAtFirst
        else { return nil }
        lowWaterBytes = wanted
        return Int32(clamping: wanted)
    }

    /// When to look again while bytes are held.
    ///
    /// - Parameter stalledMilliseconds: how long the peer has taken nothing.
    func retryMilliseconds(stalledMilliseconds: UInt64) -> UInt64 {
        guard stalledMilliseconds < 500 else { return 50 }
        let excess = outstandingBytes - estimate.windowBytes + estimate.quantumBytes
        if estimate.isStalled { return 5 }
        return estimate.isLimited ? estimate.millisecondsToCarry(max(excess, 0)) : 2
    }
}
