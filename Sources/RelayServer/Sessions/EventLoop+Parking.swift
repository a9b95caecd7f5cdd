import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import WebSocketProtocol

// A session whose connection was lost is kept for a while: it stays in its rooms and in the lists, and everything that ends sessions reaches it there.
extension EventLoop {
    /// Keeps a session whose connection or stream ended without a close frame of either side. Answers whether it does.
    func park(_ channel: Channel, because reason: String) -> Bool {
        guard mayPark(channel), let name = channel.principal?.name, shared.resumeTickets.park(name) else { return false }
        channel.resumption.peer = channel.connection.flatMap { $0.hop.forwarded ?? $0.secure.client }
        channel.resumption.parkedUntil = now.advanced(byMilliseconds: limits.resumeMilliseconds)
        channel.detach(limits: limits)
        counters.parked += 1
        counters.sessionsParked &+= 1
        if let membership = channel.membership { membership.room.fanout.park(Int(membership.subscriber.index)) }
        parkAudio(channel)
        scheduleChannelTimer(channel)
        shared.log.info(
            "session_parked",
            [
                ("session", channel.sessionID), ("identity", name), ("address", "\(channel.clientAddress)"), ("reason", reason),
                ("milliseconds", "\(limits.resumeMilliseconds)"),
            ])
        return true
    }

    private func mayPark(_ channel: Channel) -> Bool {
        channel.purpose == .session && channel.sessionID != "" && channel.resumption.ticket != nil && channel.closing.maySend && !isStopping
            && (!shared.readiness.isDraining || shared.gateway != nil) && counters.parked < limits.parkedSessionsMax
    }

    /// The peer has ended its half of a stream without a close frame. Answers whether the session outlives the stream, which ends here as well then.
    func parkStream(_ connection: Connection, _ channel: Channel) -> Bool {
        guard let stream = channel.stream, case .http2(let session) = connection.phase, mayPark(channel) else { return false }
        connection.channels.removeAll { $0.stream == stream }
        connection.lastRequest = now
        session.endStream(stream)
        channelGone(channel, reason: "peer_ended")
        markDirty(connection)
        return true
    }

    /// Ends a parked session for another reason than that nobody came. Answers whether it was parked.
    func endParked(_ channel: Channel, reason: String, leaving: RelayMessage.LeaveReason = .left) -> Bool {
        guard channel.isParked else { return false }
        unpark(channel)
        forget(channel, reason: reason, leaving: leaving)
        return true
    }

    func parkedTimer(_ channel: Channel) {
        if now >= channel.resumption.parkedUntil { _ = endParked(channel, reason: "lost", leaving: .lost) }
    }

    /// The session is not counted as parked any more.
    func unpark(_ channel: Channel) {
        counters.parked -= 1
        if let name = channel.principal?.name { shared.resumeTickets.unpark(name) }
        channel.resumption.parkedUntil = .distantFuture
        channel.resumption.peer = nil
    }

    /// The relay goes away: nobody comes back to it.
    func endParkedSessions(reason: String) {
        for handle in channels.handles {
            if let channel = channels[handle] { _ = endParked(channel, reason: reason, leaving: .lost) }
        }
    }

    func resumable(_ channel: Channel) -> ResumeTickets.Table.Session {
        ResumeTickets.Table.Session(
            address: address(of: channel), owner: channel.principal.map { ResumeOwner($0) } ?? ResumeOwner(name: "", fingerprint: nil))
    }

    /// The client may never get the `welcome` that was just said: until it is known to have it, the token that it has shown stays good, also while the relay takes
    /// its new connection to be alive. A ping goes right behind, whose pong says so at the latest.
    func keepSpent(_ digest: SHA256Digest, of channel: Channel) {
        guard channel.resumption.ticket != nil else { return }
        channel.resumption.spent = digest
        shared.resumeTickets.insert(digest, resumable(channel))
        writeTicket(channel, under: digest)
        channel.resumption.provingPing = ping(channel)
    }

    /// A message has come. What was read in the turn of the `welcome` itself was sent before that went out.
    func noteMessage(_ channel: Channel) {
        if channel.resumption.spent != nil, now > channel.resumption.welcomedAt { retireSpent(channel) }
    }

    /// A ping of the relay's was answered.
    func noteAnswered(_ ping: UInt64, _ channel: Channel) {
        if channel.resumption.spent != nil, ping >= channel.resumption.provingPing { retireSpent(channel) }
    }

    /// The client has the latest token: the one before is good no more.
    private func retireSpent(_ channel: Channel) {
        if let spent = channel.resumption.spent {
            shared.resumeTickets.remove(spent)
            eraseTicket(spent)
        }
        channel.resumption.spent = nil
    }

    /// Nobody comes back to the session from now on.
    func withdrawTickets(of channel: Channel) {
        for digest in [channel.resumption.ticket, channel.resumption.spent] {
            if let digest {
                shared.resumeTickets.remove(digest)
                if !channel.goesOnElsewhere { eraseTicket(digest) }
            }
        }
        channel.resumption.ticket = nil
        channel.resumption.spent = nil
    }
}

extension Channel {
    /// Lets go of the connection and of everything that was for it alone.
    fileprivate func detach(limits: Limits) {
        connection = nil
        inbound = WebSocketInbound(inbound.configuration)
        deflate = nil
        unfinished = ByteQueue()
        control = ByteQueue()
        begunControl = BegunMessage()
        heldInput = ByteQueue()
        claim = nil
        heldUntil = nil
        closeReason = nil
        endsAfterFlush = false
    }
}
