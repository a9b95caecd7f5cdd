/// The 32-bit key that a client masks one frame with (RFC 6455 §5.3). The value is big-endian: the first byte on the wire is the top byte.
///
/// It must be unpredictable, so it comes from the caller, who has a secure generator.
package struct WebSocketMaskingKey: Hashable, Sendable {
    package var bigEndianValue: UInt32

    @inlinable
    package init(_ bigEndianValue: UInt32) {
        self.bigEndianValue = bigEndianValue
    }
}

/// Masks or unmasks the payload of one frame in place, eight bytes at a time, however the payload is cut into chunks (RFC 6455 §5.3).
///
/// Masking is its own inverse. After each chunk the key is kept turned by the chunk's length, so the next chunk goes on in phase.
package struct WebSocketMasker: Equatable, Sendable {
    /// The key as it stands for the next byte: that byte's mask is on top.
    @usableFromInline var key: UInt32

    @inlinable
    package init(_ key: WebSocketMaskingKey) {
        self.key = key.bigEndianValue
    }

    package mutating func apply(to bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        let count = bytes.count
        // Both in memory order, so that one exclusive-or covers four and eight key bytes on either byte order.
        let half = key.bigEndian
        let word = UInt64(half) << 32 | UInt64(half)
        var offset = 0
        while count &- offset >= 8 {
            unsafe base.storeBytes(of: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ word, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        if count &- offset >= 4 {
            unsafe base.storeBytes(of: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self) ^ half, toByteOffset: offset, as: UInt32.self)
            offset &+= 4
        }
        // Offset is a multiple of four here: the rest begins with the key's top byte.
        while offset < count {
            let mask = UInt8(truncatingIfNeeded: key >> 24)
            unsafe base.storeBytes(of: base.load(fromByteOffset: offset, as: UInt8.self) ^ mask, toByteOffset: offset, as: UInt8.self)
            key = key << 8 | key >> 24
            offset &+= 1
        }
    }

    /// The same on a span.
    package mutating func apply(to bytes: inout MutableRawSpan) {
        unsafe bytes.withUnsafeMutableBytes { unsafe apply(to: $0) }
    }
}
