/// A certificate's serial number as lower-case hexadecimal digits, two for each octet, without separators.
///
/// The authority makes 16 random octets whose top bits are 01, so that the number is positive and always the same length
/// (RFC 5280 §4.1.2.2 allows up to 20 octets).
package struct CertificateSerial: Hashable, Sendable, CustomStringConvertible {
    package static let octetsMax = 20

    package let octets: [UInt8]

    /// Takes a serial number as people copy it: any case, colons between octets. `nil` for anything else, zero and over 20 octets included.
    package init?(_ text: String) {
        var digits: [UInt8] = []
        for byte in text.utf8.prefix(Self.octetsMax * 3) where byte != UInt8(ascii: ":") {
            guard let digit = Self.value(ofDigit: byte) else { return nil }
            digits.append(digit)
        }
        guard text.utf8.count <= Self.octetsMax * 3, !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        self.init(octets: stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    /// `nil` when there are no octets, over 20, or only zeros.
    package init?(octets: [UInt8]) {
        guard (1...Self.octetsMax).contains(octets.count), octets.contains(where: { $0 != 0 }) else { return nil }
        self.octets = octets
    }

    package var description: String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Names certificates of the index: one by its serial number, or all that go by one label.
package enum CertificateSelector: Hashable, Sendable, CustomStringConvertible {
    case serial(CertificateSerial)
    case label(String)

    package var description: String {
        switch self {
        case .serial(let serial): "the serial number \(serial)"
        case .label(let label): "the label '\(label)'"
        }
    }
}
