package import RelayBase

/// An invariant that did not hold, with what is needed to see it happen again.
package struct SimulationFault: Error, Sendable, CustomStringConvertible {
    package let seed: UInt64
    package let seconds: Int
    /// Virtual time since the run began.
    package let at: MonotonicInstant
    /// The invariant, in words.
    package let invariant: String
    /// What happened last, oldest first.
    package let lastEvents: [String]

    package var description: String {
        """
        seed \(seed) at \(TraceLine.text(at)) s: \(invariant)
        \(lastEvents.joined(separator: "\n"))
        replay: Deploy/dev sim \(seed) \(seconds)
        """
    }
}

/// One line of a run's trace. Kept as numbers, since most are never read.
struct TraceLine {
    var at: MonotonicInstant
    var what: StaticString
    var a: Int
    var b: Int
    var c: Int

    var text: String { "\(TraceLine.text(at)) \(what) \(a) \(b) \(c)" }

    /// Seconds with six digits behind the point.
    static func text(_ instant: MonotonicInstant) -> String {
        let micros = String(instant.nanoseconds / 1_000 % 1_000_000)
        return "\(instant.nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 6 - micros.count) + micros
    }
}

/// The last lines of a run.
struct Trace {
    private static let linesMax = 160

    private var lines: [TraceLine] = []
    private var next = 0

    mutating func add(_ line: TraceLine) {
        if lines.count < Trace.linesMax {
            lines.append(line)
        } else {
            lines[next] = line
            next = (next + 1) % Trace.linesMax
        }
    }

    var texts: [String] { (lines[next...] + lines[..<next]).map(\.text) }
}
