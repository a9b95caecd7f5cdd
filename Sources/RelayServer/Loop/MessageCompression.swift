import HTTPTransport
import RelayBase
import WebSocketProtocol

/// permessage-deflate of one WebSocket (RFC 7692): for text on request, never for media. Its memory comes with the first message that uses it.
final class MessageCompression {
    private let agreed: PerMessageDeflate
    private var deflater: MessageDeflater
    private var inflater: MessageInflater
    private var scratch = ByteQueue()

    /// Shorter messages grow rather than shrink.
    private static let compressedBytesMin = 64

    init(_ agreed: PerMessageDeflate) {
        self.agreed = agreed
        deflater = MessageDeflater(windowBits: agreed.serverMaxWindowBits, contextTakeover: !agreed.serverNoContextTakeover)
        inflater = MessageInflater(windowBits: agreed.clientMaxWindowBits, contextTakeover: !agreed.clientNoContextTakeover)
    }

    /// Inflates a whole message.
    func inflate(_ payload: UnsafeRawBufferPointer, bound: Int, isText: Bool) throws(WebSocketFault) -> [UInt8] {
        defer {
            scratch.removeAll()
            scratch.releaseIfEmpty()
        }
        do {
            try unsafe inflater.inflate(payload, isLast: true, limit: bound, into: &scratch)
        } catch {
            switch error {
            case .tooLarge: throw .inflatedTooBig
            default: throw .deflateInvalid
            }
        }
        let bytes = unsafe Array(scratch.readable)
        if isText {
            var validator = UTF8Validator()
            guard unsafe validator.append(bytes.span.bytes), validator.isComplete else { throw .textNotUTF8 }
        }
        return bytes
    }

    /// Appends a message to `queue`, compressed when that is worth it.
    func append(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, to queue: inout ByteQueue) {
        guard payload.count >= MessageCompression.compressedBytesMin,
            (try? unsafe deflater.compress(payload, isLast: true, into: &scratch)) != nil
        else {
            scratch.removeAll()
            unsafe WebSocketFrameEncoder.append(opcode, payload, maskingKey: nil, to: &queue)
            return
        }
        unsafe WebSocketFrameEncoder.append(opcode, scratch.readable, rsv1: true, maskingKey: nil, to: &queue)
        scratch.removeAll()
        scratch.releaseIfEmpty()
    }
}

extension Channel {
    func inflate(_ payload: UnsafeRawBufferPointer, bound: Int, isText: Bool) throws(WebSocketFault) -> [UInt8] {
        guard let deflate else { throw .reservedBits }
        return try unsafe deflate.inflate(payload, bound: bound, isText: isText)
    }

    /// Appends one message to the control lane.
    func append(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        if let deflate {
            unsafe deflate.append(opcode, payload, to: &control)
        } else {
            unsafe WebSocketFrameEncoder.append(opcode, payload, maskingKey: nil, to: &control)
        }
    }
}
