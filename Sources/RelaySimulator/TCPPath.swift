import RelayBase

/// What one direction of a connection is like.
struct LinkProfile {
    var bitsPerSecond: UInt64
    var delayNanoseconds: UInt64
    var jitterNanoseconds: UInt64 = 0
    /// Segments in ten thousand that are lost once and come again after a timeout; everything behind them waits.
    var lossPerTenThousand = 0
    /// What the bottleneck queues: the sender's window is what fills it.
    var queueBytes = 32 << 10

    /// Nothing in it that could make anybody wait.
    static let best = LinkProfile(bitsPerSecond: 200_000_000, delayNanoseconds: 5_000_000)
}

/// One direction of a TCP connection: bytes that are counted, not held. Delivers in order and all of them, but in its own time.
///
/// The model: what the kernel has accepted and not sent (`TCP_NOTSENT_LOWAT` bounds that), what is on its way (the window bounds that), what has arrived and is not
/// read (the receiver's buffer bounds both). A lost segment holds up everything behind it until its timeout; so does an outage, and then all of it comes at once.
final class TCPPath {
    let id: Int
    private unowned let world: Simulator
    private var generator: SeededGenerator
    var profile: LinkProfile
    let receiveBufferBytes: Int
    /// `TCP_NOTSENT_LOWAT`: the kernel takes nothing as long as this much has not been sent.
    var notSentLowWater = 16 << 10
    private let sendBufferBytes = 1 << 20

    /// Accepted and not on its way.
    private(set) var unsent = 0
    private(set) var inFlight = 0
    /// Arrived and not read.
    private(set) var unread = 0
    // What the kernel tells of the path.
    private(set) var ackedBytes: UInt64 = 0
    private(set) var acknowledgedAt: MonotonicInstant
    private(set) var roundTrip = RoundTripMeasure()
    /// Bit/s, as the last acknowledged piece found it: what was delivered from when it was sent on.
    private(set) var deliveryRate: UInt64 = 0
    /// When each piece under way was sent, oldest first, and how much had been acknowledged then.
    private var sentAt: [(at: MonotonicInstant, ackedBytes: UInt64)] = []
    private var sentPlace = 0
    private var linkFreeAt = MonotonicInstant.zero
    private var lastArrival = MonotonicInstant.zero
    /// Nothing arrives before, in either direction.
    private(set) var outageEnd = MonotonicInstant.zero
    var isClosed = false

    private static let segmentBytes = 1_448
    private static let timeoutNanosecondsMin: UInt64 = 200_000_000

    init(id: Int, world: Simulator, profile: LinkProfile, receiveBufferBytes: Int, generator: SeededGenerator) {
        self.id = id
        self.world = world
        self.profile = profile
        self.receiveBufferBytes = receiveBufferBytes
        self.generator = generator
        acknowledgedAt = world.now
        // The handshake has measured it already.
        roundTrip.take(2 * profile.delayNanoseconds)
    }

    var roundTripNanoseconds: UInt64 { 2 * profile.delayNanoseconds }

    private var windowBytes: Int {
        let product = profile.bitsPerSecond / 8 * roundTripNanoseconds / 1_000_000_000
        return max(10 * TCPPath.segmentBytes, Int(product) + profile.queueBytes)
    }

    /// Whether the kernel would say that it can be written to.
    var isWritable: Bool { unsent < notSentLowWater && unsent + inFlight < sendBufferBytes }

    /// Offers bytes to the kernel; answers how many it takes.
    func send(_ byteCount: Int) -> Int {
        guard isWritable, byteCount > 0 else { return 0 }
        let taken = min(byteCount, sendBufferBytes - unsent - inFlight)
        unsent += taken
        pump()
        return taken
    }

    /// Puts on the wire what the windows allow.
    private func pump() {
        // A fast link is given larger pieces, so that a run has few events.
        let piece = max(TCPPath.segmentBytes, min(16 << 10, Int(profile.bitsPerSecond / 8 / 500)))
        while unsent > 0 {
            let room = min(windowBytes, receiveBufferBytes - unread) - inFlight
            guard room > 0 else { return }
            let count = min(unsent, piece, room)
            unsent -= count
            inFlight += count
            sentAt.append((world.now, ackedBytes))
            world.schedule(.arrived(path: id, byteCount: count), at: arrival(of: count))
        }
    }

    private func arrival(of byteCount: Int) -> MonotonicInstant {
        let start = max(world.now, linkFreeAt)
        linkFreeAt = start.advanced(byNanoseconds: UInt64(byteCount) * 8_000_000_000 / profile.bitsPerSecond)
        var arrival = linkFreeAt.advanced(byNanoseconds: profile.delayNanoseconds)
        if profile.jitterNanoseconds > 0 { arrival = arrival.advanced(byNanoseconds: generator.draw(0...profile.jitterNanoseconds)) }
        if profile.lossPerTenThousand > 0, generator.draw(0...9_999) < profile.lossPerTenThousand {
            // The retransmission may be lost as well: each further timeout is twice the one before (RFC 6298 §5.5).
            var timeout = max(TCPPath.timeoutNanosecondsMin, 2 * roundTripNanoseconds)
            repeat {
                arrival = arrival.advanced(byNanoseconds: timeout)
                timeout *= 2
            } while generator.draw(0...9_999) < profile.lossPerTenThousand * 10 && timeout < 4_000_000_000
            world.note("loss", id, byteCount, Int(arrival.nanoseconds / 1_000))
        }
        if arrival < outageEnd { arrival = outageEnd.advanced(byNanoseconds: roundTripNanoseconds) }
        lastArrival = max(arrival, lastArrival)
        return lastArrival
    }

    /// Bytes come to the far end. Answers false when an outage holds them up.
    func arrive(_ byteCount: Int) -> Bool {
        if world.now < outageEnd {
            lastArrival = max(lastArrival, outageEnd.advanced(byNanoseconds: roundTripNanoseconds))
            world.schedule(.arrived(path: id, byteCount: byteCount), at: lastArrival)
            return false
        }
        unread += byteCount
        world.schedule(.acknowledged(path: id, byteCount: byteCount), at: world.now.advanced(byNanoseconds: profile.delayNanoseconds))
        return true
    }

    /// The near end hears of arrived bytes. Answers whether the kernel can be written to now.
    func acknowledge(_ byteCount: Int) -> Bool {
        if world.now < outageEnd {
            world.schedule(.acknowledged(path: id, byteCount: byteCount), at: outageEnd.advanced(byNanoseconds: profile.delayNanoseconds))
            return false
        }
        acknowledgedAt = world.now
        if byteCount > 0 {
            inFlight -= byteCount
            ackedBytes += UInt64(byteCount)
            let sent = sentAt[sentPlace]
            let elapsed = world.now.nanoseconds(since: sent.at)
            roundTrip.take(elapsed)
            deliveryRate = (ackedBytes - sent.ackedBytes) * 8_000_000_000 / max(elapsed, 1)
            sentPlace += 1
            if sentPlace == sentAt.count {
                sentAt.removeAll(keepingCapacity: true)
                sentPlace = 0
            }
        }
        pump()
        return isWritable
    }

    /// The receiver takes bytes out of its buffer.
    func read(_ byteCount: Int) {
        let wasFull = unread * 2 > receiveBufferBytes
        unread -= byteCount
        if wasFull {
            world.schedule(.acknowledged(path: id, byteCount: 0), at: world.now.advanced(byNanoseconds: profile.delayNanoseconds))
        }
    }

    /// Nothing arrives until `end`.
    func interrupt(until end: MonotonicInstant) {
        outageEnd = max(outageEnd, end)
    }

    func endOutage() {
        outageEnd = min(outageEnd, world.now)
    }
}
