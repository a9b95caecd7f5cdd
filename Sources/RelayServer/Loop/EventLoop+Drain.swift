import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import WebSocketProtocol

/// A drain that is under way on a loop.
struct DrainRun {
    let began: MonotonicInstant
    let deadline: MonotonicInstant
    /// Sessions that have not been told yet, the next last.
    var untold: [(session: Handle, step: DrainPlan.Step)]
    /// Sessions that have been told, and when they are ended.
    var told: [(session: Handle, ends: MonotonicInstant)] = []
    var timer: TimerID?
}

/// The relay goes away: its clients are told, each in its turn and with a deadline of its own, and ended by then.
extension EventLoop {
    func drain(_ deadlineMilliseconds: UInt64) {
        guard drainRun == nil else { return }
        if shared.gateway == nil { endParkedSessions(reason: "drain") }
        let sessions = channels.handles.filter { handle in
            channels[handle].map { $0.purpose == .session && $0.sessionID != "" && !$0.isParked } ?? false
        }
        var generator = SystemRandomNumberGenerator()
        let plan = DrainPlan(sessions: sessions.count, milliseconds: deadlineMilliseconds, using: &generator)
        drainRun = DrainRun(
            began: now, deadline: now.advanced(byMilliseconds: deadlineMilliseconds), untold: plan.steps.reversed().map { (sessions[$0.place], $0) })
        for handle in connections.handles {
            guard let connection = connections[handle] else { continue }
            if case .http2(let session) = connection.phase, connection.channels.isEmpty {
                session.goAway(.noError)
                markDirty(connection)
            }
        }
        goOnDraining()
    }

    /// Tells and ends who is due.
    func goOnDraining() {
        guard var run = drainRun else { return }
        let refuge = shared.clusterBoard.snapshot().first?.refuge
        while let next = run.untold.last, now >= run.began.advanced(byMilliseconds: next.step.told) {
            run.untold.removeLast()
            guard let channel = channels[next.session], channel.closing.maySend else { continue }
            let ends = run.began.advanced(byMilliseconds: next.step.ends)
            let left = ends > now ? ends.milliseconds(since: now) : 0
            sendText(channel, RelayMessage.goAway(deadlineMilliseconds: left, reason: "drain", node: refuge).encoded)
            run.told.append((next.session, ends))
        }
        let late = run.told.filter { now >= $0.ends }
        run.told.removeAll { now >= $0.ends }
        if let timer = run.timer { timers.cancel(timer) }
        run.timer = run.untold.last.flatMap { next in
            timers.schedule(at: run.began.advanced(byMilliseconds: next.step.told), TimerEvent(payload: 0, kind: TimerKind.drain))
        }
        drainRun = run
        for (session, _) in late {
            if let channel = channels[session] { end(channel) }
        }
        if now >= run.deadline || shared.webSockets.load(ordering: .acquiring) == 0 { endDrain() }
    }

    /// The relay stays after all.
    func cancelDrain() {
        guard let run = drainRun else { return }
        drainRun = nil
        if let timer = run.timer { timers.cancel(timer) }
        clusterHome.givesRooms = false
        for (session, _) in run.told {
            if let channel = channels[session] { send(channel, .goAwayCancelled) }
        }
    }

    /// In a cluster the session goes on elsewhere as soon as its client is there: until then nobody sees it leave.
    private func end(_ channel: Channel) {
        channel.goesOnElsewhere = shared.gateway != nil
        if channel.goesOnElsewhere { writeTicket(channel) }
        beginClose(channel, .goingAway, reason: "the relay goes away", counted: "drain")
    }

    private func endDrain() {
        for handle in channels.handles {
            if let channel = channels[handle] { end(channel) }
        }
        flushDirty()
        isStopping = true
    }
}
