package import RelayBase

/// Builds an extension block item by item, then writes it behind a frame's header. One writer is used again and again: ``removeAll()`` keeps its memory.
package struct ExtensionWriter: ~Copyable {
    private var items = ByteQueue()

    package init() {}

    /// Bytes that ``write(to:)`` will append; 0 when there is no item, in which case the flag must not be set either.
    package var byteCount: Int { items.isEmpty ? 0 : ExtensionReader.blockHeadByteCount + items.count }

    package var isEmpty: Bool { items.isEmpty }

    package mutating func removeAll() {
        items.removeAll()
    }

    package mutating func append(captureTime: NTPTime) throws(MediaFault) {
        try appendInteger(captureTime.rawValue, type: .captureTime)
    }

    package mutating func append(compositionOffset: Int32) throws(MediaFault) {
        try appendInteger(compositionOffset, type: .compositionOffset)
    }

    package mutating func append(duration: UInt32) throws(MediaFault) {
        try appendInteger(duration, type: .duration)
    }

    /// Bytes of the application's own, at most 65,535.
    package mutating func append(attachments: RawSpan) throws(MediaFault) {
        try appendItem(type: ExtensionType.attachments.rawValue, value: attachments)
    }

    /// One entry for each packet of the payload, in order; at most 4,095. The reader refuses entries that point outside the payload.
    package mutating func append(packetTable: borrowing [PacketDescription]) throws(MediaFault) {
        let byteCount = packetTable.count.multipliedReportingOverflow(by: PacketDescription.byteCount)
        guard !byteCount.overflow, byteCount.partialValue > 0, let length = UInt16(exactly: byteCount.partialValue) else {
            throw .extensionItemLength(type: ExtensionType.packetTable.rawValue, byteCount: byteCount.partialValue)
        }
        try appendHead(type: ExtensionType.packetTable.rawValue, length: length)
        let room = unsafe items.reserve(byteCount.partialValue)
        for index in packetTable.indices {
            unsafe packetTable[index].write(into: UnsafeMutableRawBufferPointer(rebasing: room[(index * PacketDescription.byteCount)...]))
        }
        items.commit(byteCount.partialValue)
    }

    /// Any item; for types that this version does not know.
    package mutating func appendItem(type: UInt8, value: RawSpan) throws(MediaFault) {
        guard let length = UInt16(exactly: value.byteCount) else { throw .extensionItemLength(type: type, byteCount: value.byteCount) }
        try appendHead(type: type, length: length)
        items.append(value)
        let padding = -value.byteCount & 3
        let room = unsafe items.reserve(padding)
        for index in 0..<padding { unsafe room[index] = 0 }
        items.commit(padding)
    }

    /// Appends the block to `queue`, right behind a header that has ``MediaFlags/extensionPresent``. Appends nothing when there is no item.
    package borrowing func write(to queue: inout ByteQueue) {
        guard !items.isEmpty else { return }
        let head = unsafe queue.reserve(byteCount)
        unsafe head.storeBigEndian(UInt16(items.count / 4), at: 0)
        unsafe head.storeBigEndian(UInt16(0), at: 2)
        queue.commit(ExtensionReader.blockHeadByteCount)
        unsafe queue.append(items.readable)
    }

    private mutating func appendInteger<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, type: ExtensionType) throws(MediaFault) {
        let byteCount = MemoryLayout<Value>.size
        try appendHead(type: type.rawValue, length: UInt16(byteCount))
        let room = unsafe items.reserve(byteCount)
        unsafe room.storeBigEndian(value, at: 0)
        items.commit(byteCount)
    }

    private mutating func appendHead(type: UInt8, length: UInt16) throws(MediaFault) {
        let words = (items.count + ExtensionReader.itemHeadByteCount + Int(length) + 3) / 4
        guard words <= Int(UInt16.max) else { throw .extensionBlockTooLarge }
        let head = unsafe items.reserve(ExtensionReader.itemHeadByteCount)
        unsafe head[0] = type
        unsafe head[1] = 0
        unsafe head.storeBigEndian(length, at: 2)
        items.commit(ExtensionReader.itemHeadByteCount)
    }
}
