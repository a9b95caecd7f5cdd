import RelayBase
import RelayRooms

/// What a WebSocket's heartbeats, time exchanges and reports have told.
struct ChannelLiveness {
    var pings: PingTracker
    var nextPing: MonotonicInstant
    /// From ping to pong.
    var roundTrip = RoundTripEstimate()
    var clock = ClockEstimator()
    /// The client wants a data message at least this often; `nil`: it does not.
    var keepAliveMilliseconds: UInt64?
    /// When the last data message went to the client: text or media, pings and pongs not.
    var lastSaid: MonotonicInstant
    /// When the client last reported as a receiver; `nil`: not of late.
    var lastReport: MonotonicInstant?
    /// When the channel's timer is due.
    var timerDue = MonotonicInstant.distantFuture
    /// What became of frames in rooms that the session has left.
    var departed = FrameAccount()

    /// A new session's round trip is known soon.
    private static let firstPingMilliseconds: UInt64 = 1_000

    init(pingMilliseconds: UInt64, now: MonotonicInstant) {
        pings = PingTracker(start: now)
        nextPing = now.advanced(byMilliseconds: min(pingMilliseconds, ChannelLiveness.firstPingMilliseconds))
        lastSaid = now
    }

    /// The ping that is due has gone out. What was missed is not made good: the next is a whole interval away then.
    mutating func pinged(pingMilliseconds: UInt64, now: MonotonicInstant) {
        let next = nextPing.advanced(byMilliseconds: pingMilliseconds)
        nextPing = next > now ? next : now.advanced(byMilliseconds: pingMilliseconds)
    }

    /// When the client is to be sent a data message, unless one goes before.
    var keepAliveDue: MonotonicInstant { keepAliveMilliseconds.map { lastSaid.advanced(byMilliseconds: $0) } ?? .distantFuture }
}
