/// A packet that waits, without its bytes.
package struct StoredPacket: Sendable, Hashable {
    package var sequence: UInt32
    /// Of its first sample, on the buffer's own time axis.
    package var ticks: Int64
    /// What it plays; 0 when that is not known.
    package var durationTicks: Int64
    /// When it came, in microseconds.
    package var arrival: Int64
    /// A new timeline begins with it.
    package var isDiscontinuity = false
    package var isSilence = false
    package fileprivate(set) var byteCount = 0

    package init(sequence: UInt32, ticks: Int64, durationTicks: Int64, arrival: Int64) {
        self.sequence = sequence
        self.ticks = ticks
        self.durationTicks = durationTicks
        self.arrival = arrival
    }

    package var endTicks: Int64 { ticks + durationTicks }

    fileprivate func isBefore(_ other: StoredPacket) -> Bool {
        ticks != other.ticks ? ticks < other.ticks : Int32(bitPattern: sequence &- other.sequence) < 0
    }
}

/// Packets in the order in which they play. Bounded in packets, bytes and duration; beyond a bound the oldest go, never the one that came.
///
/// Allocates nothing after `init`. Storing is constant time when packets come in order, else linear in how far the packet is out of order.
package struct PacketStore: ~Copyable {
    package let packetsMax: Int
    package let bytesMax: Int
    package let durationTicksMax: Int64

    private var arena: PacketArena
    private var slots: [StoredPacket]
    /// Where the bytes of each slot lie in the arena.
    private var offsets: [Int]
    /// Slots that hold nothing: the first ``freeCount``.
    private var free: [UInt16]
    private var freeCount: Int
    /// Slots in the order of play, from ``head`` on, round the end.
    private var order: [UInt16]
    private var head = 0
    package private(set) var count = 0
    package private(set) var byteCount = 0
    /// What all packets together play.
    package private(set) var durationTicks: Int64 = 0

    /// What of a configuration is out of these is brought into them.
    package static var packetsMaxRange: ClosedRange<Int> { 2...4096 }
    package static var bytesMaxRange: ClosedRange<Int> { 1024...16 << 20 }

    package init(packetsMax: Int, bytesMax: Int, durationTicksMax: Int64) {
        self.packetsMax = min(max(packetsMax, Self.packetsMaxRange.lowerBound), Self.packetsMaxRange.upperBound)
        self.bytesMax = min(max(bytesMax, Self.bytesMaxRange.lowerBound), Self.bytesMaxRange.upperBound)
        self.durationTicksMax = max(durationTicksMax, 1)
        arena = PacketArena(bytesMax: self.bytesMax)
        slots = Array(repeating: StoredPacket(sequence: 0, ticks: 0, durationTicks: 0, arrival: 0), count: self.packetsMax)
        offsets = Array(repeating: 0, count: self.packetsMax)
        free = []
        free.reserveCapacity(self.packetsMax)
        for slot in 0..<self.packetsMax { free.append(UInt16(slot)) }
        freeCount = self.packetsMax
        order = Array(repeating: 0, count: self.packetsMax)
    }

    package enum Outcome: Sendable, Hashable {
        /// - Parameter flushed: how many of the oldest went for it.
        case stored(flushed: Int)
        case duplicate
        /// More bytes than may be held.
        case tooLarge
    }

    package mutating func insert(_ packet: StoredPacket, payload: RawSpan) -> Outcome {
        guard payload.byteCount <= bytesMax else { return .tooLarge }
        var place = count
        while place > 0 {
            let other = slots[Int(order[wrapped(place - 1)])]
            if other.ticks == packet.ticks && other.sequence == packet.sequence { return .duplicate }
            if !packet.isBefore(other) { break }
            place -= 1
        }
        var flushed = 0
        while count > 0, !fits(packet, payload.byteCount) {
            removeFirst()
            place -= 1
            flushed += 1
        }
        place = max(place, 0)

        freeCount -= 1
        let slot = free[freeCount]
        var stored = packet
        stored.byteCount = payload.byteCount
        arena.append(payload, owner: Int(slot), offsets: &offsets)
        slots[Int(slot)] = stored
        var behind = count
        while behind > place {
            order[wrapped(behind)] = order[wrapped(behind - 1)]
            behind -= 1
        }
        order[wrapped(place)] = slot
        count += 1
        byteCount += payload.byteCount
        durationTicks += packet.durationTicks
        return .stored(flushed: flushed)
    }

    private func fits(_ packet: StoredPacket, _ bytes: Int) -> Bool {
        count < packetsMax && byteCount + bytes <= bytesMax && durationTicks + packet.durationTicks <= durationTicksMax && arena.hasRoom(for: bytes)
    }

    private func wrapped(_ place: Int) -> Int {
        let index = head + place
        return index < packetsMax ? index : index - packetsMax
    }

    /// - Precondition: `place` is within 0..<`count`; 0 is the oldest.
    package subscript(place: Int) -> StoredPacket {
        precondition(place >= 0 && place < count, "a packet that is stored")
        return slots[Int(order[wrapped(place)])]
    }

    package var first: StoredPacket? { count > 0 ? self[0] : nil }
    package var last: StoredPacket? { count > 0 ? self[count - 1] : nil }

    /// The bytes of a packet.
    @_lifetime(borrow self)
    package func payload(_ place: Int) -> RawSpan {
        precondition(place >= 0 && place < count, "a packet that is stored")
        let slot = Int(order[wrapped(place)])
        return arena.bytes(offset: offsets[slot], byteCount: slots[slot].byteCount)
    }

    package mutating func removeFirst() {
        precondition(count > 0, "a packet that is stored")
        let slot = order[head]
        let packet = slots[Int(slot)]
        arena.remove(offset: offsets[Int(slot)], byteCount: packet.byteCount)
        free[freeCount] = slot
        freeCount += 1
        head = wrapped(1)
        count -= 1
        byteCount -= packet.byteCount
        durationTicks -= packet.durationTicks
    }

    package mutating func removeAll() {
        while count > 0 { removeFirst() }
        arena.removeAll()
    }
}
