/// 32-bit serial number arithmetic (RFC 1982): sequence numbers and media timestamps wrap.
package struct SerialNumber: Hashable, Sendable {
    package var value: UInt32

    @inlinable
    package init(_ value: UInt32) {
        self.value = value
    }

    /// The signed distance from `other` to `self`, the short way round: negative when `self` is older.
    @inlinable
    package func distance(from other: SerialNumber) -> Int32 {
        Int32(bitPattern: value &- other.value)
    }

    /// Whether `self` is newer than `other` (RFC 1982 §3.2). At a distance of exactly 2³¹ the order is undefined; this answers false.
    @inlinable
    package func isNewer(than other: SerialNumber) -> Bool {
        let distance = distance(from: other)
        return distance > 0 && distance != .min
    }

    @inlinable
    package func advanced(by delta: UInt32) -> SerialNumber {
        SerialNumber(value &+ delta)
    }
}
