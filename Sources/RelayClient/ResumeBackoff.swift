/// When to try again to come back to a session: soon at first, then ever more rarely, and never all clients of a relay at once.
///
/// Pure: the caller's generator decides within the bounds.
package struct ResumeBackoff: Sendable {
    /// The first try comes within so many milliseconds of the loss.
    package var firstMillisecondsMax: UInt64 = 100
    package var baseMilliseconds: UInt64 = 250
    package var millisecondsMax: UInt64 = 4_000
    private var tries: UInt64 = 0

    package init() {}

    /// Milliseconds until the next try: after the first, between a half and the whole of what doubles each time.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> UInt64 {
        defer { tries += 1 }
        guard tries > 0 else { return UInt64.random(in: 0...firstMillisecondsMax, using: &generator) }
        let doubled = baseMilliseconds.multipliedReportingOverflow(by: 1 << min(tries - 1, 20))
        let whole = doubled.overflow ? millisecondsMax : min(doubled.partialValue, millisecondsMax)
        return UInt64.random(in: whole / 2...max(whole / 2, whole), using: &generator)
    }
}
