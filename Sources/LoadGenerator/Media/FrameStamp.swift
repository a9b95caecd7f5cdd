/// What the first bytes of each payload say: when the frame was due, and which of its stream it is.
///
/// ```
///  0              8              12    15     16
///  +--------------+--------------+-----+------+-----
///  | due, u64 ns  | number u32   | SEG | last | filling
/// ```
///
/// The instant is that of the publishers' clock, or of the relay's where publishers and subscribers are on several machines. Numbers count what was due, not
/// what was sent, and are the same in all layers of a picture: so whoever gets the frames knows of those that never came, whatever layer it gets.
package struct FrameStamp: Sendable, Equatable {
    package static let byteCount = 16
    private static let mark: UInt32 = 0x5345_4700

    package var dueNanoseconds: UInt64
    package var number: UInt32
    /// No frame of the stream: it has ended, and `number` is how many were due.
    package var isLast: Bool

    package init(dueNanoseconds: UInt64, number: UInt32, isLast: Bool = false) {
        self.dueNanoseconds = dueNanoseconds
        self.number = number
        self.isLast = isLast
    }

    /// - Returns: `nil` for what no load generator has sent.
    @inlinable
    package init?(_ payload: RawSpan) {
        guard payload.byteCount >= FrameStamp.byteCount else { return nil }
        let mark = UInt32(bigEndian: unsafe payload.unsafeLoadUnaligned(fromByteOffset: 12, as: UInt32.self))
        guard mark & ~1 == FrameStamp.markValue else { return nil }
        dueNanoseconds = UInt64(bigEndian: unsafe payload.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self))
        number = UInt32(bigEndian: unsafe payload.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self))
        isLast = mark & 1 == 1
    }

    @usableFromInline static var markValue: UInt32 { mark }

    /// Writes it over the first bytes.
    ///
    /// - Precondition: there are ``byteCount`` at least.
    package func write(into payload: inout [UInt8]) {
        precondition(payload.count >= FrameStamp.byteCount, "room for a stamp")
        let mark = FrameStamp.mark | (isLast ? 1 : 0)
        for place in 0..<8 { payload[place] = UInt8(truncatingIfNeeded: dueNanoseconds >> UInt64(56 - 8 * place)) }
        for place in 0..<4 {
            payload[8 + place] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * place))
            payload[12 + place] = UInt8(truncatingIfNeeded: mark >> UInt32(24 - 8 * place))
        }
    }
}
