import RelayBase
import RelayRooms
import Testing

/// A link with a queue of its own, and a sender that obeys the estimate: what the estimate makes of it, step by step of one millisecond.
private struct LinkTrace {
    var estimate = BandwidthEstimate()
    /// bit/s; 0: nothing gets through.
    var linkRate: Double
    /// bit/s that the sender has to send; `nil`: always more than there is room for.
    var sourceRate: Double?
    let oneWayMilliseconds: Int
    var jitterMilliseconds = 0
    private(set) var milliseconds = 1_000
    private var random = SeededGenerator(seed: 7)
    private var queue = 0.0
    private var inFlightQueue: [(deliverAt: Int, bytes: Int)] = []
    private var acks: [(at: Int, bytes: Int)] = []
    private var waiting = 0.0
    private var outstanding = 0
    private(set) var acked: UInt64 = 0
    private var smoothed = 0.0
    private var least = Double.infinity
    private var nextSample = 0
    private(set) var longestQueueMilliseconds = 0.0
    private var sentAt: [(acked: UInt64, at: Int)] = []
    private var sealed: UInt64 = 0

    init(linkRate: Double, sourceRate: Double?, oneWayMilliseconds: Int) {
        self.linkRate = linkRate
        self.sourceRate = sourceRate
        self.oneWayMilliseconds = oneWayMilliseconds
    }

    var now: MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(milliseconds) * 1_000_000) }

    mutating func run(milliseconds duration: Int, each: (LinkTrace) -> Void = { _ in }) {
        for _ in 0..<duration {
            step()
            each(self)
        }
    }

    /// Time passes in which nothing is sent and nobody asks.
    mutating func sleep(milliseconds duration: Int) { milliseconds += duration }

    private mutating func step() {
        milliseconds += 1
        // The link.
        if linkRate > 0 {
            queue = max(0, queue - linkRate / 8_000)
            longestQueueMilliseconds = max(longestQueueMilliseconds, queue * 8_000 / linkRate)
        }
        while let first = acks.first, first.at <= milliseconds {
            acks.removeFirst()
            outstanding -= first.bytes
            acked += UInt64(first.bytes)
            while let sent = sentAt.first, sent.acked <= acked {
                sentAt.removeFirst()
                let sample = Double(milliseconds - sent.at)
                smoothed = smoothed == 0 ? sample : smoothed * 0.875 + sample * 0.125
                least = min(least, sample)
            }
        }
        // The sender.
        if let sourceRate { waiting = min(waiting + sourceRate / 8_000, 100_000) } else { waiting = 100_000 }
        var isHeld = false
        while waiting >= 200 {
            let room = min(estimate.windowBytes - outstanding, estimate.quantumBytes)
            guard room >= 200 else {
                isHeld = true
                break
            }
            let bytes = min(Int(waiting), room, 1_448)
            waiting -= Double(bytes)
            send(bytes)
        }
        if milliseconds >= nextSample {
            nextSample = milliseconds + (isHeld ? 5 : 50)
            var sample = FlowSample(now: now, ackedBytes: acked, outstandingBytes: outstanding)
            sample.roundTripMicroseconds = UInt32(smoothed * 1_000)
            sample.roundTripMicrosecondsMin = least.isFinite ? UInt32(least * 1_000) : 0
            sample.isHeld = isHeld
            estimate.take(sample)
        }
    }

    private mutating func send(_ bytes: Int) {
        outstanding += bytes
        sealed += UInt64(bytes)
        queue += Double(bytes)
        let rate = linkRate > 0 ? linkRate : 1
        let jitter = jitterMilliseconds > 0 ? Int(random.next() % UInt64(jitterMilliseconds)) : 0
        let at = max(milliseconds + Int(queue * 8_000 / rate) + 2 * oneWayMilliseconds + jitter, acks.last?.at ?? 0)
        acks.append((at, bytes))
        sentAt.append((sealed, milliseconds))
    }

    /// What is under way takes as long as the new rate says.
    mutating func setLinkRate(_ rate: Double) {
        let before = linkRate
        linkRate = rate
        guard before > 0, rate > 0 else { return }
        acks = acks.map {
            (
                $0.at <= milliseconds + 2 * oneWayMilliseconds
                    ? $0.at : milliseconds + 2 * oneWayMilliseconds + Int(Double($0.at - milliseconds - 2 * oneWayMilliseconds) * before / rate),
                $0.bytes
            )
        }
    }

    /// Holds everything that is under way for a time.
    mutating func stall(milliseconds duration: Int) {
        acks = acks.map { ($0.at + duration, $0.bytes) }
        queue += linkRate / 8_000 * Double(duration)
    }
}

@Suite("Bandwidth estimate")
struct BandwidthEstimateTests {
    @Test("A connection that nothing is known of may have 16 KiB outstanding, and tells no rate")
    func unknown() {
        let estimate = BandwidthEstimate()
        #expect(estimate.bitsPerSecond == nil && !estimate.isLimited && estimate.state == .clear)
        #expect(estimate.windowBytes == 16 << 10 && estimate.quantumBytes == 16 << 10 && estimate.reserveBytes == 0)
    }

    @Test(
        "A sender with more to send than the link carries finds the rate, and its queue stays short",
        arguments: [(200_000.0, 20), (1_000_000, 20), (5_000_000, 20), (5_000_000, 100), (20_000_000, 5)])
    func saturated(rate: Double, oneWay: Int) {
        var link = LinkTrace(linkRate: rate, sourceRate: nil, oneWayMilliseconds: oneWay)
        link.run(milliseconds: 4_000)
        var longest = 0.0
        let acked = link.acked
        link.run(milliseconds: 4_000) { longest = max(longest, Double($0.estimate.queueingMicroseconds)) }
        let carried = Double(link.acked - acked) * 2
        #expect(link.estimate.isLimited)
        #expect(carried > rate * 0.85, "\(carried) of \(rate)")
        #expect(Double(link.estimate.bitsPerSecond ?? 0) > rate * 0.8 && Double(link.estimate.bitsPerSecond ?? 0) < rate * 1.5)
        // 2,400 bytes, the smallest window, take 96 ms at 200 kbit/s.
        #expect(longest <= 110_000, "\(longest) µs")
        #expect(link.estimate.quantumBytes <= max(1_200, Int(rate / 8 * 0.03)))
    }

    @Test("When a link becomes ten times slower the estimate follows within three round trips and 200 ms")
    func stepDown() {
        var link = LinkTrace(linkRate: 2_000_000, sourceRate: 1_600_000, oneWayMilliseconds: 20)
        link.run(milliseconds: 5_000)
        #expect(link.estimate.state == .clear)
        #expect((link.estimate.bitsPerSecond ?? 0) > 1_200_000)
        link.setLinkRate(200_000)
        link.run(milliseconds: 320)
        #expect(link.estimate.isLimited)
        #expect((link.estimate.bitsPerSecond ?? .max) < 400_000, "\(link.estimate.bitsPerSecond ?? 0)")
        link.run(milliseconds: 1_000)
        #expect(link.estimate.state == .congested)
        #expect((150_000...260_000).contains(link.estimate.bitsPerSecond ?? 0))
        #expect(link.estimate.windowBytes <= 3_000 && link.estimate.quantumBytes == 1_200)
    }

    @Test("When the link is fast again, a sender that has more to send finds out within two seconds, and the state clears after calm")
    func stepUp() {
        var link = LinkTrace(linkRate: 200_000, sourceRate: 1_600_000, oneWayMilliseconds: 20)
        link.run(milliseconds: 3_000)
        #expect(link.estimate.state == .congested)
        link.setLinkRate(2_000_000)
        link.run(milliseconds: 2_000)
        #expect((link.estimate.bitsPerSecond ?? 0) > 1_000_000, "\(link.estimate.bitsPerSecond ?? 0)")
        link.run(milliseconds: 4_000)
        #expect(link.estimate.state == .clear && !link.estimate.isLimited)
    }

    @Test("A sender that is the limit itself learns a lower bound and is not said to be limited")
    func applicationLimited() {
        var link = LinkTrace(linkRate: 10_000_000, sourceRate: 100_000, oneWayMilliseconds: 20)
        link.run(milliseconds: 5_000) { #expect(!$0.estimate.isLimited && $0.estimate.state == .clear) }
        #expect((60_000...400_000).contains(link.estimate.bitsPerSecond ?? 0))
        #expect(link.estimate.quantumBytes == 16 << 10 && link.estimate.windowBytes >= 16 << 10)
    }

    @Test("Silence changes nothing, and what comes after it is measured anew")
    func idleRestart() {
        var link = LinkTrace(linkRate: 5_000_000, sourceRate: 2_000_000, oneWayMilliseconds: 20)
        link.run(milliseconds: 3_000)
        let before = link.estimate.bitsPerSecond
        link.sleep(milliseconds: 60_000)
        link.run(milliseconds: 100)
        #expect(link.estimate.bitsPerSecond == before && !link.estimate.isLimited && link.estimate.state == .clear)
    }

    @Test("A message now and then is neither a stall nor congestion, however long the silence before it", arguments: [0, 300])
    func messageAfterSilence(outstandingBefore: Int) {
        var estimate = BandwidthEstimate()
        var acked: UInt64 = 1
        for second in 1...20 {
            var sample = FlowSample(
                now: MonotonicInstant(nanoseconds: UInt64(second) * 5_000_000_000), ackedBytes: acked, outstandingBytes: 300)
            sample.roundTripMicroseconds = 40_000
            sample.sinceAcknowledgementMilliseconds = 4_960
            estimate.take(sample)
            #expect(!estimate.isStalled && estimate.state == .clear && !estimate.isLimited)
            acked += 300
            guard outstandingBefore == 0 else { continue }
            estimate.take(
                FlowSample(now: MonotonicInstant(nanoseconds: UInt64(second) * 5_000_000_000 + 60_000_000), ackedBytes: acked, outstandingBytes: 0))
        }
    }

    @Test("A stall of two seconds is congestion, does not take the estimate away, and is over soon after it ends")
    func stall() {
        var link = LinkTrace(linkRate: 2_000_000, sourceRate: 1_000_000, oneWayMilliseconds: 20)
        link.run(milliseconds: 5_000)
        link.stall(milliseconds: 2_000)
        link.run(milliseconds: 1_900)
        #expect(link.estimate.state == .congested)
        #expect((link.estimate.bitsPerSecond ?? 0) > 100_000)
        #expect(link.estimate.isStalled && link.estimate.windowBytes == 0 && link.estimate.reserveBytes == 0)
        link.run(milliseconds: 700)
        #expect((link.estimate.bitsPerSecond ?? 0) > 300_000, "\(link.estimate.bitsPerSecond ?? 0)")
        link.run(milliseconds: 4_000)
        #expect(link.estimate.state == .clear)
    }

    @Test("A round trip that varies by 15 ms does not make a sender below the link's rate look limited for long")
    func noise() {
        var link = LinkTrace(linkRate: 5_000_000, sourceRate: 1_000_000, oneWayMilliseconds: 20)
        link.jitterMilliseconds = 15
        var limited = 0
        link.run(milliseconds: 10_000) { limited += $0.estimate.isLimited ? 1 : 0 }
        #expect(limited < 3_000, "\(limited)")
        #expect((link.estimate.bitsPerSecond ?? 0) > 500_000)
    }

    @Test("Odd numbers of the kernel neither trap nor leave an estimate behind that is worse than none")
    func oddValues() {
        var estimate = BandwidthEstimate()
        var random = SeededGenerator(seed: 99)
        var now: UInt64 = 0
        for step in 0..<20_000 {
            now &+= random.next() % 200_000_000
            let odd: [UInt64] = [0, 1, random.next() % 100_000, random.next(), .max, .max / 2, UInt64(step) * 1_000]
            var sample = FlowSample(
                now: MonotonicInstant(nanoseconds: step % 97 == 0 ? random.next() % max(now, 1) : now), ackedBytes: odd[Int(random.next() % 7)],
                outstandingBytes: Int(truncatingIfNeeded: odd[Int(random.next() % 7)]))
            sample.deliveryRate = odd[Int(random.next() % 7)]
            sample.roundTripMicroseconds = UInt32(truncatingIfNeeded: odd[Int(random.next() % 7)])
            sample.roundTripVariationMicroseconds = UInt32(truncatingIfNeeded: odd[Int(random.next() % 7)])
            sample.roundTripMicrosecondsMin = UInt32(truncatingIfNeeded: odd[Int(random.next() % 7)])
            sample.isHeld = step % 3 == 0
            estimate.take(sample)
            if step % 50 == 0 { estimate.take(receivedBitsPerSecond: Int(truncatingIfNeeded: odd[Int(random.next() % 7)]), now: sample.now) }
            #expect(
                (estimate.isStalled ? estimate.windowBytes == 0 : estimate.windowBytes >= 2_400) && (1_200...16_384).contains(estimate.quantumBytes))
            #expect(estimate.reserveBytes >= 0 && estimate.heldShare >= 0 && estimate.heldShare <= 1)
            #expect((2...20).contains(estimate.millisecondsToCarry(Int(truncatingIfNeeded: odd[Int(random.next() % 7)]))))
        }
    }

    @Test("A receiver that gets less than the proxy before it takes bounds the estimate for a while")
    func receiverReport() {
        var link = LinkTrace(linkRate: 100_000_000, sourceRate: 2_000_000, oneWayMilliseconds: 1)
        link.run(milliseconds: 6_000)
        #expect(!link.estimate.isLimited)
        link.estimate.take(receivedBitsPerSecond: 1_950_000, now: link.now)
        #expect(!link.estimate.isLimited)
        link.estimate.take(receivedBitsPerSecond: 500_000, now: link.now)
        #expect(link.estimate.isLimited && link.estimate.bitsPerSecond == 500_000)
        link.run(milliseconds: 1_000)
        #expect((link.estimate.bitsPerSecond ?? 0) <= 500_000)
        link.run(milliseconds: 10_000)
        #expect((link.estimate.bitsPerSecond ?? 0) > 1_500_000)
    }
}

@Suite("Urgency among WebSockets of a connection")
struct EgressUrgencyTests {
    @Test("Control goes before audio, audio before video, video before data, whatever the clients wish")
    func lanes() {
        let order = [
            EgressUrgency(lane: nil, client: 7), EgressUrgency(lane: .audio, client: 7), EgressUrgency(lane: .video, client: 7),
            EgressUrgency(lane: .data, client: 0),
        ]
        #expect(order == order.reversed().sorted())
        #expect(order.map(\.isUrgent) == [true, true, false, false])
        #expect(order.map(\.lane) == [.audio, .audio, .video, .data])
    }

    @Test("RFC 9218 §4.1 within a lane the client's urgency decides; more than 7 counts as 7")
    func client() {
        #expect(EgressUrgency(lane: .video, client: 1) < EgressUrgency(lane: .video, client: 3))
        #expect(EgressUrgency(lane: .video, client: 7) == EgressUrgency(lane: .video, client: 200))
    }

    @Test("Whoever was served comes last in the next round, also when places went meanwhile")
    func turns() {
        var turns = EgressTurns()
        #expect((0..<3).map { turns.place($0, of: 3) } == [0, 1, 2])
        turns.served(0)
        #expect((0..<3).map { turns.place($0, of: 3) } == [1, 2, 0])
        turns.served(2)
        #expect((0..<2).map { turns.place($0, of: 2) } == [1, 0])
    }
}
