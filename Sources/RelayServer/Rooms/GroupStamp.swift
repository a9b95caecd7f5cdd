import RelayBase

/// When a cached group of pictures began, as it crosses to another loop: the low bits of the clock that all loops read, in whole milliseconds and rounded
/// down. An age would grow by its way through the ring, and a group that a client has seen would look younger than it is.
struct GroupStamp: Equatable {
    var bits: UInt16

    /// Beyond that a group is simply old.
    private static let millisecondsMax: UInt64 = 30_000

    init(bits: UInt16) {
        self.bits = bits
    }

    init(_ start: MonotonicInstant, now: MonotonicInstant) {
        let current = now.nanoseconds / 1_000_000
        let oldest = current - min(current, GroupStamp.millisecondsMax)
        bits = UInt16(truncatingIfNeeded: max(start.nanoseconds / 1_000_000, oldest))
    }

    /// At the other loop, whose turn may have begun a little before the one that made the stamp: then it is that turn's time.
    func start(now: MonotonicInstant) -> MonotonicInstant {
        let current = now.nanoseconds / 1_000_000
        let age = UInt16(truncatingIfNeeded: current) &- bits
        guard age <= UInt16.max / 2 else { return now }
        return MonotonicInstant(nanoseconds: (current - min(current, UInt64(age))) * 1_000_000)
    }
}
