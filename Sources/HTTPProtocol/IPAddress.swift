/// An IPv4 or IPv6 address as numbers, most significant byte first.
package enum IPAddress: Sendable, Hashable {
    case v4(UInt32)
    case v6(high: UInt64, low: UInt64)

    /// Reads dotted decimal (four parts without leading zeros) or the text form of RFC 4291 §2.2. No zone, no brackets; `nil` for anything else.
    package init?(_ text: String) {
        if text.utf8.contains(Grammar.colon) {
            guard let address = IPv6Text.parse(text) else { return nil }
            self = address
        } else {
            guard let value = Self.dottedDecimal(text) else { return nil }
            self = .v4(value)
        }
    }

    /// Reads 4 or 16 bytes in network order, as a socket address has them; `nil` for another length.
    package init?(networkOrder bytes: RawSpan) {
        switch bytes.byteCount {
        case 4: self = .v4(bytes.bigEndian32(0))
        case 16: self = .v6(high: bytes.bigEndian64(0), low: bytes.bigEndian64(8))
        default: return nil
        }
    }

    /// The IPv4 address inside an IPv4-mapped IPv6 address (`::ffff:0:0/96`, RFC 4291 §2.5.5.2); any other address as it is.
    /// A dual-stack socket reports IPv4 peers in the mapped form.
    package var unmapped: IPAddress {
        if case .v6(0, let low) = self, low >> 32 == 0xFFFF { return .v4(UInt32(truncatingIfNeeded: low)) }
        return self
    }

    /// `127.0.0.0/8`, `::1`, or the former mapped.
    package var isLoopback: Bool {
        switch unmapped {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    static func dottedDecimal(_ text: some StringProtocol) -> UInt32? {
        let parts = Grammar.split(text, at: UInt8(ascii: "."))
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            let digits = part.utf8
            guard digits.count <= 3, digits.count == 1 || digits.first != UInt8(ascii: "0"), let number = Grammar.decimal(part), number <= 255 else {
                return nil
            }
            value = value << 8 | UInt32(number)
        }
        return value
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or the canonical form of RFC 5952.
    package var description: String {
        switch self {
        case .v4(let value): Self.dottedDecimalText(value)
        case .v6(let high, let low): IPv6Text.text(high: high, low: low)
        }
    }

    static func dottedDecimalText(_ value: UInt32) -> String {
        "\(value >> 24).\(value >> 16 & 0xFF).\(value >> 8 & 0xFF).\(value & 0xFF)"
    }
}

/// The text form of IPv6 addresses: reading by RFC 4291 §2.2, writing by RFC 5952.
enum IPv6Text {
    static func parse(_ text: String) -> IPAddress? {
        // "::" stands at most once, and for at least one group.
        var before: [UInt16] = []
        var after: [UInt16] = []
        if let gap = doubleColon(in: text) {
            let left = text.utf8.prefix(gap)
            let right = text.utf8.dropFirst(gap + 2)
            guard groups(Substring(left), isEnd: false, into: &before), groups(Substring(right), isEnd: true, into: &after),
                before.count + after.count <= 7
            else { return nil }
        } else {
            guard groups(text[...], isEnd: true, into: &before), before.count == 8 else { return nil }
        }
        let all = before + Array(repeating: 0, count: 8 - before.count - after.count) + after
        return .v6(high: join(all[0..<4]), low: join(all[4..<8]))
    }

    static func text(high: UInt64, low: UInt64) -> String {
        if high == 0, low >> 32 == 0xFFFF { return "::ffff:" + IPAddress.dottedDecimalText(UInt32(truncatingIfNeeded: low)) }
        let groups = (0..<8).map { index in
            UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> UInt64(48 - index % 4 * 16))
        }
        let gap = longestZeroRun(groups)
        var text = ""
        var index = 0
        while index < 8 {
            if let gap, index == gap.lowerBound {
                text += "::"
                index = gap.upperBound
                continue
            }
            if index > 0, gap?.upperBound != index { text += ":" }
            text += String(groups[index], radix: 16)
            index += 1
        }
        return text
    }

    private static func doubleColon(in text: String) -> Int? {
        var previous: UInt8 = 0
        for (offset, byte) in text.utf8.enumerated() {
            if byte == Grammar.colon, previous == Grammar.colon { return offset - 1 }
            previous = byte
        }
        return nil
    }

    /// Groups of one to four hex digits parted by single colons; the last may be dotted decimal at the end of the address.
    private static func groups(_ text: Substring, isEnd: Bool, into result: inout [UInt16]) -> Bool {
        guard !text.isEmpty else { return true }
        let parts = Grammar.split(text, at: Grammar.colon)
        for (index, part) in parts.enumerated() {
            if isEnd, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let value = IPAddress.dottedDecimal(part) else { return false }
                result.append(UInt16(value >> 16))
                result.append(UInt16(truncatingIfNeeded: value))
                continue
            }
            guard (1...4).contains(part.utf8.count), result.count < 8 else { return false }
            var group: UInt16 = 0
            for byte in part.utf8 {
                guard let value = Grammar.hexValue(byte) else { return false }
                group = group << 4 | UInt16(value)
            }
            result.append(group)
        }
        return true
    }

    private static func join(_ groups: ArraySlice<UInt16>) -> UInt64 {
        groups.reduce(0) { $0 << 16 | UInt64($1) }
    }

    /// The first longest run of two or more zero groups (RFC 5952 §4.2).
    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var best: Range<Int>?
        var start = 0
        for index in 0...groups.count where index == groups.count || groups[index] != 0 {
            if index - start >= 2, index - start > (best?.count ?? 0) { best = start..<index }
            start = index + 1
        }
        return best
    }
}
