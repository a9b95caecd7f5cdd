/// A code as the platform's audio services write it: four ASCII characters, or the number that they are in big-endian order (`OSType`).
package struct FourCharacterCode: Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// - Returns: `nil` unless the text is four ASCII characters.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 4, bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        rawValue = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The four characters; those that are not printable ASCII are dots.
    package var text: String {
        String(
            decoding: [24, 16, 8, 0].map { shift in
                let byte = UInt8(truncatingIfNeeded: rawValue >> UInt32(shift))
                return (0x20...0x7E).contains(byte) ? byte : UInt8(ascii: ".")
            }, as: UTF8.self)
    }
}
