package import RelayBase

/// Whether a connection carries more than it is given: found by padding, since one that is sent little shows no more than that little arrives.
///
/// A burst that the connection would take 120 ms for, if it carried no more than is known, tells a link that has recovered from one that has not. Only after
/// one that went through at once does the next follow, twice as long, so that a link that is as bad as before is troubled once in a pause and no more.
/// What the bursts come to, ``BandwidthEstimate`` says, which sees them as it sees everything that is sent. Pure: looks in, numbers of bytes out.
package struct BandwidthProbe: Sendable {
    package static let pauseMilliseconds: UInt64 = 3_000
    private static let firstMilliseconds = 120
    private static let bytesMin = 2_400
    private static let bytesMax = 256 << 10
    /// What an answer may take beyond a round trip.
    private static let answerMilliseconds: UInt64 = 150

    /// Bytes of the burst whose answer is awaited; 0: none is.
    private var burstBytes = 0
    private var burstAt = MonotonicInstant.zero
    private var begunAt: MonotonicInstant?

    package init() {}

    /// Looks at the connection, a few times a second.
    ///
    /// - Parameters:
    ///   - wanted: the bit rate that would be of use; `nil`: nothing is missing.
    ///   - roundTripMicroseconds: an undisturbed round trip.
    /// - Returns: how many bytes of padding to send now, behind everything else.
    package mutating func look(wanted: Int?, _ view: BandwidthView, roundTripMicroseconds: UInt64, now: MonotonicInstant) -> Int {
        guard let wanted, let known = view.bitsPerSecond, known < wanted, !view.isCongested else {
            burstBytes = 0
            return 0
        }
        guard burstBytes > 0 else { return begin(known, view, now) }
        guard now.milliseconds(since: burstAt) >= roundTripMicroseconds / 1_000 + BandwidthProbe.answerMilliseconds else { return 0 }
        guard !view.isLimited, burstBytes < BandwidthProbe.bytesMax else {
            burstBytes = 0
            return 0
        }
        burstBytes = min(burstBytes * 2, BandwidthProbe.bytesMax)
        burstAt = now
        return burstBytes
    }

    private mutating func begin(_ known: Int, _ view: BandwidthView, _ now: MonotonicInstant) -> Int {
        guard !view.isLimited else { return 0 }
        if let begunAt, now.milliseconds(since: begunAt) < BandwidthProbe.pauseMilliseconds { return 0 }
        let bytes = Double(max(known, 0)) / 8_000 * Double(BandwidthProbe.firstMilliseconds)
        burstBytes = Int(min(max(bytes, Double(BandwidthProbe.bytesMin)), Double(BandwidthProbe.bytesMax)))
        begunAt = now
        burstAt = now
        return burstBytes
    }
}
