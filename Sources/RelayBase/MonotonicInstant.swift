/// A point on the process's monotonic clock, in nanoseconds since an arbitrary origin.
///
/// The pure core never reads a clock: the event loop reads it once a batch and passes the instant in.
/// Arithmetic saturates instead of trapping, so that no computed deadline can stop the process.
package struct MonotonicInstant: Comparable, Hashable, Sendable {
    package var nanoseconds: UInt64

    @inlinable
    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    package static let zero = MonotonicInstant(nanoseconds: 0)

    /// Later than every instant that a clock can give: "no deadline".
    package static let distantFuture = MonotonicInstant(nanoseconds: .max)

    @inlinable
    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable
    package func advanced(byNanoseconds delta: UInt64) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(delta)
        return overflow ? .distantFuture : MonotonicInstant(nanoseconds: sum)
    }

    @inlinable
    package func advanced(byMilliseconds delta: UInt64) -> MonotonicInstant {
        let (product, overflow) = delta.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .distantFuture : advanced(byNanoseconds: product)
    }

    /// Nanoseconds from `earlier` to `self`; 0 when `earlier` is not earlier.
    @inlinable
    package func nanoseconds(since earlier: MonotonicInstant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds &- earlier.nanoseconds : 0
    }

    /// Whole milliseconds from `earlier` to `self`; 0 when `earlier` is not earlier.
    @inlinable
    package func milliseconds(since earlier: MonotonicInstant) -> UInt64 {
        nanoseconds(since: earlier) / 1_000_000
    }
}
