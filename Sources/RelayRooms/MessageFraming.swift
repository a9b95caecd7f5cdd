import RelayBase

/// The WebSocket header that goes before every frame in a lane log (RFC 6455 §5.2): final, binary, unmasked.
///
/// It is written once a frame, not once a subscriber.
enum MessageFraming {
    static func headerByteCount(payload count: Int) -> Int {
        count < 126 ? 2 : count <= 0xFFFF ? 4 : 10
    }

    static func writeHeader(payload count: Int, into bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes[0] = 0x82
        switch headerByteCount(payload: count) {
        case 2:
            unsafe bytes[1] = UInt8(truncatingIfNeeded: count)
        case 4:
            unsafe bytes[1] = 126
            unsafe bytes.storeBytes(of: UInt16(truncatingIfNeeded: count).bigEndian, toByteOffset: 2, as: UInt16.self)
        default:
            unsafe bytes[1] = 127
            unsafe bytes.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
    }

    /// The whole length of the message that starts `bytes`: only for messages that ``writeHeader(payload:into:)`` framed.
    static func messageByteCount(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch unsafe bytes[1] {
        case 126: unsafe 4 + Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        case 127: unsafe 10 + Int(UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self)))
        default: unsafe 2 + Int(bytes[1])
        }
    }

    /// Writes header and frame into exactly the room they need.
    static func writeMessage(_ frame: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) {
        unsafe writeHeader(payload: frame.count, into: room)
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[headerByteCount(payload: frame.count)...]).copyMemory(from: frame)
    }

    static func append(_ frame: UnsafeRawBufferPointer, to queue: inout ByteQueue) {
        let byteCount = headerByteCount(payload: frame.count) + frame.count
        unsafe writeMessage(frame, into: queue.reserve(byteCount))
        queue.commit(byteCount)
    }

    /// Visits the payloads of messages that ``append(_:to:)`` framed one behind the other.
    static func forEachFrame(_ messages: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var offset = 0
        while offset < messages.count {
            let message = unsafe UnsafeRawBufferPointer(rebasing: messages[offset...])
            let byteCount = unsafe messageByteCount(message)
            let header = unsafe headerByteCount(ofMessage: message)
            unsafe body(UnsafeRawBufferPointer(rebasing: message[header..<byteCount]))
            offset += byteCount
        }
    }

    /// The payload of the message that starts `bytes`.
    static func payload(ofMessage bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[headerByteCount(ofMessage: bytes)..<messageByteCount(bytes)])
    }

    static func frames(_ messages: UnsafeRawBufferPointer) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        unsafe forEachFrame(messages) { unsafe frames.append(Array($0)) }
        return frames
    }

    static func headerByteCount(ofMessage bytes: UnsafeRawBufferPointer) -> Int {
        switch unsafe bytes[1] {
        case 126: 4
        case 127: 10
        default: 2
        }
    }
}
