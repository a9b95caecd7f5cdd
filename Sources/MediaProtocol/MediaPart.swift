/// A piece of a frame that was cut so that other streams' messages can go between (media kind 5).
///
/// ```
///  | header: kind 5, flags 0, all else the frame's | offset u32 | total u32 | bytes of the frame from offset |
/// ```
///
/// `total` counts the bytes of the whole frame, its header included. The parts of a frame come in order and without gaps; other frames of the same
/// stream do not come between them.
package struct MediaPart: Hashable, Sendable {
    /// Header and fields: what stands before the frame's bytes.
    package static let overheadByteCount = MediaHeader.byteCount + 8

    package let header: MediaHeader
    /// Where in the frame the bytes belong.
    package let offset: Int
    /// The length of the frame.
    package let total: Int
    /// How many bytes of the frame are here: they follow ``overheadByteCount`` bytes.
    package let byteCount: Int

    package var isFirst: Bool { offset == 0 }
    package var isLast: Bool { offset + byteCount == total }

    /// Reads one whole binary message of kind 5.
    ///
    /// - Throws: what the header throws, `kindUnknown` for another kind, `partTruncated`, `partFlags`, `partOutsideFrame`.
    package init(parsing bytes: RawSpan) throws(MediaFault) {
        header = try MediaHeader(parsing: bytes)
        guard header.kind == .part else { throw .kindUnknown(header.kind.rawValue) }
        guard header.flags.isEmpty else { throw .partFlags }
        guard bytes.byteCount > MediaPart.overheadByteCount else { throw .partTruncated }
        // Both are u32: their sum with a count of bytes in memory stays far below the range of Int.
        offset = Int(bytes.uint32(at: MediaHeader.byteCount))
        total = Int(bytes.uint32(at: MediaHeader.byteCount + 4))
        byteCount = bytes.byteCount - MediaPart.overheadByteCount
        guard total >= MediaHeader.byteCount, offset + byteCount <= total else { throw .partOutsideFrame }
    }

    /// The same over a buffer pointer that is valid during the call.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(MediaFault) {
        try self.init(parsing: unsafe RawSpan(_unsafeBytes: bytes))
    }

    /// Writes what stands before a part's bytes.
    ///
    /// - Parameter frameHeader: the first 16 bytes of the frame that is cut, valid.
    /// - Precondition: `bytes` has room for ``overheadByteCount``; `offset < total ≤ UInt32.max`.
    package static func writeHead(
        of frameHeader: UnsafeRawBufferPointer, offset: Int, total: Int, into bytes: UnsafeMutableRawBufferPointer
    ) {
        precondition(bytes.count >= overheadByteCount && frameHeader.count >= MediaHeader.byteCount, "room for a part's head")
        precondition(offset >= 0 && offset < total && total <= Int(UInt32.max), "a part lies inside its frame")
        unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: frameHeader[..<MediaHeader.byteCount]))
        unsafe bytes[0] = MediaHeader.version << 4 | MediaKind.part.rawValue
        unsafe bytes[1] = 0
        unsafe bytes.storeBigEndian(UInt32(offset), at: MediaHeader.byteCount)
        unsafe bytes.storeBigEndian(UInt32(total), at: MediaHeader.byteCount + 4)
    }
}
