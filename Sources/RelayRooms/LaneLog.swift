package import RelayBase

/// What forwarding needs to know of a frame.
///
/// The high byte is the media header's layer byte: spatial layer in its high 4 bits, temporal layer in its low 4.
package struct FrameTraits: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// No trait but the layer, as the media header has it.
    package init(layer: UInt8) {
        rawValue = UInt16(layer) << 8
    }

    /// A decoder can start here.
    package static let key = FrameTraits(rawValue: 1)
    /// Nothing refers to this frame: dropping it harms no other.
    package static let discardable = FrameTraits(rawValue: 2)
    /// The stream's decoder configuration: cached, and repeated to whoever missed it.
    package static let configuration = FrameTraits(rawValue: 4)
    /// Of a temporal layer above the base, and no key frame: it refers to nothing before the last base frame, and no base frame refers to it.
    package static let enhancement = FrameTraits(rawValue: 8)

    /// Neither configuration nor enhancement.
    var isBase: Bool { isDisjoint(with: [.configuration, .enhancement]) }

    package var spatialLayer: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 12) }
    package var temporalLayer: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 8) & 0x0F }
}

/// What the log knows of one message without looking into it.
package struct LaneEntry: Sendable {
    /// When the frame arrived at the relay: deadlines count from here.
    package var arrival: MonotonicInstant
    private var offset32: UInt32
    private var byteCount32: UInt32
    private var slot16: UInt16
    package var traits: FrameTraits

    init(arrival: MonotonicInstant, offset: Int, byteCount: Int, slot: StreamSlot, traits: FrameTraits) {
        self.arrival = arrival
        offset32 = UInt32(offset)
        byteCount32 = UInt32(byteCount)
        slot16 = UInt16(slot.index)
        self.traits = traits
    }

    /// Where the message starts in the log's memory, in bytes.
    package var offset: Int {
        get { Int(offset32) }
        set { offset32 = UInt32(newValue) }
    }

    /// The framed message's length: WebSocket header, media header, payload.
    package var byteCount: Int { Int(byteCount32) }

    package var slot: StreamSlot { StreamSlot(Int(slot16)) }
}

/// One lane of a room on one loop: framed messages, written once, in the order of arrival.
///
/// A subscriber is a cursor, the sequence number of the next entry it has not been served. The log is a ring of bytes in which no message wraps,
/// and a ring of entries beside it. It never drops an entry by itself: the owner moves cursors on, then says with ``release(before:)`` what nobody needs.
/// The newest of what nobody needs may stay readable for a while, for whoever comes back: ``release(before:keepingSince:bytesMax:)``.
@safe
package struct LaneLog: ~Copyable {
    private var bytes: UnsafeMutableRawBufferPointer
    private var entries: UnsafeMutableBufferPointer<LaneEntry>
    /// Bytes of memory held.
    package private(set) var byteCapacity = 0
    private var entryCapacity = 0
    private var entryMask: UInt64 { UInt64(truncatingIfNeeded: entryCapacity &- 1) }
    /// Where the next message goes.
    private var writeOffset = 0
    /// The oldest entry kept.
    package private(set) var first: UInt64 = 0
    /// One past the newest entry.
    package private(set) var next: UInt64 = 0
    /// Before it nobody needs anything, as of the last release: what is kept there is for replay.
    package private(set) var needed: UInt64 = 0
    /// The newest entry that lies at the start of the memory while older ones lie behind it.
    private(set) var wrapped: UInt64 = 0
    /// One past the newest base frame.
    private(set) var baseEnd: UInt64 = 0
    package let bytesMax: Int

    /// Small to begin with: a relay holds thousands of rooms of two.
    private static let bytesAtFirst = 8 << 10
    private static let entriesAtFirst = 32
    private static let entriesMax = 1 << 16
    private static let silentCallsMax = 8
    private var silentCalls = 0
    private var nextAtLastCall: UInt64 = 0

    package init(bytesMax: Int) {
        self.bytesMax = max(bytesMax, LaneLog.bytesAtFirst)
        unsafe bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        unsafe entries = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe entries.deallocate()
    }

    package var count: Int { Int(truncatingIfNeeded: next &- first) }

    package subscript(sequence: UInt64) -> LaneEntry {
        precondition(sequence >= first && sequence < next, "the log was read outside of what it keeps")
        return unsafe entries[Int(truncatingIfNeeded: sequence & entryMask)]
    }

    /// The bytes of `byteCount` from `offset`: one message, part of one, or several that lie side by side.
    package func bytes(at offset: Int, count byteCount: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + byteCount)])
    }

    /// Whether a message of `byteCount` bytes can be appended as things stand.
    package func hasRoom(for byteCount: Int) -> Bool {
        next &- first < UInt64(entryCapacity) && place(for: byteCount) != nil
    }

    /// Where a message of `byteCount` bytes would go without wrapping, or `nil`.
    private func place(for byteCount: Int) -> Int? {
        let size = byteCapacity
        guard first < next else { return byteCount <= size ? 0 : nil }
        let oldest = self[first].offset
        if writeOffset > oldest {
            if size &- writeOffset >= byteCount { return writeOffset }
            return byteCount < oldest ? 0 : nil
        }
        // Wrapped: free room ends at the oldest message. Equality would read as empty, hence strictly less.
        return byteCount < oldest &- writeOffset ? writeOffset : nil
    }

    /// Appends room for one message and lends it to be written. The caller made sure of ``hasRoom(for:)``.
    package mutating func append(byteCount: Int, slot: StreamSlot, traits: FrameTraits, arrival: MonotonicInstant)
        -> UnsafeMutableRawBufferPointer
    {
        guard next &- first < UInt64(entryCapacity), let offset = place(for: byteCount) else {
            preconditionFailure("a message was appended to a lane log without room")
        }
        unsafe entries[Int(truncatingIfNeeded: next & entryMask)] = LaneEntry(
            arrival: arrival, offset: offset, byteCount: byteCount, slot: slot, traits: traits)
        if offset < writeOffset { wrapped = next }
        next &+= 1
        if traits.isBase { baseEnd = next }
        writeOffset = offset &+ byteCount
        return unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<writeOffset])
    }

    /// Forgets every entry before `sequence`.
    package mutating func release(before sequence: UInt64) {
        precondition(sequence >= first && sequence <= next, "the log released what it does not keep")
        first = sequence
        needed = sequence
        if first == next { writeOffset = 0 }
    }

    /// Notes that nobody needs what is before `sequence`, and forgets of it what came before `since` or is more than `bytesMax` bytes.
    package mutating func release(before sequence: UInt64, keepingSince since: MonotonicInstant, bytesMax: Int) {
        precondition(sequence >= first && sequence <= next, "the log released what it does not keep")
        needed = sequence
        let end = sequence < next ? self[sequence].offset : writeOffset
        while first < needed {
            let entry = self[first]
            let kept = end > entry.offset ? end &- entry.offset : byteCapacity &- entry.offset &+ end
            if entry.arrival >= since, kept <= bytesMax { break }
            first &+= 1
        }
        if first == next { writeOffset = 0 }
    }

    /// Forgets everything that nobody needs.
    package mutating func releaseRetained() {
        release(before: max(needed, first))
    }

    /// How many bytes the kept messages take.
    package var liveBytes: Int { byteCount(from: first) }

    /// How many bytes the messages from `sequence` on take.
    package func byteCount(from sequence: UInt64) -> Int {
        guard sequence < next else { return 0 }
        let oldest = self[sequence].offset
        return writeOffset > oldest ? writeOffset &- oldest : byteCapacity &- oldest &+ writeOffset
    }

    /// Whether half of the memory is free, for bytes and for entries.
    package var isHalfFree: Bool { liveBytes <= byteCapacity / 2 && count <= entryCapacity / 2 }

    /// Grows so that a message of `byteCount` bytes fits and, where the bound allows it, half of the memory is free. Answers false when the bound forbids
    /// the message.
    package mutating func grow(for byteCount: Int) -> Bool {
        if count >= entryCapacity / 2, !growEntries(), UInt64(entryCapacity) <= next &- first { return false }
        let live = liveBytes
        if live <= byteCapacity / 2, place(for: byteCount) != nil { return true }
        let (needed, overflow) = live.addingReportingOverflow(byteCount)
        guard !overflow, needed < bytesMax, byteCapacity < bytesMax else { return place(for: byteCount) != nil }
        var size = max(byteCapacity, LaneLog.bytesAtFirst)
        while size <= needed { size = min(size * 2, bytesMax) }
        if size == byteCapacity { size = min(size * 2, bytesMax) }
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        var offset = 0
        for sequence in first..<next {
            let index = Int(truncatingIfNeeded: sequence & entryMask)
            let entry = unsafe entries[index]
            unsafe UnsafeMutableRawBufferPointer(rebasing: grown[offset...]).copyMemory(from: bytes(at: entry.offset, count: entry.byteCount))
            unsafe entries[index].offset = offset
            offset += entry.byteCount
        }
        unsafe bytes.deallocate()
        unsafe bytes = grown
        byteCapacity = size
        writeOffset = offset
        return place(for: byteCount) != nil
    }

    private mutating func growEntries() -> Bool {
        guard entryCapacity < LaneLog.entriesMax else { return false }
        let size = max(entryCapacity * 2, LaneLog.entriesAtFirst)
        let grown = UnsafeMutableBufferPointer<LaneEntry>.allocate(capacity: size)
        unsafe grown.initialize(
            repeating: LaneEntry(arrival: .zero, offset: 0, byteCount: 0, slot: StreamSlot(0), traits: []))
        for sequence in first..<next {
            unsafe grown[Int(truncatingIfNeeded: sequence & UInt64(size - 1))] = entries[Int(truncatingIfNeeded: sequence & entryMask)]
        }
        unsafe entries.deallocate()
        unsafe entries = grown
        entryCapacity = size
        return true
    }

    /// Gives the memory back once the log has been empty, with nothing new, at as many calls in a row as ``silentCallsMax``: a silent room holds nothing, and
    /// one that is heard every now and then does not allocate each time.
    package mutating func releaseMemoryIfSilent() {
        silentCalls = first == next && next == nextAtLastCall ? silentCalls + 1 : 0
        nextAtLastCall = next
        guard silentCalls >= LaneLog.silentCallsMax else { return }
        unsafe bytes.deallocate()
        unsafe bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        byteCapacity = 0
        writeOffset = 0
    }
}
