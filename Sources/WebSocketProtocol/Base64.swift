/// Base64 with padding (RFC 4648 §4), as much as the handshake's two fields need.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                result.append(place <= group.count ? character(UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * place)) & 0x3F) : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Strict about alphabet, length and padding; the unused bits of the last character may be anything, as RFC 4648 §3.5 leaves it.
    ///
    /// - Returns: `nil` when `text` is no base64.
    static func decode(_ text: String.UTF8View) -> [UInt8]? {
        let characters = Array(text)
        guard characters.count % 4 == 0 else { return nil }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(characters.count / 4 * 3)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for character in characters.dropLast(padding) {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        return result
    }

    private static func character(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
