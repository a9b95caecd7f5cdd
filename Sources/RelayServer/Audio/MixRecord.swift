import RelayBase
import RelayRooms

/// What goes through a ring from a worker for a room's mix, told from frames of streams by a slot that there cannot be: a place of the room's mix on that loop, which the loop
/// gives a slot when it first hears of it.
struct MixRecord {
    private static let frameMark = 0x8000_0000
    private static let moveMark = 0x4000_0000
    private static let stereoBit = 0x100
    /// Behind the ring's header: who is moved, and by which of its entries into the mix.
    static let moveBytes = 8

    let room: Handle
    let place: Int
    let channels: Int
    /// From here on, somebody's mix comes in this place.
    let isMove: Bool

    static func slot(frameOf place: Int, channels: Int) -> StreamSlot {
        StreamSlot(frameMark | place | (channels == 2 ? stereoBit : 0))
    }

    static func slot(moveTo place: Int, channels: Int) -> StreamSlot {
        StreamSlot(moveMark | place | (channels == 2 ? stereoBit : 0))
    }

    static func isOne(_ record: UnsafeRawBufferPointer) -> Bool {
        unsafe RingRecord(reading: record).slot.index >= moveMark
    }

    init(reading record: UnsafeRawBufferPointer) {
        let ring = unsafe RingRecord(reading: record)
        room = ring.room
        isMove = ring.slot.index & MixRecord.frameMark == 0
        place = ring.slot.index & 0xFF
        channels = ring.slot.index & MixRecord.stereoBit == 0 ? 1 : 2
    }
}
