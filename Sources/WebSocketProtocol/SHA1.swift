/// SHA-1 (FIPS 180-4 §6.1), for one purpose: the checksum in `Sec-WebSocket-Accept` (RFC 6455 §4.2.2), by which a client knows that the server
/// understood the handshake. It protects nothing, and nothing here may use it as a security function.
enum SHA1 {
    /// The 20 bytes of the digest.
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var padded = message
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        let bitCount = UInt64(message.count) &* 8
        for shift in stride(from: 56, through: 0, by: -8) { padded.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift))) }

        var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)
        for start in stride(from: 0, to: padded.count, by: 64) {
            let (a, b, c, d, e) = compress(padded[start..<start + 64], state)
            state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
        }
        var result: [UInt8] = []
        result.reserveCapacity(20)
        for word in [state.0, state.1, state.2, state.3, state.4] {
            for shift in stride(from: 24, through: 0, by: -8) { result.append(UInt8(truncatingIfNeeded: word >> UInt32(shift))) }
        }
        return result
    }

    private static func compress(
        _ block: ArraySlice<UInt8>, _ state: (UInt32, UInt32, UInt32, UInt32, UInt32)
    ) -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        var schedule: [UInt32] = []
        schedule.reserveCapacity(80)
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            schedule.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        for t in 16..<80 {
            schedule.append(rotate(schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16], by: 1))
        }
        var (a, b, c, d, e) = state
        for t in 0..<80 {
            let mixed: UInt32 =
                switch t {
                case ..<20: ((b & c) | (~b & d)) &+ 0x5A82_7999
                case ..<40: (b ^ c ^ d) &+ 0x6ED9_EBA1
                case ..<60: ((b & c) | (b & d) | (c & d)) &+ 0x8F1B_BCDC
                default: (b ^ c ^ d) &+ 0xCA62_C1D6
                }
            let next = rotate(a, by: 5) &+ mixed &+ e &+ schedule[t]
            (a, b, c, d, e) = (next, a, rotate(b, by: 30), c, d)
        }
        return (a, b, c, d, e)
    }

    private static func rotate(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
