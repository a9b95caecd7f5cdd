/// Percent-decoding of URI components (RFC 3986 §2.1), strictly: what two readers could take for two things is refused.
package enum PercentDecoding {
    /// One path segment, or one side of `name=value` of a query. A plus sign stays one.
    ///
    /// - Returns: `nil` for a percent sign without two hexadecimal digits, for bytes that are not UTF-8, and for control characters.
    package static func decode(_ text: some StringProtocol) -> String? {
        guard let bytes = bytes(text.utf8), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The bytes that are meant, whatever they are.
    ///
    /// - Returns: `nil` for a percent sign without two hexadecimal digits.
    static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount)
        var characters = text.makeIterator()
        while let character = characters.next() {
            guard character == Grammar.percent else {
                bytes.append(character)
                continue
            }
            guard let high = characters.next().flatMap(Grammar.hexValue), let low = characters.next().flatMap(Grammar.hexValue) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The members of a query, `name=value` joined by `&`, in order; one without an equals sign has an empty value.
    ///
    /// - Returns: `nil` when one of them cannot be decoded, or has no name.
    package static func query(_ text: String?) -> [(name: String, value: String)]? {
        var members: [(name: String, value: String)] = []
        for member in (text ?? "").split(separator: "&") {
            let sides = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(sides[0]), !name.isEmpty, let value = sides.count > 1 ? decode(sides[1]) : "" else { return nil }
            members.append((name, value))
        }
        return members
    }
}
