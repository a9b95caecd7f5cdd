/// The two companding laws of telephony (ITU-T G.711): 8 bits for what 14 (µ-law) or 13 (A-law) bits carry.
///
/// Linear values are 16-bit, G.711's own (14 and 13 bits) left-aligned, as everybody has them.
package enum G711: Sendable {
    /// What each code stands for, by code.
    static let linearOfMu = [Int16](codes: G711.linear(mu:))
    static let linearOfA = [Int16](codes: G711.linear(a:))

    /// G.711 table 2a/2b: sign, three bits of segment, four of step, all inverted. The 14-bit value of the code is (2·step + 33)·2^segment − 33.
    package static func linear(mu code: UInt8) -> Int16 {
        let bits = ~code
        let magnitude = (Int16(bits & 0x0F) << 3 + 0x84) << Int16(bits >> 4 & 7) - 0x84
        return bits & 0x80 != 0 ? -magnitude : magnitude
    }

    /// G.711 table 1a/1b: even bits inverted; segments 0 and 1 have the same step. A set sign bit is positive.
    package static func linear(a code: UInt8) -> Int16 {
        let bits = code ^ 0x55
        let segment = Int16(bits >> 4 & 7)
        let step = Int16(bits & 0x0F) << 4
        let magnitude = segment == 0 ? step + 8 : (step + 0x108) << (segment - 1)
        return bits & 0x80 != 0 ? magnitude : -magnitude
    }

    /// The code whose decision interval the value lies in (G.711 table 2, column 3): 33 (of 14 bits) is added, so that segments begin at powers of 2.
    package static func mu(linear value: Int16) -> UInt8 {
        let sign: UInt8 = value < 0 ? 0x80 : 0
        // Left-aligned: the bias of 33 is 132; the largest virtual decision value is 8159, that is 32,636.
        let biased = UInt32(min(Int32(value.magnitude), 32_635) + 132)
        let segment = UInt32(24 - min(biased.leadingZeroBitCount, 24))
        let step = UInt8(truncatingIfNeeded: biased >> (segment + 3)) & 0x0F
        return ~(sign | UInt8(truncatingIfNeeded: segment) << 4 | step)
    }

    /// G.711 table 1, column 3. Negative values count by their magnitude less the smallest step, so that both sides have as many intervals.
    package static func a(linear value: Int16) -> UInt8 {
        let sign: UInt8 = value >= 0 ? 0x80 : 0
        let magnitude = UInt32(value >= 0 ? value : ~value)
        let segment = magnitude < 256 ? 0 : UInt32(24 - magnitude.leadingZeroBitCount)
        let step = UInt8(truncatingIfNeeded: magnitude >> (segment == 0 ? 4 : segment + 3)) & 0x0F
        return (sign | UInt8(truncatingIfNeeded: segment) << 4 | step) ^ 0x55
    }
}

extension [Int16] {
    fileprivate init(codes linear: (UInt8) -> Int16) { self = (0...255).map { linear(UInt8($0)) } }
}
