/// Ticks per second of a stream's timestamps.
package enum MediaTimescale: UInt32, CaseIterable, Sendable {
    case audio = 48_000
    case video = 90_000
    case microseconds = 1_000_000

    package var ticksPerSecond: UInt32 { rawValue }
}

/// A wall-clock time in the 64-bit format of NTP (RFC 5905 §6): seconds since 1900 in the high half, fractions of 2⁻³² s in the low.
package struct NTPTime: Hashable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// From a Unix time; the era wraps in 2036, as the format does.
    package init(unixSeconds: UInt64, nanoseconds: UInt32) {
        let seconds = UInt32(truncatingIfNeeded: unixSeconds &+ 2_208_988_800)
        let fraction = (UInt64(min(nanoseconds, 999_999_999)) << 32) / 1_000_000_000
        rawValue = UInt64(seconds) << 32 | fraction
    }
}

/// Turns a stream's wrapping 32-bit timestamps into 64-bit ones, the short way round from the last one.
package struct TimestampUnwrapper: Sendable {
    private var last: Int64?

    package init() {}

    /// The first timestamp is taken as it stands; each further one counts from its predecessor, forwards or backwards by less than 2³¹ ticks.
    package mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        guard let last else {
            self.last = Int64(timestamp)
            return Int64(timestamp)
        }
        let step = Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: last))
        let unwrapped = last &+ Int64(step)
        self.last = unwrapped
        return unwrapped
    }
}
