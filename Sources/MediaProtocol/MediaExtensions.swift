/// The extension block that follows the header when ``MediaFlags/extensionPresent`` is set. All fields are big-endian, all items start on 4 bytes.
///
/// ```
///  0                2               4
///  +----------------+---------------+
///  | words u16      | reserved u16  |   words: 4-byte words of items that follow; reserved: 0
///  +--------+-------+---------------+
///  | type u8| 0 u8  | length u16    |   one item: length counts the bytes of the value
///  +--------+-------+---------------+
///  | value, then 0 to 3 zero bytes  |
///  +--------------------------------+
/// ```
///
/// The first item's value lies 8-byte aligned in the frame. Items of unknown type are skipped; a known type appears at most once.
package enum ExtensionType: UInt8, CaseIterable, Sendable {
    /// ``NTPTime`` of capture, 8 bytes.
    case captureTime = 1
    /// Presentation time minus decode time in ticks of the stream's timescale, a signed 32-bit integer.
    case compositionOffset = 2
    /// Where the packets lie in the payload: ``PacketTable``, 16 bytes each.
    case packetTable = 3
    /// Bytes for the application, opaque to the relay.
    case attachments = 4
    /// How long the frame plays, in ticks of the stream's timescale, 32 bits.
    case duration = 5

    /// Whether a value may be `byteCount` bytes long.
    @inlinable
    func allows(byteCount: Int) -> Bool {
        switch self {
        case .captureTime: byteCount == 8
        case .compositionOffset, .duration: byteCount == 4
        case .packetTable: byteCount > 0 && byteCount % PacketDescription.byteCount == 0
        case .attachments: true
        }
    }
}

/// One item: its type, and where in the frame its value lies.
package struct ExtensionItem: Hashable, Sendable {
    package let type: UInt8
    package let value: Range<Int>

    @inlinable
    init(type: UInt8, value: Range<Int>) {
        self.type = type
        self.value = value
    }
}

/// Walks the items of a frame's extension block, checking each against its type.
package struct ExtensionReader: ~Escapable {
    static let blockHeadByteCount = 4
    static let itemHeadByteCount = 4

    private let frame: RawSpan
    private var offset: Int
    private let end: Int
    private var seen: UInt8 = 0

    /// Where the payload starts: the end of the block.
    package var payloadOffset: Int { end }

    /// - Parameter frame: a whole frame, header first, whose flags say that an extension block follows.
    /// - Throws: `extensionBlockTruncated`, `extensionReservedNotZero`.
    @_lifetime(copy frame)
    package init(frame: RawSpan) throws(MediaFault) {
        let first = MediaHeader.byteCount + Self.blockHeadByteCount
        guard frame.byteCount >= first else { throw .extensionBlockTruncated }
        let end = first + 4 * Int(frame.uint16(at: MediaHeader.byteCount))
        guard end <= frame.byteCount else { throw .extensionBlockTruncated }
        guard frame.uint16(at: MediaHeader.byteCount + 2) == 0 else { throw .extensionReservedNotZero }
        self.frame = frame
        self.offset = first
        self.end = end
    }

    /// The next item, `nil` after the last.
    ///
    /// - Throws: `extensionItemTruncated`, `extensionItemLength`, `extensionItemRepeated`, `extensionReservedNotZero`; the reader is then at its end.
    package mutating func next() throws(MediaFault) -> ExtensionItem? {
        guard offset < end else { return nil }
        let start = offset
        offset = end
        // Blocks are whole words, so an item's 4-byte head always fits.
        let type = frame.byte(at: start)
        let byteCount = Int(frame.uint16(at: start + 2))
        let valueStart = start + Self.itemHeadByteCount
        let paddedEnd = valueStart + (byteCount + 3) & ~3
        guard paddedEnd <= end else { throw .extensionItemTruncated(type: type) }
        guard frame.byte(at: start + 1) == 0 else { throw .extensionReservedNotZero }
        for index in valueStart + byteCount..<paddedEnd where frame.byte(at: index) != 0 {
            throw .extensionReservedNotZero
        }
        if let known = ExtensionType(rawValue: type) {
            guard known.allows(byteCount: byteCount) else { throw .extensionItemLength(type: type, byteCount: byteCount) }
            guard seen & 1 << type == 0 else { throw .extensionItemRepeated(type: type) }
            seen |= 1 << type
        }
        offset = paddedEnd
        return ExtensionItem(type: type, value: valueStart..<valueStart + byteCount)
    }
}

/// Everything that a frame's known extensions say. Ranges are offsets in the frame.
package struct MediaExtensions: Hashable, Sendable {
    package var captureTime: NTPTime?
    package var compositionOffset: Int32?
    package var duration: UInt32?
    package var packetTable: Range<Int>?
    package var attachments: Range<Int>?
    /// Where the payload starts.
    package var payloadOffset: Int

    /// Reads the extensions of `frame`, whose header was read already; a frame without the flag has none, and costs nothing.
    ///
    /// - Throws: what ``ExtensionReader`` throws, and `packetOutsidePayload`.
    package init(frame: RawSpan, flags: MediaFlags) throws(MediaFault) {
        payloadOffset = MediaHeader.byteCount
        guard flags.contains(.extensionPresent) else { return }
        var reader = try ExtensionReader(frame: frame)
        payloadOffset = reader.payloadOffset
        while let item = try reader.next() {
            guard let type = ExtensionType(rawValue: item.type) else { continue }
            switch type {
            case .captureTime: captureTime = NTPTime(rawValue: frame.uint64(at: item.value.lowerBound))
            case .compositionOffset: compositionOffset = Int32(bitPattern: frame.uint32(at: item.value.lowerBound))
            case .duration: duration = frame.uint32(at: item.value.lowerBound)
            case .packetTable: packetTable = item.value
            case .attachments: attachments = item.value
            }
        }
        if let packetTable {
            let table = PacketTable(frame.extracting(packetTable))
            try table.validate(payloadByteCount: frame.byteCount - payloadOffset)
        }
    }

    /// What follows header and extensions of the frame that these were read of.
    @_lifetime(copy frame)
    package func payload(of frame: RawSpan) -> RawSpan { frame.extracting(payloadOffset..<frame.byteCount) }

    /// The frame's packet table; `nil` when it is one packet.
    @_lifetime(copy frame)
    package func table(of frame: RawSpan) -> PacketTable? {
        guard let packetTable else { return nil }
        return PacketTable(frame.extracting(packetTable))
    }
}
