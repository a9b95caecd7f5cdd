/// A round trip as its samples have it: smoothed and with its mean deviation as in RFC 6298 §2, and the least one.
package struct RoundTripEstimate: Sendable, Equatable {
    package private(set) var smoothedNanoseconds: UInt64 = 0
    package private(set) var variationNanoseconds: UInt64 = 0
    package private(set) var nanosecondsMin: UInt64 = .max
    package private(set) var samples: UInt64 = 0

    /// Longer than any limit lets a peer be silent: what a sum of such times can never overflow.
    private static let nanosecondsMax: UInt64 = 86_400_000_000_000

    package init() {}

    package mutating func add(nanoseconds: UInt64) {
        let sample = min(nanoseconds, Self.nanosecondsMax)
        if samples == 0 {
            smoothedNanoseconds = sample
            variationNanoseconds = sample / 2
        } else {
            let deviation = sample > smoothedNanoseconds ? sample - smoothedNanoseconds : smoothedNanoseconds - sample
            variationNanoseconds = (variationNanoseconds * 3 + deviation) / 4
            smoothedNanoseconds = (smoothedNanoseconds * 7 + sample) / 8
        }
        nanosecondsMin = min(nanosecondsMin, sample)
        samples &+= 1
    }

    /// `nil` before the first sample.
    package var smoothedMilliseconds: Double? { samples > 0 ? Double(smoothedNanoseconds) / 1e6 : nil }
    package var millisecondsMin: Double? { samples > 0 ? Double(nanosecondsMin) / 1e6 : nil }
}
