import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// Keeping what is sealed and not delivered small: see ``ConnectionFlow``.
extension EventLoop {
    /// Plaintext bytes that a connection may seal now; asks the kernel when the window looks used up, once a turn.
    func allowance(_ connection: Connection, isUrgent: Bool) -> Int {
        let allowed = connection.flow.allowance(sealed: connection.secure.sealedBytes, isUrgent: isUrgent)
        guard allowed == 0, connection.flow.sampledAt < now else { return allowed }
        sample(connection)
        return connection.flow.allowance(sealed: connection.secure.sealedBytes, isUrgent: isUrgent)
    }

    /// After a flush: the kernel is asked when it is time, and a timer comes back to what has to wait.
    func followFlow(_ connection: Connection, hasSealed: Bool) {
        guard connections.contains(connection.handle) else { return }
        if hasSealed, connection.flow.isSampleDue(now) { sample(connection) }
        let wait: UInt64
        if connection.flow.isHeld {
            wait = connection.flow.retryMilliseconds(stalledMilliseconds: now.milliseconds(since: connection.lastProgress))
        } else if connection.isBlocked || connection.flow.isLimited || connection.flow.isCongested {
            wait = EventLoop.flowMilliseconds
        } else {
            return
        }
        let deadline = now.advanced(byMilliseconds: wait)
        if let timer = connection.flow.timer {
            guard deadline < connection.flow.timerDeadline else { return }
            if timers.reschedule(timer, at: deadline) {
                connection.flow.timerDeadline = deadline
                return
            }
        }
        connection.flow.timerDeadline = deadline
        connection.flow.timer = timers.schedule(at: deadline, TimerEvent(payload: connection.handle.packed, kind: TimerKind.flow))
    }

    /// How often a connection that the network limits is looked at.
    private static let flowMilliseconds: UInt64 = 50

    func flowTimer(_ connection: Connection) {
        connection.flow.timer = nil
        sample(connection)
        if connection.isBlocked { followFlow(connection, hasSealed: false) } else { flush(connection) }
    }

    /// The connection ends, or leaves this loop: it is counted here no longer, and what is known of it is forgotten.
    func endFlow(_ connection: Connection) {
        if let timer = connection.flow.timer { timers.cancel(timer) }
        if connection.flow.isCongested { counters.congestedConnections -= 1 }
        counters.bitRates.remove(connection.flow.countedRate)
        connection.flow = ConnectionFlow()
    }

    private func sample(_ connection: Connection) {
        let before = connection.flow.sampledAt
        let wasHeld = connection.flow.isHeld || connection.isBlocked
        guard let info = try? TCPInfo.read(connection.descriptor, calls: calls) else {
            connection.flow.knowsNothing(sealed: connection.secure.sealedBytes, now: now)
            return
        }
        let wasCongested = connection.flow.isCongested
        let progressed = connection.flow.take(
            info, sealed: connection.secure.sealedBytes, unsent: connection.secure.unsentCount, now: now)
        if progressed { connection.lastProgress = now }
        counters.flowSamples &+= 1
        if wasHeld, before != .zero { counters.heldNanoseconds &+= min(now.nanoseconds(since: before), 1_000_000_000) }
        if connection.flow.isCongested != wasCongested { counters.congestedConnections += wasCongested ? -1 : 1 }
        connection.flow.countedRate = counters.bitRates.move(connection.flow.countedRate, to: connection.flow.bitsPerSecond)
        if let bytes = connection.flow.newLowWater() {
            try? Socket.setNotSentLowWater(connection.descriptor, bytes: bytes, calls: calls)
        }
    }
}
