/// The fixed 16-byte header of every media frame, big-endian, the same bytes for every subscriber.
///
/// ```
///  0        1        2        3        4            8              12             16
///  +--------+--------+--------+--------+------------+--------------+--------------+---------
///  |ver|kind| flags  | layer  | level  | stream u32 | sequence u32 | timestamp u32| payload
/// ```
///
/// The timestamp is the frame's decode time in the stream's timescale (``MediaTimescale``) and wraps; its presentation time is that plus the
/// composition offset, where an extension gives one. The sequence number counts the stream's frames and wraps.
package struct MediaHeader: Hashable, Sendable {
    package static let byteCount = 16
    package static let version: UInt8 = 1

    package var kind: MediaKind
    package var flags: MediaFlags
    package var layer: MediaLayer
    package var level: AudioLevel
    package var stream: StreamID
    package var sequence: UInt32
    package var timestamp: UInt32

    @inlinable
    package init(
        kind: MediaKind, flags: MediaFlags = [], layer: MediaLayer = .base, level: AudioLevel = .silent, stream: StreamID, sequence: UInt32,
        timestamp: UInt32
    ) {
        self.kind = kind
        self.flags = flags
        self.layer = layer
        self.level = level
        self.stream = stream
        self.sequence = sequence
        self.timestamp = timestamp
    }

    /// Reads the header at the start of `bytes`.
    ///
    /// - Throws: `headerTruncated`, `versionUnsupported`, `kindUnknown`, `reservedFlagSet`.
    @inlinable
    package init(parsing bytes: RawSpan) throws(MediaFault) {
        guard bytes.byteCount >= Self.byteCount else { throw .headerTruncated }
        let first = bytes.uint32(at: 0)
        let version = UInt8(truncatingIfNeeded: first >> 28)
        guard version == Self.version else { throw .versionUnsupported(version) }
        let kindBits = UInt8(truncatingIfNeeded: first >> 24) & 0x0F
        guard let kind = MediaKind(rawValue: kindBits) else { throw .kindUnknown(kindBits) }
        let flags = MediaFlags(rawValue: UInt8(truncatingIfNeeded: first >> 16))
        guard !flags.contains(.reserved) else { throw .reservedFlagSet }
        self.init(
            kind: kind, flags: flags, layer: MediaLayer(rawValue: UInt8(truncatingIfNeeded: first >> 8)),
            level: AudioLevel(rawValue: UInt8(truncatingIfNeeded: first)), stream: StreamID(bytes.uint32(at: 4)), sequence: bytes.uint32(at: 8),
            timestamp: bytes.uint32(at: 12))
    }

    /// The same over a buffer pointer that is valid during the call.
    @inlinable
    package init(parsing bytes: UnsafeRawBufferPointer) throws(MediaFault) {
        try self.init(parsing: unsafe RawSpan(_unsafeBytes: bytes))
    }

    /// Writes the 16 bytes at the start of `bytes`.
    ///
    /// - Precondition: `bytes` has room for them and the reserved flag is not set.
    @inlinable
    package func write(into bytes: UnsafeMutableRawBufferPointer) {
        precondition(bytes.count >= Self.byteCount, "room for a media header")
        precondition(!flags.contains(.reserved), "flag 0x80 is reserved")
        unsafe bytes[0] = Self.version << 4 | kind.rawValue
        unsafe bytes[1] = flags.rawValue
        unsafe bytes[2] = layer.rawValue
        unsafe bytes[3] = level.rawValue
        unsafe bytes.storeBigEndian(stream.rawValue, at: 4)
        unsafe bytes.storeBigEndian(sequence, at: 8)
        unsafe bytes.storeBigEndian(timestamp, at: 12)
    }

    /// Sets `flags` in an encoded frame and leaves the others, for example `discontinuity` on a subscriber's first frame after a gap.
    ///
    /// - Precondition: `frame` holds a header; `extensionPresent` and `reserved` are not touched, since they change what the bytes mean.
    @inlinable
    package static func insert(_ flags: MediaFlags, intoEncoded frame: UnsafeMutableRawBufferPointer) {
        precondition(frame.count >= byteCount && flags.isDisjoint(with: [.extensionPresent, .reserved]), "patch an encoded header")
        unsafe frame[1] |= flags.rawValue
    }

    /// Clears `flags` in an encoded frame and leaves the others; same preconditions.
    @inlinable
    package static func remove(_ flags: MediaFlags, fromEncoded frame: UnsafeMutableRawBufferPointer) {
        precondition(frame.count >= byteCount && flags.isDisjoint(with: [.extensionPresent, .reserved]), "patch an encoded header")
        unsafe frame[1] &= ~flags.rawValue
    }

    /// Writes another stream identifier into an encoded frame.
    ///
    /// - Precondition: `frame` holds a header.
    @inlinable
    package static func setStream(_ stream: StreamID, inEncoded frame: UnsafeMutableRawBufferPointer) {
        precondition(frame.count >= byteCount, "patch an encoded header")
        unsafe frame.storeBigEndian(stream.rawValue, at: 4)
    }
}
