import Reactor
import RelayBase
import RelayRooms

/// One thread's rings to the others: frames are written, and whoever got some is woken once for all of them.
struct RingWriter {
    private let rings: [MediaRing]
    private let wakes: [EventFD]
    private var isWritten: [Bool]

    init(_ rings: [MediaRing], wakes: [EventFD]) {
        self.rings = rings
        self.wakes = wakes
        isWritten = Array(repeating: false, count: rings.count)
    }

    /// Room for a frame behind its record, to be committed; `nil` when the ring is full.
    func reserve(_ record: RingRecord, byteCount: Int, to place: Int) -> UnsafeMutableRawBufferPointer? {
        guard let room = unsafe rings[place].tryReserve(RingRecord.headerBytes + byteCount) else { return nil }
        unsafe record.write(into: room)
        return unsafe UnsafeMutableRawBufferPointer(rebasing: room[RingRecord.headerBytes...])
    }

    mutating func commit(to place: Int) {
        rings[place].commit()
        isWritten[place] = true
    }

    mutating func wake() {
        for place in isWritten.indices where isWritten[place] {
            isWritten[place] = false
            if rings[place].producerNeedsWake() { wakes[place].signal() }
        }
    }
}
