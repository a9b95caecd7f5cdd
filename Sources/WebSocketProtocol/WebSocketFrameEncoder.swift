package import RelayBase

/// Writes whole frames to a queue. The media path only encodes headers into its own log; this is for everything else.
package enum WebSocketFrameEncoder {
    /// Appends one frame with a copy of `payload`.
    ///
    /// - Parameters:
    ///   - rsv1: the payload is the compressed form of the message (RFC 7692 §6.1), only on a message's first frame.
    ///   - maskingKey: `nil` for a server; for a client a fresh unpredictable key (RFC 6455 §5.3).
    package static func append(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true, rsv1: Bool = false, maskingKey: WebSocketMaskingKey?,
        to queue: inout ByteQueue
    ) {
        let header = WebSocketFrameHeader(
            opcode: opcode, payloadLength: UInt64(payload.count), isFinal: isFinal, rsv1: rsv1, maskingKey: maskingKey)
        let room = unsafe queue.reserve(header.encodedLength + payload.count)
        let start = unsafe header.encode(into: room)
        let body = unsafe UnsafeMutableRawBufferPointer(rebasing: room[start..<start + payload.count])
        unsafe body.copyMemory(from: payload)
        if let maskingKey {
            var masker = WebSocketMasker(maskingKey)
            unsafe masker.apply(to: body)
        }
        queue.commit(start + payload.count)
    }

    /// The same from a span.
    package static func append(
        _ opcode: WebSocketOpcode, _ payload: RawSpan, isFinal: Bool = true, rsv1: Bool = false, maskingKey: WebSocketMaskingKey?,
        to queue: inout ByteQueue
    ) {
        unsafe payload.withUnsafeBytes {
            unsafe append(opcode, $0, isFinal: isFinal, rsv1: rsv1, maskingKey: maskingKey, to: &queue)
        }
    }

    /// Appends a close frame (RFC 6455 §5.5.1).
    ///
    /// - Parameters:
    ///   - code: `nil` for a close frame without a body, which cannot have a reason either.
    ///   - reason: cut at a character's edge to the 123 bytes that fit.
    package static func appendClose(_ code: WebSocketCloseCode?, reason: String = "", maskingKey: WebSocketMaskingKey?, to queue: inout ByteQueue) {
        var payload: [UInt8] = []
        if let code {
            precondition(code.mayBeReceived, "a close code that may stand on the wire")
            payload.reserveCapacity(WebSocketFrameHeader.controlPayloadBytesMax)
            payload.append(UInt8(truncatingIfNeeded: code.rawValue >> 8))
            payload.append(UInt8(truncatingIfNeeded: code.rawValue))
            for scalar in reason.unicodeScalars {
                let encoded = UTF8.encode(scalar)
                guard let encoded, payload.count + encoded.count <= WebSocketFrameHeader.controlPayloadBytesMax else { break }
                payload.append(contentsOf: encoded)
            }
        }
        unsafe payload.withUnsafeBytes { unsafe append(.close, $0, maskingKey: maskingKey, to: &queue) }
    }
}
