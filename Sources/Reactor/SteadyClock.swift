package import RelayBase

/// The time of day as it was when the clock was made, carried on by the monotonic clock: it has the day's numbers and never steps.
///
/// What is compared over minutes (a client's clock against the relay's) is measured by it, so that setting the machine's clock shows nowhere.
package struct SteadyClock: Sendable {
    private let origin: MonotonicInstant
    private let originMilliseconds: Double

    package init(origin: MonotonicInstant, wallMilliseconds: Double) {
        self.origin = origin
        originMilliseconds = wallMilliseconds
    }

    package static func started() -> SteadyClock {
        SteadyClock(origin: MonotonicClock.now(), wallMilliseconds: Double(WallClock.now()))
    }

    /// Milliseconds since 1970-01-01T00:00Z; a Double holds quarters of a microsecond of it.
    package func milliseconds(at instant: MonotonicInstant) -> Double {
        originMilliseconds + Double(instant.nanoseconds(since: origin)) / 1e6
    }
}
