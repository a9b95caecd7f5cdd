/// A fingerprint of a whole run: FNV-1a (64 bits), word by word instead of byte by byte, with a shift that lets the high bits count. Two runs that do the same in the same order have the same.
struct RunDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) {
        value = (value ^ word) &* 0x0000_0100_0000_01B3
        value ^= value >> 29
    }
}
