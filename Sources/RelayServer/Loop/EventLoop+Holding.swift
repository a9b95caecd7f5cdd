import RelayBase
import RelayRooms

/// Holding a room's frames on a busy loop: see ``FlushHold``. Control messages and closes are not held, and take along what waits for the same connection.
extension EventLoop {
    /// Whether the frames that came to a room wait for others.
    func holds(_ room: LocalRoom) -> Bool {
        guard room.holdNanosecondsMax > 0 || room.hold.isHolding else { return false }
        let wasHolding = room.hold.isHolding
        let holds = room.hold.framesCame(byteCount: room.unflushedBytes, now: now) {
            let delay = load.delay(of: min(room.holdNanosecondsMax, room.fanout.shortestDeadline() / 2))
            // What came while nobody looked has waited already.
            return delay > slept ? delay - slept : 0
        }
        if wasHolding {
            // Without the hold everybody would have been sent something in this turn too.
            work.spare(room.fanout.subscribers.count)
            counters.flushesJoined &+= 1
        } else if holds {
            holding.append(room)
            counters.flushesHeld &+= 1
        }
        if let until = room.hold.until { holdDue = min(holdDue, until) }
        return holds
    }

    /// Flushes the rooms whose frames have waited long enough.
    func endHolds() {
        guard !holding.isEmpty else { return }
        holdDue = .distantFuture
        var kept = 0
        for place in 0..<holding.count {
            let room = holding[place]
            if room.hold.ends(now: now) {
                flushSubscribers(of: room)
            } else if let until = room.hold.until {
                holdDue = min(holdDue, until)
                holding[kept] = room
                kept += 1
            }
        }
        holding.removeLast(holding.count - kept)
    }

    /// Something is about to come to a room's subscribers that belongs behind the frames that are held, as the end of their stream, or of the room.
    func flushHeld(_ room: LocalRoom) {
        if room.hold.endNow() { flushSubscribers(of: room) }
    }

    /// For how long a room's frames may be held: what the operator says of the room, else of all.
    func holdNanosecondsMax(of room: RoomName) -> UInt64 {
        let ownMicroseconds = room.isPair ? nil : policy.settings(of: room).flushHoldMicroseconds
        return UInt64(ownMicroseconds ?? limits.flushHoldMicroseconds) * 1_000
    }

    /// A room has come to this loop.
    func beginHolding(_ room: LocalRoom) {
        room.holdNanosecondsMax = holdNanosecondsMax(of: room.name)
        if room.holdNanosecondsMax == 0 { impatientRooms += 1 }
    }

    func endHolding(_ room: LocalRoom) {
        if room.holdNanosecondsMax == 0 { impatientRooms -= 1 }
    }

    /// The policy has changed.
    func renewHolds() {
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            endHolding(room)
            beginHolding(room)
        }
    }
}

/// What a turn's flushes cost, and which were spared by holding.
struct FlushWork: Sendable {
    /// Of a turn: connections that were sent something, and that would have been.
    private var flushes: UInt64 = 0
    private var spared: UInt64 = 0
    /// Nanoseconds, of late; 0: unknown.
    private var nanosecondsPerFlush: UInt64 = 0

    init() {}

    mutating func flushed() { flushes &+= 1 }
    mutating func spare(_ count: Int) { spared &+= UInt64(count) }

    /// A turn ends.
    ///
    /// - Parameter nanoseconds: what its flushes took.
    /// - Returns: nanoseconds that were spared.
    mutating func endTurn(nanoseconds: UInt64) -> UInt64 {
        defer {
            flushes = 0
            spared = 0
        }
        if flushes > 0 {
            let one = min(nanoseconds / flushes, FlushWork.nanosecondsPerFlushMax)
            nanosecondsPerFlush = nanosecondsPerFlush == 0 ? one : (nanosecondsPerFlush * 7 + one) / 8
        }
        return min(spared, FlushWork.sparedMax) * nanosecondsPerFlush
    }

    private static let nanosecondsPerFlushMax: UInt64 = 1_000_000
    private static let sparedMax: UInt64 = 1_000_000
}
