/// A fingerprint of a whole run: FNV-1a (64 bits) over words. Two runs that do the same in the same order have the same.
struct RunDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) {
        for shift: UInt64 in stride(from: 0, to: 64, by: 8) {
            value = (value ^ (word >> shift & 0xFF)) &* 0x0000_0100_0000_01B3
        }
    }
}
