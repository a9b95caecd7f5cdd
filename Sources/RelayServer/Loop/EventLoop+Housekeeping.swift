import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    /// A few times a second: rooms are tidied, metrics published, certificates checked.
    func housekeeping() {
        _ = timers.schedule(
            at: now.advanced(byMilliseconds: EventLoop.housekeepingMilliseconds), TimerEvent(payload: 0, kind: TimerKind.housekeeping))
        var steps = EventLoop.auditStepsPerTurn
        var receivers = EventLoop.auditStepsPerTurn
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            room.fanout.tidy(now: now)
            counters.framesUnaccounted &+= room.fanout.audit(steps: &steps)
            requestKeyFrames(room)
            endBroken(room)
            passOnReports(room, steps: &receivers)
        }
        countReporters()
        if shared.gateway != nil {
            replicateChanged()
            expireAbsent()
            tellEmptied()
            offerRooms()
            writeTickets()
        }
        closeExpiredCertificates()
        expirePairs()
        expireInterruptions()
        closeExpiredTokens()
        shared.board.publish(snapshot(), at: index)
        if index == 0 { shared.audit.tellLoss() }
        goOnDraining()
    }

    /// The counters with what is still in the rooms.
    func snapshot() -> LoopCounters {
        var counters = counters
        counters.rooms = home.rooms.count
        counters.busyShare = load.share
        counters.streams = home.rooms.values.reduce(0) { $0 + $1.streams.count }
        counters.waiting = home.rooms.values.reduce(0) { $0 + $1.waiting.count }
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            let (account, pending) = room.fanout.totalAccount()
            counters.frames.add(account)
            counters.framesPending &+= pending
        }
        return counters
    }

    /// The loop ends: what can be sent at once is, the rest is let go.
    func closeEverything() {
        shared.board.publish(snapshot(), at: index)
        for handle in connections.handles {
            guard let connection = connections[handle] else { continue }
            try? connection.secure.shutdown()
            close(connection, reason: "stopped")
        }
        // A listener closes its socket when it goes.
        listeners.removeAll()
    }
}

extension Connection {
    /// The WebSockets that the connection carries.
    var webSockets: [Channel] {
        if case .webSocket(let channel) = phase { return [channel] }
        return channels.map(\.channel)
    }
}
