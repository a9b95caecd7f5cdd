import Glibc
import RelayBase

/// Traces of the classic patterns, from a seed: the same everywhere.
enum Generators {
    struct Pattern: Sendable {
        let name: String
        let note: String
        let make: @Sendable (inout SeededGenerator) -> ArrivalTrace
    }

    /// The set that the tables are of.
    static let all: [Pattern] = [
        Pattern(name: "gaussian-5", note: "Gaussian jitter, 5 ms, in order") { gaussian(deviation: 5, &$0) },
        Pattern(name: "gaussian-20", note: "Gaussian jitter, 20 ms, out of order") { gaussian(deviation: 20, isOrdered: false, &$0) },
        Pattern(name: "gilbert-2", note: "Gilbert losses, 2 % in bursts of 3, jitter 5 ms") { gilbert(&$0) },
        Pattern(name: "spikes", note: "a spike of 100 to 400 ms about every 5 s, which drains in a burst") { spikes(&$0) },
        Pattern(name: "drift-fast-500", note: "the sender's clock 500 ppm fast, jitter 3 ms, 10 min") { drift(500, &$0) },
        Pattern(name: "drift-slow-500", note: "the sender's clock 500 ppm slow, jitter 3 ms, 10 min") { drift(-500, &$0) },
        Pattern(name: "freeze-5s", note: "a stall of 5 s, which ends in a burst, jitter 5 ms") { stall(5, at: 20, &$0) },
        Pattern(name: "stall-2s", note: "a stall of 2 s, which ends in a burst, jitter 5 ms") { stall(2, at: 20, &$0) },
    ]

    static func trace(_ pattern: Pattern, seed: UInt64 = 1) -> ArrivalTrace {
        var generator = SeededGenerator(seed: seed ^ pattern.name.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })
        var trace = pattern.make(&generator)
        trace.name = pattern.name
        trace.note = pattern.note
        return trace
    }

    // MARK: Patterns

    private static let transit: Int64 = 40_000_000
    private static let millisecond = 1_000_000.0

    /// An even stream of 20 ms packets whose transit `transit` tells.
    private static func stream(
        seconds: Int, driftPartsPerMillion: Double = 0, isOrdered: Bool = true, _ transit: (_ sent: Int64) -> Int64?
    ) -> ArrivalTrace {
        var trace = ArrivalTrace(name: "", origin: .generated)
        var newest: Int64 = 0
        let step = 20_000_000 / (1 + driftPartsPerMillion / 1e6)
        for number in 0..<seconds * 50 {
            let sent = Int64((Double(number) * step).rounded())
            var received = transit(sent).map { sent + max(0, $0) }
            if isOrdered, let time = received {
                newest = max(newest, time)
                received = newest
            }
            // Whole microseconds, as the format has them.
            trace.packets.append(
                TracePacket(
                    sequence: UInt32(number), timestamp: UInt32(number) &* 960, sent: sent / 1_000 * 1_000,
                    received: received.map { $0 / 1_000 * 1_000 },
                    byteCount: 160))
        }
        return trace
    }

    /// Box–Muller.
    static func normal(_ generator: inout SeededGenerator) -> Double {
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &generator))).squareRoot()
        return radius * cos(2 * Double.pi * Double.random(in: 0..<1, using: &generator))
    }

    private static func gaussian(deviation: Double, isOrdered: Bool = true, _ generator: inout SeededGenerator) -> ArrivalTrace {
        stream(seconds: 60, isOrdered: isOrdered) { _ in transit + Int64(abs(normal(&generator)) * deviation * millisecond) }
    }

    /// Two states: in the bad one everything is lost; bursts of 3 packets in the mean, 2 % of all.
    private static func gilbert(_ generator: inout SeededGenerator) -> ArrivalTrace {
        var isBad = false
        let leave = 1.0 / 3
        let enter = leave * 0.02 / 0.98
        return stream(seconds: 60) { _ in
            isBad = Double.random(in: 0..<1, using: &generator) < (isBad ? 1 - leave : enter)
            let jitter = Int64(abs(normal(&generator)) * 5 * millisecond)
            return isBad ? nil : transit + jitter
        }
    }

    private static func spikes(_ generator: inout SeededGenerator) -> ArrivalTrace {
        var until: Int64 = 0
        var next: Int64 = 5_000_000_000
        return stream(seconds: 60) { sent in
            if sent >= next {
                until = sent + Int64(Double.random(in: 100...400, using: &generator) * millisecond)
                next = sent + Int64(Double.random(in: 3_000...7_000, using: &generator) * millisecond)
            }
            return max(transit, until + transit - sent) + Int64(abs(normal(&generator)) * 3 * millisecond)
        }
    }

    private static func drift(_ partsPerMillion: Double, _ generator: inout SeededGenerator) -> ArrivalTrace {
        stream(seconds: 600, driftPartsPerMillion: partsPerMillion) { _ in transit + Int64(abs(normal(&generator)) * 3 * millisecond) }
    }

    private static func stall(_ seconds: Double, at begin: Double, _ generator: inout SeededGenerator) -> ArrivalTrace {
        let end = Int64((begin + seconds) * 1e9)
        return stream(seconds: 60) { sent in
            let jitter = Int64(abs(normal(&generator)) * 5 * millisecond)
            let isHeld = sent + transit > Int64(begin * 1e9) && sent + transit < end
            return (isHeld ? end - sent : transit) + jitter
        }
    }
}
