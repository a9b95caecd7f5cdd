/// A certificate's serial number as lower-case hexadecimal digits, two for each octet, without separators.
///
/// The authority makes 16 random octets whose top bits are 01, so that the number is positive and always the same length
/// (RFC 5280 §4.1.2.2 allows up to 20 octets).
package struct CertificateSerial: Hashable, Sendable, CustomStringConvertible {
    package static let octetsMax = 20

    package let octets: [UInt8]

    /// Takes a serial number as people copy it: any case, colons between octets. `nil` for anything else, zero and over 20 octets included.
    package init?(_ text: String) {
        guard let octets = Hexadecimal.decode(text, octetsMax: Self.octetsMax) else { return nil }
        self.init(octets: octets)
    }

    /// `nil` when there are no octets, over 20, or only zeros.
    package init?(octets: [UInt8]) {
        guard (1...Self.octetsMax).contains(octets.count), octets.contains(where: { $0 != 0 }) else { return nil }
        self.octets = octets
    }

    package var description: String { Hexadecimal.encode(octets) }
}

/// Names certificates of the index: one by its serial number, or all that go by one label or are about one key.
package enum CertificateSelector: Hashable, Sendable, CustomStringConvertible {
    case serial(CertificateSerial)
    case label(String)
    case key(KeyFingerprint)

    package var description: String {
        switch self {
        case .serial(let serial): "the serial number \(serial)"
        case .label(let label): "the label '\(label)'"
        case .key(let fingerprint): "the key \(fingerprint)"
        }
    }
}
