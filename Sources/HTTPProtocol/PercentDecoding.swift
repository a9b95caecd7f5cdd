/// Percent-decoding of URI components (RFC 3986 §2.1), strictly: what two readers could take for two things is refused.
package enum PercentDecoding {
    /// One path segment, or one side of `name=value` of a query. A plus sign stays one.
    ///
    /// - Returns: `nil` for a percent sign without two hexadecimal digits, for bytes that are not UTF-8, and for control characters.
    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var pending: [UInt8] = []
        for byte in text.utf8 {
            if !pending.isEmpty || byte == Grammar.percent {
                pending.append(byte)
                guard pending.count == 3 else { continue }
                guard let high = Grammar.hexValue(pending[1]), let low = Grammar.hexValue(pending[2]) else { return nil }
                bytes.append(high << 4 | low)
                pending.removeAll(keepingCapacity: true)
            } else {
                bytes.append(byte)
            }
        }
        guard pending.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
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
