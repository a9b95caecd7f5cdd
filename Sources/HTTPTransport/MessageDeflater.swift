import CZlib
package import RelayBase

/// Compresses messages for permessage-deflate (RFC 7692 §7.2.1): raw deflate data, flushed at the end of each message, without the final 00 00 ff ff.
///
/// zlib's memory (window bits 15: about 256 KiB; 9: about 70 KiB at the default memory level) is taken with the first message.
@safe
package struct MessageDeflater: ~Copyable {
    private let windowBits: Int32
    private let level: Int32
    private let memoryLevel: Int32
    private let keepsContext: Bool
    private var stream: UnsafeMutablePointer<z_stream>?
    /// The last bytes made, kept back since they may be the tail that is not sent.
    private var kept = InlineArray<4, UInt8>(repeating: 0)
    private var keptCount = 0
    private var madeAnything = false

    private static let tail: InlineArray<4, UInt8> = [0x00, 0x00, 0xff, 0xff]

    /// - Parameters:
    ///   - windowBits: the negotiated 8 to 15. zlib cannot make raw data for 8; with 9 it never refers back further than 250 bytes
    ///     (512 − 262, its look-ahead), which a window of 256 holds, so 9 stands in for 8.
    ///   - contextTakeover: whether a message may refer back to those before it.
    ///   - level: zlib's 1 (fast) to 9 (small).
    ///   - memoryLevel: zlib's 1 to 9.
    package init(windowBits: Int, contextTakeover: Bool, level: Int = 6, memoryLevel: Int = 8) {
        precondition((8...15).contains(windowBits) && (1...9).contains(level) && (1...9).contains(memoryLevel), "zlib's parameters")
        self.windowBits = Int32(max(windowBits, 9))
        self.level = Int32(level)
        self.memoryLevel = Int32(memoryLevel)
        keepsContext = contextTakeover
        unsafe stream = nil
    }

    deinit {
        if let stream = unsafe stream {
            unsafe deflateEnd(stream)
            unsafe stream.deallocate()
        }
    }

    /// Appends the compressed form of `chunk` to `queue`; the last chunk completes the message. An empty message becomes one byte (§7.2.3.6).
    package mutating func compress(_ chunk: UnsafeRawBufferPointer, isLast: Bool, into queue: inout ByteQueue) throws(MessageDeflateFault) {
        let stream = unsafe try open()
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: chunk.baseAddress?.assumingMemoryBound(to: UInt8.self))
        guard let count = UInt32(exactly: chunk.count) else { throw .tooLarge }
        unsafe stream.pointee.avail_in = count
        let flush = isLast ? Z_SYNC_FLUSH : Z_NO_FLUSH
        var isDone = false
        while !isDone {
            let room = unsafe queue.reserve(keptCount + max(64, min(Int(stream.pointee.avail_in), 16 << 10)))
            for index in 0..<keptCount { unsafe room[index] = kept[index] }
            let made = try unsafe step(stream, UnsafeMutableRawBufferPointer(rebasing: room[keptCount...]), flush)
            isDone = unsafe stream.pointee.avail_out > 0
            unsafe keepBack(room, keptCount + made, &queue)
        }
        unsafe stream.pointee.next_in = nil
        if isLast { try unsafe finish(stream, &queue) }
    }

    /// Gives zlib's memory back, to be taken again with the next message. Only between messages, and not when the context is to be kept.
    package mutating func releaseMemory() {
        guard !keepsContext, keptCount == 0, !madeAnything, let stream = unsafe stream else { return }
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
        unsafe self.stream = nil
    }

    private func step(_ stream: UnsafeMutablePointer<z_stream>, _ room: UnsafeMutableRawBufferPointer, _ flush: Int32) throws(MessageDeflateFault)
        -> Int
    {
        let size = UInt32(clamping: room.count)
        unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_out = size
        let result = unsafe deflate(stream, flush)
        // Z_BUF_ERROR: nothing to do, which an empty message after a flush brings about.
        guard result == Z_OK || result == Z_BUF_ERROR else { throw .internalFailure }
        return unsafe Int(size - stream.pointee.avail_out)
    }

    /// Commits all but the last four of the `count` bytes that stand at the start of `room`.
    private mutating func keepBack(_ room: UnsafeMutableRawBufferPointer, _ count: Int, _ queue: inout ByteQueue) {
        madeAnything = madeAnything || count > 0
        keptCount = min(count, 4)
        for index in 0..<keptCount { unsafe kept[index] = room[count - keptCount + index] }
        queue.commit(count - keptCount)
    }

    private mutating func finish(_ stream: UnsafeMutablePointer<z_stream>, _ queue: inout ByteQueue) throws(MessageDeflateFault) {
        if madeAnything {
            for index in 0..<4 where keptCount != 4 || kept[index] != Self.tail[index] { throw .internalFailure }
        } else {
            queue.append([0x00])
        }
        keptCount = 0
        madeAnything = false
        if !keepsContext, unsafe deflateReset(stream) != Z_OK { throw .internalFailure }
    }

    private mutating func open() throws(MessageDeflateFault) -> UnsafeMutablePointer<z_stream> {
        if let stream = unsafe stream { return unsafe stream }
        // On the heap, because zlib keeps the address.
        let made = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe made.initialize(to: z_stream())
        guard unsafe segue_deflate_init_raw(made, level, windowBits, memoryLevel) == Z_OK else {
            unsafe made.deallocate()
            throw .internalFailure
        }
        unsafe stream = made
        return unsafe made
    }
}
