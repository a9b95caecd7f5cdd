import RelayBase
import RelayRooms
import Signalling

/// What one loop's share of a room has of the relay's own work: slots that carry published streams through buffers, and those that carry the mix.
final class RoomDeliveries {
    /// The thread that does the work.
    let worker: Int
    var paced: [PacedSlot] = []
    /// By place, as the worker counts them.
    var mixSlots: [StreamSlot?] = []
    /// Counts entries into the mix.
    var mixEntries: UInt32 = 0
    /// The worker has been told of the room's streams.
    var isMixed = false

    init(worker: Int) {
        self.worker = worker
    }

    var isEmpty: Bool { paced.isEmpty && mixSlots.isEmpty && !isMixed }

    func place(of slot: StreamSlot) -> Int? {
        paced.firstIndex { $0.slot == slot }
    }
}

/// A slot that one variant of a stream comes in.
struct PacedSlot {
    let entry: StreamEntry
    let variant: PacedVariant
    let slot: StreamSlot
    /// What the worker was told last.
    var told: (isActive: Bool, audio: WantedFormat?)?
    /// The stream has ended, and what its buffer holds is still to come.
    var hasEnded = false
    /// Late frames are dropped instead of concealed.
    var reason: RelayMessage.UnmixedReason?
}

extension LocalRoom {
    func setRoute(_ route: StreamRoute, of slot: StreamSlot) {
        if slot.index < routes.count { routes[slot.index] = route } else { routes.append(route) }
    }

    /// The slot of the published stream that a slot is made of; a mix is made of none.
    func source(of slot: StreamSlot) -> StreamSlot {
        guard fanout.streams[slot.index].isDerived else { return slot }
        return fanout.slot(of: fanout.streams[slot.index].id) ?? slot
    }
}
