package import RelayBase

/// What became of the packets of one direction. Always: offered = lost + overflowed + delivered + those inside.
package struct LinkCounters: Equatable, Sendable {
    package var offered: UInt64 = 0
    package var lost: UInt64 = 0
    package var overflowed: UInt64 = 0
    package var delivered: UInt64 = 0
    package var deliveredBytes: UInt64 = 0
    /// The most bytes that waited at once.
    package var waitingBytesHighest = 0
}

/// One direction of a link: a bounded queue, behind it a transmitter that sends one packet after the other at the link's rate, behind that a way that takes
/// time.
///
/// Pure. What happens at which instant does not depend on how often it is asked: every step is worked out for the exact instant of the model, and a change
/// of the rate concerns what waits already, the half-sent packet included.
package struct LinkQueue: ~Copyable {
    package enum Offer: Equatable, Sendable {
        case accepted
        case lost
        case overflowed
    }

    /// Bytes waiting and travelling; a bound of this program, not of the link.
    package static let bytesMax = 64 << 20

    package private(set) var settings: LinkSettings
    package private(set) var counters = LinkCounters()
    /// Bytes that wait to be sent, those of the half-sent packet included.
    package private(set) var waitingBytes = 0
    /// The packets' bytes: those that travel, then those that wait.
    private var bytes = ByteQueue()
    private var waiting = PacketQueue()
    private var travelling = PacketQueue()
    /// When the transmitter began on ``bitsLeft`` of the first waiting packet.
    private var sendingSince = MonotonicInstant.zero
    private var bitsLeft = 0.0
    private var lastDue = MonotonicInstant.zero
    private var generator: SeededGenerator

    package init(_ settings: LinkSettings, seed: UInt64) {
        self.settings = settings
        generator = SeededGenerator(seed: seed)
    }

    package var packetsInside: Int { waiting.count + travelling.count }
    package var bytesInside: Int { bytes.count }

    /// A packet comes to the link at `now`, which never goes back.
    package mutating func offer(_ packet: RawSpan, now: MonotonicInstant) -> Offer {
        counters.offered += 1
        advance(to: now)
        if settings.lossShare > 0, uniform() < settings.lossShare {
            counters.lost += 1
            return .lost
        }
        let byteCount = packet.byteCount
        // A transmitter holds one packet even where nothing may wait behind it.
        let fits = waiting.isEmpty || waitingBytes + byteCount <= settings.queueBytesMax
        guard fits, bytes.count + byteCount <= Self.bytesMax else {
            counters.overflowed += 1
            return .overflowed
        }
        if waiting.isEmpty { begin(byteCount: byteCount, at: now) }
        bytes.append(packet)
        waiting.append(.init(byteCount: byteCount, due: .distantFuture))
        waitingBytes += byteCount
        counters.waitingBytesHighest = max(counters.waitingBytesHighest, waitingBytes)
        return .accepted
    }

    /// Hands out every packet that has arrived by `now`, in order, until `deliver` answers that it takes no more.
    package mutating func deliver(now: MonotonicInstant, _ deliver: (RawSpan) -> Bool) {
        advance(to: now)
        guard !settings.isStalled else { return }
        while let packet = travelling.first, packet.due <= now {
            guard deliver(bytes.span.extracting(first: packet.byteCount)) else { return }
            bytes.consume(packet.byteCount)
            travelling.removeFirst()
            counters.delivered += 1
            counters.deliveredBytes += UInt64(packet.byteCount)
        }
    }

    /// When ``deliver(now:_:)`` may have something to hand out; `nil`: not before something else happens.
    package var nextDeadline: MonotonicInstant? {
        guard !settings.isStalled else { return nil }
        if let packet = travelling.first { return packet.due }
        return waiting.isEmpty ? nil : sent.advanced(byNanoseconds: settings.delayNanoseconds)
    }

    /// Changes the link from `now` on.
    package mutating func change(_ change: LinkChange, now: MonotonicInstant) {
        advance(to: now)
        if !settings.isStalled, !waiting.isEmpty {
            bitsLeft = max(0, bitsLeft - Double(now.nanoseconds(since: sendingSince)) * settings.bitsPerSecond / 1e9)
        }
        sendingSince = now
        change.apply(to: &settings)
        // What the change lets out at once.
        advance(to: now)
    }

    // MARK: The transmitter

    /// When the last bit of the first waiting packet is out.
    private var sent: MonotonicInstant {
        guard settings.bitsPerSecond > 0 else { return sendingSince }
        let nanoseconds = bitsLeft / settings.bitsPerSecond * 1e9
        return nanoseconds < 1e18 ? sendingSince.advanced(byNanoseconds: UInt64(nanoseconds.rounded())) : .distantFuture
    }

    private mutating func begin(byteCount: Int, at instant: MonotonicInstant) {
        bitsLeft = Double(byteCount) * 8
        sendingSince = instant
    }

    /// Sends what has been sent by `now`.
    private mutating func advance(to now: MonotonicInstant) {
        guard !settings.isStalled else { return }
        while let packet = waiting.first {
            let sent = sent
            guard sent <= now else { return }
            waiting.removeFirst()
            waitingBytes -= packet.byteCount
            let jitter = settings.jitterNanoseconds > 0 ? UInt64(uniform() * Double(settings.jitterNanoseconds)) : 0
            let due = sent.advanced(byNanoseconds: settings.delayNanoseconds).advanced(byNanoseconds: jitter)
            lastDue = max(lastDue, due)
            travelling.append(.init(byteCount: packet.byteCount, due: lastDue))
            if let next = waiting.first { begin(byteCount: next.byteCount, at: sent) }
        }
    }

    /// From 0 up to, but not including, 1.
    private mutating func uniform() -> Double {
        Double(generator.next() >> 11) / 9_007_199_254_740_992
    }
}
