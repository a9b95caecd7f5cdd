import JitterBuffer
import RelayBase

/// When packets were sent and came. Times in microseconds.
struct Trace: Sendable {
    struct Packet: Sendable {
        var sequence: UInt32
        var timestamp: UInt32
        var sent: Int64
        /// Nothing: lost.
        var arrival: Int64?
        var isDiscontinuity = false
        var isSilence = false
    }

    var packets: [Packet] = []
    var packetMicroseconds: Int64 = 20_000

    /// As they arrive: equal times in the order in which they were sent.
    var arrivals: [(Int, Int64)] {
        packets.indices.compactMap { place in packets[place].arrival.map { (place, $0) } }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
    }

    /// Packets of `milliseconds` for `seconds`, sent on time by a clock that is fast by `driftPPM`, each delayed by what `delay` says.
    static func make(
        seconds: Int, packetMilliseconds: Int = 20, driftPPM: Double = 0, isOrdered: Bool = false,
        delay: (_ place: Int, _ sent: Int64) -> Int64?
    ) -> Trace {
        var trace = Trace()
        trace.packetMicroseconds = Int64(packetMilliseconds) * 1000
        var latest: Int64 = 0
        for place in 0..<seconds * 1000 / packetMilliseconds {
            let media = Int64(place * packetMilliseconds) * 1000
            let sent = Int64(Double(media) / (1 + driftPPM / 1e6))
            var arrival = delay(place, sent).map { sent + $0 + 50_000 }
            if isOrdered, let known = arrival {
                latest = max(latest, known)
                arrival = latest
            }
            trace.packets.append(
                Packet(
                    sequence: UInt32(truncatingIfNeeded: place) &+ 4_294_967_000,
                    timestamp: UInt32(truncatingIfNeeded: place * packetMilliseconds * 48) &+ 4_294_900_000,
                    sent: sent, arrival: arrival))
        }
        return trace
    }
}

extension SeededGenerator {
    mutating func unit() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

    /// Of mean 0 and deviation 1: the sum of twelve even ones.
    mutating func normal() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += unit() }
        return sum
    }
}

/// Patterns by seed. All but the first three as TCP gives them: in order, late together.
enum TracePattern {
    static func steady(seconds: Int = 30, driftPPM: Double = 0, seed: UInt64 = 1) -> Trace {
        var random = SeededGenerator(seed: seed)
        return .make(seconds: seconds, driftPPM: driftPPM) { _, _ in Int64(random.unit() * 2_000) }
    }

    static func gaussian(seconds: Int = 60, milliseconds: Double = 10, driftPPM: Double = 0, seed: UInt64 = 2, isOrdered: Bool = true) -> Trace {
        var random = SeededGenerator(seed: seed)
        return .make(seconds: seconds, driftPPM: driftPPM, isOrdered: isOrdered) { _, _ in Int64((random.normal().magnitude * milliseconds) * 1000) }
    }

    /// Losses in bursts, of two states (Gilbert 1960).
    static func gilbert(seconds: Int = 60, toBad: Double = 0.01, toGood: Double = 0.4, seed: UInt64 = 3) -> Trace {
        var random = SeededGenerator(seed: seed)
        var isBad = false
        return .make(seconds: seconds) { _, _ in
            isBad = isBad ? random.unit() >= toGood : random.unit() < toBad
            return isBad ? nil : Int64(random.unit() * 5_000)
        }
    }

    /// Nothing comes for the given time, now and then; then all of it at once.
    static func stalls(
        seconds: Int = 60, everySeconds: Double, milliseconds: ClosedRange<Double>, firstAt: Double = 5, seed: UInt64 = 4, isRegular: Bool = false
    ) -> Trace {
        var random = SeededGenerator(seed: seed)
        var times: [(Int64, Int64)] = []
        var at = firstAt
        while at < Double(seconds) {
            let height = milliseconds.lowerBound + random.unit() * (milliseconds.upperBound - milliseconds.lowerBound)
            times.append((Int64(at * 1e6), Int64(height * 1e3)))
            at += isRegular ? everySeconds : everySeconds * (0.2 + 1.6 * random.unit())
        }
        return .make(seconds: seconds, isOrdered: true) { _, sent in
            var delay = Int64(random.unit() * 3_000)
            for (start, height) in times where sent >= start && sent < start + height { delay = max(delay, start + height - sent) }
            return delay
        }
    }

    /// What TCP makes of lost segments: each holds up what was sent until it has been sent again.
    static func retransmissions(seconds: Int = 60, lossPercent: Double, roundTripMilliseconds: Double, seed: UInt64 = 5) -> Trace {
        var random = SeededGenerator(seed: seed)
        return .make(seconds: seconds, isOrdered: true) { _, _ in
            var delay = random.unit() * 4_000
            // Three packets behind it tell of the loss.
            if random.unit() * 100 < lossPercent { delay += 1000 * (roundTripMilliseconds + 60 + (random.unit() * 100 < lossPercent ? 200 : 0)) }
            return Int64(delay)
        }
    }
}
