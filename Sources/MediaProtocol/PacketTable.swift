/// Where one packet lies in a payload that carries several: the layout of Core Audio's packet descriptions, big-endian on the wire.
///
/// ```
///  | offset i64 | variable frames u32 | size u32 |
/// ```
package struct PacketDescription: Hashable, Sendable {
    package static let byteCount = 16

    /// Bytes from the start of the payload.
    package var startOffset: Int64
    /// Frames in the packet, where their number varies from packet to packet; otherwise 0.
    package var variableFramesInPacket: UInt32
    /// Bytes of the packet.
    package var dataByteSize: UInt32

    package init(startOffset: Int64, variableFramesInPacket: UInt32 = 0, dataByteSize: UInt32) {
        self.startOffset = startOffset
        self.variableFramesInPacket = variableFramesInPacket
        self.dataByteSize = dataByteSize
    }

    /// Where the packet lies; `nil` when any of it is outside a payload of `payloadByteCount` bytes.
    package func range(payloadByteCount: Int) -> Range<Int>? {
        guard let start = Int(exactly: startOffset), start >= 0, start <= payloadByteCount, let size = Int(exactly: dataByteSize),
            size <= payloadByteCount - start
        else { return nil }
        return start..<start + size
    }

    func write(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.storeBigEndian(startOffset, at: 0)
        unsafe bytes.storeBigEndian(variableFramesInPacket, at: 8)
        unsafe bytes.storeBigEndian(dataByteSize, at: 12)
    }
}

/// The packet table of a frame: the value of the extension of type ``ExtensionType/packetTable``.
package struct PacketTable: ~Escapable {
    private let bytes: RawSpan

    /// - Parameter bytes: the extension's value; ``ExtensionReader`` has checked that it is whole entries.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    package var count: Int { bytes.byteCount / PacketDescription.byteCount }

    /// - Precondition: `index` is within 0..<`count`.
    package subscript(index: Int) -> PacketDescription {
        precondition(index >= 0 && index < count, "an entry of the packet table")
        let start = index * PacketDescription.byteCount
        return PacketDescription(
            startOffset: Int64(bitPattern: bytes.uint64(at: start)), variableFramesInPacket: bytes.uint32(at: start + 8),
            dataByteSize: bytes.uint32(at: start + 12))
    }

    /// - Throws: `packetOutsidePayload` for the first entry that is not wholly inside the payload.
    package func validate(payloadByteCount: Int) throws(MediaFault) {
        for index in 0..<count where self[index].range(payloadByteCount: payloadByteCount) == nil {
            throw .packetOutsidePayload(index: index)
        }
    }
}

/// The packets of a payload that came without a table: equal parts, and the remainder in the last one.
package struct EqualPacketSplit: Sendable {
    package let payloadByteCount: Int
    package let count: Int

    /// - Returns: `nil` unless there is at least one packet, and no more packets than bytes (an empty payload is one empty packet).
    package init?(payloadByteCount: Int, packetCount: Int) {
        guard payloadByteCount >= 0, packetCount > 0, packetCount <= max(payloadByteCount, 1) else { return nil }
        self.payloadByteCount = payloadByteCount
        count = packetCount
    }

    /// - Precondition: `index` is within 0..<`count`.
    package subscript(index: Int) -> Range<Int> {
        precondition(index >= 0 && index < count, "a packet of the payload")
        let size = payloadByteCount / count
        let start = index * size
        return start..<(index == count - 1 ? payloadByteCount : start + size)
    }
}

/// Sizes of successive packets of a constant bit rate whose packets are not a whole number of bytes: the fraction is carried from packet to packet.
///
/// MP3 of 160 kbit/s at 44.1 kHz, 1,152 frames a packet, is 522.449 bytes a packet: 522 and 523 in turn.
package struct ConstantRatePacketSizes: Sendable {
    private let whole: UInt64
    private let remainder: UInt64
    private let denominator: UInt64
    private var carried: UInt64 = 0

    /// - Returns: `nil` when the sample rate is 0.
    package init?(bitsPerSecond: UInt32, sampleRate: UInt32, framesPerPacket: UInt32) {
        guard sampleRate > 0 else { return nil }
        denominator = 8 * UInt64(sampleRate)
        let numerator = UInt64(bitsPerSecond) * UInt64(framesPerPacket)
        whole = numerator / denominator
        remainder = numerator % denominator
    }

    /// Bytes of the next packet.
    package mutating func next() -> UInt64 {
        carried += remainder
        guard carried >= denominator else { return whole }
        carried -= denominator
        return whole + 1
    }
}
