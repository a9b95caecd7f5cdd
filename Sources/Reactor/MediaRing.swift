internal import Synchronization

/// A bounded ring of byte records from one loop to another: one producer, one consumer, no lock, no copy but the producer's writing.
///
/// A record is contiguous: an 8-byte header with its length, then its bytes, padded to 8. One that does not fit before the end of the memory starts at
/// its beginning again, and the gap is marked to be skipped. Both indices count bytes for ever; the producer publishes what it wrote by a releasing
/// store of its index, the consumer gives room back by a releasing store of its own. Each lies in its own cache lines together with its owner's private copy
/// of the other's index, which is refreshed only when the ring seems full (or empty).
///
/// **Waking.** The caller writes the eventfd once per batch: the producer asks ``producerNeedsWake()`` after its last commit, the consumer asks
/// ``consumerMayWait()`` before it sleeps. Both exchange the same flag, so one of the two comes second and sees what the other did: either the
/// producer is told to wake, or the consumer is told that there is more.
@safe
package final class MediaRing: @unchecked Sendable {  // Safe: one thread per side; what they share are atomics.
    // The producer's side is touched by the one producing thread only, the consumer's by the one consuming thread. Record bytes pass from one to the
    // other by a releasing store and an acquiring load of the producer's index, and back by those of the consumer's.

    /// One side's private state and the index that it publishes. Accessed by pointer: fields of a class would cost an exclusivity check each.
    private struct Side: ~Copyable {
        let index = Atomic<UInt64>(0)
        /// The own index, without an atomic read.
        var position: UInt64 = 0
        /// The other side's index as last seen.
        var othersPosition: UInt64 = 0
        /// Bytes after `position` that the reserved or peeked record takes, gap and header included; 0 when there is none.
        var pending: UInt64 = 0
        /// The gap within `pending`.
        var gap: UInt64 = 0
        /// The room that was reserved for the record's bytes.
        var room = 0
    }

    private static let headerBytes = 8
    /// Two lines of 64 bytes, since processors fetch them in pairs.
    private static let lineBytes = 128
    private static let gapMark = UInt32.max

    private let producer: UnsafeMutablePointer<Side>
    private let consumer: UnsafeMutablePointer<Side>
    private let consumerWaits: UnsafeMutablePointer<Atomic<Bool>>
    private let bytes: UnsafeMutableRawPointer
    private let block: UnsafeMutableRawPointer
    private let mask: UInt64

    /// Bytes of memory for records; a power of two.
    package let capacity: Int

    /// The longest record: one of this length fits into an empty ring wherever the indices stand.
    package var recordBytesMax: Int { capacity / 2 - Self.headerBytes }

    /// - Parameter capacity: bytes for records and their headers, rounded up to a power of two; at least 64, at most 1 GiB.
    package init(capacity: Int) {
        precondition(capacity >= 64 && capacity <= 1 << 30, "a ring of 64 bytes to 1 GiB")
        let rounded = 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
        self.capacity = rounded
        mask = UInt64(rounded - 1)
        precondition(MemoryLayout<Side>.size <= Self.lineBytes, "a side fits into its lines")
        unsafe block = .allocate(byteCount: 3 * Self.lineBytes + rounded, alignment: Self.lineBytes)
        unsafe producer = block.bindMemory(to: Side.self, capacity: 1)
        unsafe producer.initialize(to: Side())
        unsafe consumer = (block + Self.lineBytes).bindMemory(to: Side.self, capacity: 1)
        unsafe consumer.initialize(to: Side())
        unsafe consumerWaits = (block + 2 * Self.lineBytes).bindMemory(to: Atomic<Bool>.self, capacity: 1)
        // The consumer starts asleep: the very first batch wakes it.
        unsafe consumerWaits.initialize(to: Atomic(true))
        unsafe bytes = block + 3 * Self.lineBytes
    }

    deinit {
        unsafe producer.deinitialize(count: 1)
        unsafe consumer.deinitialize(count: 1)
        unsafe consumerWaits.deinitialize(count: 1)
        unsafe block.deallocate()
    }

    private static func padded(_ count: Int) -> UInt64 { UInt64((count + 7) & ~7) }
}

// MARK: Producer

extension MediaRing {
    /// Lends room for a record of up to `count` bytes, or `nil` when the ring is full or `count` is above ``recordBytesMax``. A reservation that is
    /// not committed is replaced by the next one.
    package func tryReserve(_ count: Int) -> UnsafeMutableRawBufferPointer? {
        precondition(count >= 0, "a record has a length")
        guard count <= recordBytesMax else { return nil }
        let needed = UInt64(Self.headerBytes) + Self.padded(count)
        let position = unsafe producer.pointee.position
        let offset = position & mask
        let untilEnd = UInt64(capacity) - offset
        let gap = untilEnd < needed ? untilEnd : 0
        let limit = UInt64(capacity) - needed - gap
        if unsafe position - producer.pointee.othersPosition > limit {
            unsafe producer.pointee.othersPosition = consumer.pointee.index.load(ordering: .acquiring)
            guard unsafe position - producer.pointee.othersPosition <= limit else { return nil }
        }
        unsafe producer.pointee.pending = gap + needed
        unsafe producer.pointee.gap = gap
        unsafe producer.pointee.room = count
        let start = Int(gap > 0 ? 0 : offset) + Self.headerBytes
        return unsafe UnsafeMutableRawBufferPointer(start: bytes + start, count: count)
    }

    /// Publishes the reserved record.
    ///
    /// - Parameter count: how many of the reserved bytes it has; all of them when `nil`.
    package func commit(_ count: Int? = nil) {
        let (pending, gap, room) = unsafe (producer.pointee.pending, producer.pointee.gap, producer.pointee.room)
        precondition(pending > 0, "commit follows a reservation")
        let count = count ?? room
        precondition(count >= 0 && count <= room, "commit within the reserved room")
        var position = unsafe producer.pointee.position
        if gap > 0 {
            unsafe bytes.storeBytes(of: Self.gapMark, toByteOffset: Int(position & mask), as: UInt32.self)
            position += gap
        }
        unsafe bytes.storeBytes(of: UInt32(count), toByteOffset: Int(position & mask), as: UInt32.self)
        position += UInt64(Self.headerBytes) + Self.padded(count)
        unsafe producer.pointee.position = position
        unsafe producer.pointee.pending = 0
        unsafe producer.pointee.index.store(position, ordering: .releasing)
    }

    /// Asked after the last commit of a batch: true when the consumer is asleep (or about to be) and the caller must wake it.
    package func producerNeedsWake() -> Bool {
        unsafe consumerWaits.pointee.exchange(false, ordering: .acquiringAndReleasing)
    }
}

// MARK: Consumer

extension MediaRing {
    /// The oldest record, or `nil` when there is none. It is valid, and comes again, until ``release()``.
    package func peek() -> UnsafeRawBufferPointer? {
        let position = unsafe consumer.pointee.position
        if unsafe position == consumer.pointee.othersPosition {
            unsafe consumer.pointee.othersPosition = producer.pointee.index.load(ordering: .acquiring)
            guard unsafe position != consumer.pointee.othersPosition else { return nil }
        }
        var gap: UInt64 = 0
        var offset = Int(position & mask)
        var count = unsafe bytes.load(fromByteOffset: offset, as: UInt32.self)
        if count == Self.gapMark {
            // A gap is published together with the record behind it.
            gap = UInt64(capacity - offset)
            offset = 0
            count = unsafe bytes.load(fromByteOffset: 0, as: UInt32.self)
        }
        unsafe consumer.pointee.pending = gap + UInt64(Self.headerBytes) + Self.padded(Int(count))
        return unsafe UnsafeRawBufferPointer(start: bytes + offset + Self.headerBytes, count: Int(count))
    }

    /// Gives the room of the peeked record back.
    package func release() {
        let pending = unsafe consumer.pointee.pending
        precondition(pending > 0, "release follows a peek")
        let position = unsafe consumer.pointee.position + pending
        unsafe consumer.pointee.position = position
        unsafe consumer.pointee.pending = 0
        unsafe consumer.pointee.index.store(position, ordering: .releasing)
    }

    /// Asked when the ring was found empty, before the consumer sleeps: false when more has come meanwhile and it must go on draining.
    package func consumerMayWait() -> Bool {
        _ = unsafe consumerWaits.pointee.exchange(true, ordering: .acquiringAndReleasing)
        let position = unsafe consumer.pointee.position
        unsafe consumer.pointee.othersPosition = producer.pointee.index.load(ordering: .acquiring)
        guard unsafe position != consumer.pointee.othersPosition else { return true }
        unsafe consumerWaits.pointee.store(false, ordering: .relaxed)
        return false
    }
}
