/// The header of one frame (RFC 6455 §5.2), 2 to 14 bytes on the wire:
///
/// ```
///  byte 0            byte 1            then
///  F R R R opcode    M length (7 bit)  length 16 or 64 bit   masking key 32 bit
///  1 1 1 1 4         1 7               0, 2 or 8 bytes       0 or 4 bytes
/// ```
///
/// RSV2 and RSV3 have no field: no extension known here gives them a meaning, so they never pass the decoder.
package struct WebSocketFrameHeader: Equatable, Sendable {
    package static let bytesMax = 14
    /// The longest payload of a control frame (RFC 6455 §5.5).
    package static let controlPayloadBytesMax = 125

    /// FIN: the last frame of its message.
    package var isFinal: Bool
    /// RSV1: with permessage-deflate, "this message is compressed" (RFC 7692 §6).
    package var rsv1: Bool
    package var opcode: WebSocketOpcode
    package var maskingKey: WebSocketMaskingKey?
    /// Bytes, below 2⁶³.
    package var payloadLength: UInt64

    @inlinable
    package init(
        opcode: WebSocketOpcode, payloadLength: UInt64, isFinal: Bool = true, rsv1: Bool = false, maskingKey: WebSocketMaskingKey? = nil
    ) {
        self.isFinal = isFinal
        self.rsv1 = rsv1
        self.opcode = opcode
        self.maskingKey = maskingKey
        self.payloadLength = payloadLength
    }

    /// Bytes that the header takes on the wire.
    @inlinable package var encodedLength: Int {
        let length = payloadLength < 126 ? 2 : payloadLength <= 0xFFFF ? 4 : 10
        return maskingKey == nil ? length : length &+ 4
    }
}

// MARK: - Decoding

extension WebSocketFrameHeader {
    /// What the decoder has to know of the connection.
    package struct Rules: Equatable, Sendable {
        /// This end's role: a server demands masked frames, a client unmasked ones (RFC 6455 §5.1).
        package var role: WebSocketRole
        /// permessage-deflate was agreed on: RSV1 may stand on the first frame of a message (RFC 7692 §6.1).
        package var allowsCompression: Bool

        package init(role: WebSocketRole, allowsCompression: Bool) {
            self.role = role
            self.allowsCompression = allowsCompression
        }
    }

    /// Decodes the header at the start of `bytes`; its size is ``encodedLength`` of the result, since only the shortest form is accepted.
    ///
    /// - Returns: `nil` while the header is incomplete. What the first two bytes have wrong is refused without waiting for the rest.
    package static func decode(_ bytes: UnsafeRawBufferPointer, rules: Rules) throws(WebSocketFault) -> WebSocketFrameHeader? {
        guard bytes.count >= 2 else { return nil }
        let first = unsafe bytes[0]
        let second = unsafe bytes[1]
        guard first & 0x30 == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .reservedOpcode }
        let isFinal = first & 0x80 != 0
        let rsv1 = first & 0x40 != 0
        if rsv1 {
            guard rules.allowsCompression, opcode == .text || opcode == .binary else { throw .reservedBits }
        }
        let shortLength = second & 0x7F
        if opcode.isControl {
            guard isFinal else { throw .controlFrameFragmented }
            guard shortLength <= controlPayloadBytesMax else { throw .controlFrameTooLong }
        }
        let isMasked = second & 0x80 != 0
        guard isMasked == rules.role.receivesMaskedFrames else { throw isMasked ? .frameMasked : .frameNotMasked }

        let extended = shortLength < 126 ? 0 : shortLength == 126 ? 2 : 8
        guard bytes.count >= 2 &+ extended &+ (isMasked ? 4 : 0) else { return nil }
        let length = try unsafe decodeLength(bytes, shortLength: shortLength)
        var key: WebSocketMaskingKey?
        if isMasked {
            key = WebSocketMaskingKey(UInt32(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 2 &+ extended, as: UInt32.self)))
        }
        return WebSocketFrameHeader(opcode: opcode, payloadLength: length, isFinal: isFinal, rsv1: rsv1, maskingKey: key)
    }

    private static func decodeLength(_ bytes: UnsafeRawBufferPointer, shortLength: UInt8) throws(WebSocketFault) -> UInt64 {
        switch shortLength {
        case ..<126:
            return UInt64(shortLength)
        case 126:
            let length = UInt16(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            guard length >= 126 else { throw .lengthNotMinimal }
            return UInt64(length)
        default:
            let length = UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length & 0x8000_0000_0000_0000 == 0 else { throw .lengthHighBit }
            guard length > 0xFFFF else { throw .lengthNotMinimal }
            return length
        }
    }
}

// MARK: - Encoding

extension WebSocketFrameHeader {
    /// Writes the header to the start of `bytes`, which must have room for ``encodedLength`` (at most ``bytesMax``), and answers how many bytes it took.
    @inlinable
    package func encode(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        let count = encodedLength
        precondition(bytes.count >= count, "room for the frame header")
        precondition(payloadLength <= UInt64(Int64.max), "a payload length has its high bit clear")
        precondition(!opcode.isControl || (isFinal && payloadLength <= 125), "a control frame is whole and short")
        unsafe bytes[0] = (isFinal ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | opcode.rawValue
        let maskBit: UInt8 = maskingKey == nil ? 0 : 0x80
        if payloadLength < 126 {
            unsafe bytes[1] = maskBit | UInt8(truncatingIfNeeded: payloadLength)
        } else if payloadLength <= 0xFFFF {
            unsafe bytes[1] = maskBit | 126
            unsafe bytes.storeBytes(of: UInt16(truncatingIfNeeded: payloadLength).bigEndian, toByteOffset: 2, as: UInt16.self)
        } else {
            unsafe bytes[1] = maskBit | 127
            unsafe bytes.storeBytes(of: payloadLength.bigEndian, toByteOffset: 2, as: UInt64.self)
        }
        if let maskingKey {
            unsafe bytes.storeBytes(of: maskingKey.bigEndianValue.bigEndian, toByteOffset: count &- 4, as: UInt32.self)
        }
        return count
    }
}
