package import CLinux
internal import Glibc
internal import RelayBase

/// An IPv4 or IPv6 address with a port.
///
/// Held in 16 bytes in IPv6's order; an IPv4 address is held as its mapped form `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2), so that a client counts as the
/// same whether it came through an IPv4 or a dual-stack listener.
package struct SocketAddress: Hashable, Sendable {
    /// The first and the last eight bytes of the address, most significant first.
    package let high: UInt64
    package let low: UInt64
    package let port: UInt16
    /// The interface of a link-local IPv6 address, else 0.
    package let scope: UInt32

    package init(high: UInt64, low: UInt64, port: UInt16, scope: UInt32 = 0) {
        self.high = high
        self.low = low
        self.port = port
        self.scope = scope
    }

    /// From the four bytes of an IPv4 address, most significant first.
    package init(ipv4 bits: UInt32, port: UInt16) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(bits), port: port)
    }

    package static func loopback(port: UInt16) -> SocketAddress { SocketAddress(ipv4: 0x7F00_0001, port: port) }

    package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// The four bytes of an IPv4 address, most significant first.
    package var ipv4: UInt32? { isIPv4 ? UInt32(truncatingIfNeeded: low) : nil }

    package var isLoopback: Bool {
        isIPv4 ? low & 0xFF00_0000 == 0x7F00_0000 : high == 0 && low == 1
    }

    /// The 16 bytes of the address in network order.
    package var addressBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) } + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    }

    package func withPort(_ port: UInt16) -> SocketAddress {
        SocketAddress(high: high, low: low, port: port, scope: scope)
    }
}

/// What limits per address count by: the whole of an IPv4 address, the /64 of an IPv6 one (a single subscriber is given that much, RFC 6177 §2).
package struct AddressKey: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64
}

extension SocketAddress {
    package var key: AddressKey { AddressKey(high: high, low: isIPv4 ? low : 0) }
}

// MARK: Text

extension SocketAddress: CustomStringConvertible {
    /// From a numeric address (`127.0.0.1`, `::1`, `fe80::1%2`); names are not resolved. `nil` when it is neither.
    package init?(host: String, port: UInt16) {
        var text = host
        var scope: UInt32 = 0
        if let percent = host.firstIndex(of: "%") {
            guard let number = UInt32(host[host.index(after: percent)...]) else { return nil }
            text = String(host[..<percent])
            scope = number
        }
        guard !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        if scope == 0, !host.contains("%"), unsafe inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: UInt32(bigEndian: four.s_addr), port: port)
            return
        }
        var six = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let (high, low) = Self.halves(six)
        self.init(high: high, low: low, port: port, scope: scope)
    }

    /// From `address:port` or `[address]:port`. `nil` when it is neither or the port is no number to 65,535.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(digits) else { return nil }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inner = String(host.dropFirst().dropLast())
            guard inner.contains(":") else { return nil }
            self.init(host: inner, port: port)
        } else {
            guard !host.contains(":") else { return nil }
            self.init(host: String(host), port: port)
        }
    }

    /// The address without the port; IPv6 in the form of RFC 5952.
    package var host: String {
        if let ipv4 {
            return "\(ipv4 >> 24).\(ipv4 >> 16 & 255).\(ipv4 >> 8 & 255).\(ipv4 & 255)"
        }
        var six = in6_addr()
        unsafe withUnsafeMutableBytes(of: &six) { bytes in
            unsafe bytes.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard unsafe inet_ntop(AF_INET6, &six, buffer.baseAddress, socklen_t(buffer.count)) != nil, let start = buffer.baseAddress else {
                return "?"
            }
            return unsafe String(cString: start)
        }
        return scope == 0 ? text : "\(text)%\(scope)"
    }

    package var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}

// MARK: The kernel's form

extension SocketAddress {
    private static func halves(_ address: in6_addr) -> (high: UInt64, low: UInt64) {
        unsafe withUnsafeBytes(of: address) { bytes in
            unsafe (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// `nil` for any family but AF_INET and AF_INET6.
    package init?(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.loadUnaligned(as: sockaddr_in.self) }
            self.init(ipv4: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = unsafe withUnsafeBytes(of: storage) { unsafe $0.loadUnaligned(as: sockaddr_in6.self) }
            let (high, low) = Self.halves(address.sin6_addr)
            self.init(high: high, low: low, port: UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
        default:
            return nil
        }
    }

    package var family: Int32 { isIPv4 ? AF_INET : AF_INET6 }

    /// The kernel's structure and its length for `bind` and `connect`.
    package var storage: (storage: sockaddr_storage, length: socklen_t) {
        var storage = sockaddr_storage()
        if let ipv4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = ipv4.bigEndian
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in.self) }
            return (storage, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_scope_id = scope
        unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
            unsafe bytes.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in6.self) }
        return (storage, socklen_t(MemoryLayout<sockaddr_in6>.size))
    }
}
