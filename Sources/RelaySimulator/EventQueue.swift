import RelayBase

/// What happens at one instant of a simulated run. Small on purpose: what an event carries besides lies with whom it is for.
enum SimulatedEvent {
    /// A loop wakes and does everything that has come for it.
    case turn(loop: Int)
    case housekeeping(loop: Int)
    case layerLook(loop: Int)
    /// Bytes reach the far end of a path.
    case arrived(path: Int, byteCount: Int)
    /// The near end of a path hears that bytes have arrived, or, with 0, that the receiver has room again.
    case acknowledged(path: Int, byteCount: Int)
    /// The relay's end of a connection hears that it is broken.
    case broken(connection: Int)
    /// A connection's flow is looked at again.
    case flow(connection: Int)
    /// A publisher's next frame is due.
    case frame(client: Int, publication: Int)
    /// A client reads on.
    case read(client: Int)
    /// A client does something of its own accord.
    case act(client: Int)
    case connect(client: Int)
    case check
    /// Publishers stop, and every link is as good as the best.
    case heal
    /// Everybody leaves.
    case leaveAll
}

/// Events by time; those of one instant in the order in which they were scheduled. A binary heap.
struct EventQueue {
    private struct Entry {
        let at: UInt64
        let number: UInt64
        let event: SimulatedEvent

        func isBefore(_ other: Entry) -> Bool { at != other.at ? at < other.at : number < other.number }
    }

    private var entries: [Entry] = []
    private var scheduled: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }
    var nextInstant: MonotonicInstant? { entries.first.map { MonotonicInstant(nanoseconds: $0.at) } }

    mutating func schedule(_ event: SimulatedEvent, at instant: MonotonicInstant) {
        entries.append(Entry(at: instant.nanoseconds, number: scheduled, event: event))
        scheduled += 1
        var place = entries.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[place].isBefore(entries[parent]) else { break }
            entries.swapAt(place, parent)
            place = parent
        }
    }

    mutating func popFirst() -> (at: MonotonicInstant, event: SimulatedEvent)? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (MonotonicInstant(nanoseconds: first.at), first.event)
    }

    private mutating func sink() {
        var place = 0
        while true {
            let left = 2 * place + 1
            guard left < entries.count else { return }
            let right = left + 1
            let child = right < entries.count && entries[right].isBefore(entries[left]) ? right : left
            guard entries[child].isBefore(entries[place]) else { return }
            entries.swapAt(place, child)
            place = child
        }
    }
}
