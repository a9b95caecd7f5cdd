/// A growable queue of bytes over one block of raw memory: append at the tail, consume at the head.
///
/// Consumed room is reused by sliding what is left to the front once the head has passed half of the block, so a queue in steady use allocates nothing.
/// The caller bounds what it appends: ``count`` is there to be compared with a limit.
@safe
package struct ByteQueue: ~Copyable {
    @usableFromInline var block: UnsafeMutableRawBufferPointer
    @usableFromInline var head = 0
    @usableFromInline var tail = 0

    package init() {
        unsafe block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    deinit {
        unsafe block.deallocate()
    }

    @inlinable package var count: Int { tail &- head }
    @inlinable package var isEmpty: Bool { head == tail }

    /// Bytes of memory held, used or not.
    package var capacity: Int { unsafe block.count }

    /// What is queued, oldest first. Valid until the next mutating call.
    @inlinable
    package var readable: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: block[head..<tail])
    }

    /// The same bytes, for decoding in place.
    @inlinable
    package var readableInPlace: UnsafeMutableRawBufferPointer {
        mutating get { unsafe UnsafeMutableRawBufferPointer(rebasing: block[head..<tail]) }
    }

    /// The queued bytes as a span that cannot outlive the borrow of the queue.
    package var span: RawSpan {
        @_lifetime(borrow self)
        get {
            let span = unsafe RawSpan(_unsafeBytes: readable)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Makes room for at least `count` further bytes and lends it; ``commit(_:)`` says how many were written.
    package mutating func reserve(_ count: Int) -> UnsafeMutableRawBufferPointer {
        if unsafe block.count - tail < count { makeRoom(for: count) }
        return unsafe UnsafeMutableRawBufferPointer(rebasing: block[tail...])
    }

    /// Takes `count` bytes of the reserved room into the queue.
    package mutating func commit(_ count: Int) {
        unsafe precondition(count >= 0 && count <= block.count - tail, "commit within the reserved room")
        tail += count
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let room = unsafe reserve(bytes.count)
        unsafe room.copyMemory(from: bytes)
        commit(bytes.count)
    }

    package mutating func append(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    package mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Drops the oldest `count` bytes.
    package mutating func consume(_ count: Int) {
        precondition(count >= 0 && count <= self.count, "consume what is there")
        head += count
        if head == tail {
            head = 0
            tail = 0
        }
    }

    package mutating func removeAll() {
        head = 0
        tail = 0
    }

    /// Gives the memory back; only an empty queue does, so that an idle connection holds nothing.
    package mutating func releaseIfEmpty() {
        guard isEmpty, unsafe block.count > 0 else { return }
        unsafe block.deallocate()
        unsafe block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    private mutating func makeRoom(for more: Int) {
        let live = count
        let room = unsafe block.count
        if head > 0, room - live >= more, head >= room / 2 {
            // The regions may overlap, which copying to the block's start allows.
            if let from = unsafe readable.baseAddress { unsafe block.baseAddress?.copyMemory(from: from, byteCount: live) }
        } else {
            let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(live + more, room * 2, 64), alignment: 16)
            if live > 0 { unsafe grown.copyMemory(from: readable) }
            unsafe block.deallocate()
            unsafe block = grown
        }
        head = 0
        tail = live
    }
}
