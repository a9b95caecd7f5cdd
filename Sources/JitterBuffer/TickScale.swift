import RelayBase

/// Between a stream's ticks, microseconds, and the samples that come out.
///
/// Counts of ticks are 64 bits wide and never negative in use (``MediaTimeline`` begins far above zero), so nothing here overflows within the life of a stream.
package struct TickScale: Sendable, Hashable {
    /// Ticks a second.
    package let timescale: Int64
    package let sampleRate: Int64

    /// - Parameter timescale: what is below 1 counts as 1.
    package init(timescale: Int, sampleRate: Int) {
        self.timescale = Int64(max(timescale, 1))
        self.sampleRate = Int64(max(sampleRate, 1))
    }

    package func microseconds(_ ticks: Int64) -> Int64 {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: timescale)
        return seconds &* 1_000_000 &+ rest &* 1_000_000 / timescale
    }

    package func ticks(microseconds: Int64) -> Int64 {
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return seconds &* timescale &+ rest &* timescale / 1_000_000
    }

    package func ticks(samples: Int) -> Int64 {
        timescale == sampleRate ? Int64(samples) : Int64(samples) * timescale / sampleRate
    }

    package func samples(ticks: Int64) -> Int {
        let samples = timescale == sampleRate ? ticks : ticks * sampleRate / timescale
        return Int(clamping: samples)
    }

    package func microseconds(samples: Int) -> Int64 { Int64(samples) * 1_000_000 / sampleRate }

    /// For spans: of more than an hour, where a caller's clock has jumped, an hour's.
    package func samples(microseconds: Int64) -> Int {
        let hour: Int64 = 3_600_000_000
        return Int(clamping: min(max(microseconds, -hour), hour) * sampleRate / 1_000_000)
    }
}

extension MonotonicInstant {
    /// The buffers reckon in whole microseconds.
    var microseconds: Int64 { Int64(nanoseconds / 1000) }

    init(microseconds: Int64) {
        self = MonotonicInstant.zero.advanced(byNanoseconds: UInt64(max(microseconds, 0)).multipliedReportingOverflow(by: 1000).partialValue)
    }
}
