import CZlib
package import RelayBase

/// Inflates messages of permessage-deflate (RFC 7692 §7.2.2), bounded and piece by piece: fragments go in as they come.
///
/// Any number of deflate blocks may make a message, with BFINAL set or not (§7.2.3.3 to §7.2.3.5). zlib's memory (about 7 KiB, and the window of up to
/// 32 KiB) is taken with the first message.
@safe
package struct MessageInflater: ~Copyable {
    private let windowBits: Int32
    private let keepsContext: Bool
    private var stream: UnsafeMutablePointer<z_stream>?
    private var made = 0
    private var isInMessage = false
    /// The last byte taken so far ended a block with BFINAL set.
    private var isAtFinalEnd = false
    private var fault: MessageDeflateFault?

    private static let outputChunkBytes = 16 << 10

    /// - Parameters:
    ///   - windowBits: the negotiated 8 to 15. A reference back past that is corrupt, unless what it names was inflated in the same call.
    ///   - contextTakeover: whether the peer's messages may refer back to those before.
    package init(windowBits: Int, contextTakeover: Bool) {
        precondition((8...15).contains(windowBits), "RFC 7692 §7.1.2")
        self.windowBits = Int32(windowBits)
        keepsContext = contextTakeover
        unsafe stream = nil
    }

    deinit {
        if let stream = unsafe stream {
            unsafe inflateEnd(stream)
            unsafe stream.deallocate()
        }
    }

    /// Appends what `chunk` inflates to; the last chunk completes the message.
    ///
    /// - Parameter limit: the most bytes that the whole message may inflate to. A message that would pass it is cut off there, whatever its ratio.
    /// - Throws: a fault, which each later call throws again.
    package mutating func inflate(
        _ chunk: UnsafeRawBufferPointer, isLast: Bool, limit: Int, into queue: inout ByteQueue
    ) throws(MessageDeflateFault) {
        if let fault { throw fault }
        do throws(MessageDeflateFault) {
            let stream = unsafe try open()
            isInMessage = true
            try unsafe run(stream, chunk, limit, &queue)
            if isLast { try unsafe finish(stream, limit, &queue) }
        } catch {
            fault = error
            throw error
        }
    }

    /// Gives zlib's memory back, to be taken again with the next message. Only between messages, and not when the context is to be kept.
    package mutating func releaseMemory() {
        guard !keepsContext, !isInMessage, let stream = unsafe stream else { return }
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
        unsafe self.stream = nil
    }

    private mutating func run(
        _ stream: UnsafeMutablePointer<z_stream>, _ chunk: UnsafeRawBufferPointer, _ limit: Int, _ queue: inout ByteQueue
    ) throws(MessageDeflateFault) {
        guard unsafe !chunk.isEmpty else { return }
        guard let count = UInt32(exactly: chunk.count) else { throw .tooLarge }
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: chunk.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe stream.pointee.avail_in = count
        isAtFinalEnd = false
        while true {
            // One byte more than allowed, so that a message of just the limit is told from one that is longer.
            let roomMax = UInt32(min(max(limit - made, 0), Self.outputChunkBytes) + 1)
            let room = unsafe queue.reserve(Int(roomMax))
            unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.avail_out = roomMax
            let result = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
            let count = unsafe Int(roomMax - stream.pointee.avail_out)
            guard made + count <= limit else { throw .tooLarge }
            made += count
            queue.commit(count)
            switch result {
            case Z_OK, Z_BUF_ERROR:
                if unsafe stream.pointee.avail_in == 0, unsafe stream.pointee.avail_out > 0 { return }
                if result == Z_BUF_ERROR { throw .corrupt }
            case Z_STREAM_END:
                // A block with BFINAL set ends no message (§7.2.3.4): inflating goes on behind it, with the window as it is.
                guard unsafe inflateResetKeep(stream) == Z_OK else { throw .internalFailure }
                if unsafe stream.pointee.avail_in == 0 {
                    isAtFinalEnd = true
                    return
                }
            case Z_MEM_ERROR:
                throw .internalFailure
            default:
                throw .corrupt
            }
        }
    }

    private mutating func finish(
        _ stream: UnsafeMutablePointer<z_stream>, _ limit: Int, _ queue: inout ByteQueue
    ) throws(MessageDeflateFault) {
        if !isAtFinalEnd {
            let tail: InlineArray<4, UInt8> = [0x00, 0x00, 0xff, 0xff]
            try unsafe tail.span.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(MessageDeflateFault) in
                try unsafe run(stream, bytes, limit, &queue)
            }
            // 128 says that a block has just ended, the low bits that nothing of the next has been taken.
            guard unsafe stream.pointee.data_type & 0x87 == 128 else { throw .truncated }
        }
        unsafe stream.pointee.next_in = nil
        made = 0
        isInMessage = false
        isAtFinalEnd = false
        if !keepsContext, unsafe inflateReset(stream) != Z_OK { throw .internalFailure }
    }

    private mutating func open() throws(MessageDeflateFault) -> UnsafeMutablePointer<z_stream> {
        if let stream = unsafe stream { return unsafe stream }
        // On the heap, because zlib keeps the address.
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        guard unsafe segue_inflate_init_raw(made, windowBits) == Z_OK else {
            unsafe made.deallocate()
            throw .internalFailure
        }
        unsafe stream = made
        return unsafe made
    }
}
