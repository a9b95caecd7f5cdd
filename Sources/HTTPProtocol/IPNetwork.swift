/// A network in CIDR notation: an address and how many of its leading bits count (RFC 4632 §3.1, RFC 4291 §2.3).
package struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    package enum Fault: Error, Sendable, Hashable {
        case invalidAddress
        case invalidPrefixLength
        /// `10.1.2.3/8`: a slip more often than not, so it is said instead of masked.
        case hostBitsSet
    }

    package let address: IPAddress
    package let prefixLength: Int

    /// Reads `address "/" length`, or an address alone for that one host. An IPv4-mapped network of 96 bits or more becomes the IPv4 network.
    package init(_ text: String) throws(Fault) {
        let parts = Grammar.split(text, at: Grammar.slash)
        guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { throw .invalidAddress }
        let width = address.bitWidth
        var length = width
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, let value = Grammar.decimal(parts[1]), value <= width else { throw .invalidPrefixLength }
            length = value
        }
        guard address.masked(to: length) == address else { throw .hostBitsSet }
        let unmapped = address.unmapped
        if unmapped.bitWidth != width, length >= 96 {
            length -= 96
            self.address = unmapped
        } else {
            self.address = address
        }
        prefixLength = length
    }

    /// Whether `address` lies in the network. An IPv4-mapped address is judged as the IPv4 address it stands for.
    package func contains(_ address: IPAddress) -> Bool {
        let candidate = address.unmapped
        if candidate.bitWidth == self.address.bitWidth { return candidate.masked(to: prefixLength) == self.address }
        // An IPv6 network wider than the mapped block (`::/0`) covers the mapped form of IPv4 as well.
        return address.bitWidth == self.address.bitWidth && address.masked(to: prefixLength) == self.address
    }

    package var description: String { "\(address)/\(prefixLength)" }
}

extension IPAddress {
    /// 32 or 128.
    package var bitWidth: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// The address with all bits after the first `length` cleared.
    package func masked(to length: Int) -> IPAddress {
        switch self {
        case .v4(let value): .v4(value & UInt32(truncatingIfNeeded: Self.mask64(length + 32)))
        case .v6(let high, let low): .v6(high: high & Self.mask64(min(length, 64)), low: low & Self.mask64(max(length - 64, 0)))
        }
    }

    /// `length` leading ones of 64 bits.
    private static func mask64(_ length: Int) -> UInt64 {
        length == 0 ? 0 : ~UInt64(0) << UInt64(64 - length)
    }
}
