import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Synchronization
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    /// Whether a connection can go to another loop: nothing of what it carries has a place in this one's rooms and lists.
    func mayMove(_ connection: Connection) -> Bool {
        guard connections.contains(connection.handle), connection.exchanges.isEmpty, !isWatching(connection),
            !connection.closesAfterOutbound, !connection.endsWithChannels
        else { return false }
        // Requests that wait for their turn have theirs here.
        guard !connection.requestShare.isWaiting else { return false }
        switch connection.phase {
        case .webSocket(let channel): return channel.sessionID == ""
        case .http2(let session): return session.fault == nil && connection.channels.allSatisfy { $0.channel.sessionID == "" }
        case .proxyHeader, .preface, .handshaking, .http1, .closing: return false
        }
    }

    /// Sends a connection to the loop of the session that its newcomer claims. See ``mayMove(_:)``.
    func move(_ connection: Connection, for claim: ResumeClaim) {
        let moving: [Channel] = connection.webSockets
        for channel in moving {
            _ = channels.remove(channel.handle)
            if let timer = channel.timer { timers.cancel(timer) }
            channel.timer = nil
            channel.hasOverflowed = false
            counters.webSockets -= 1
        }
        overflowing.removeAll { channel in moving.contains { $0 === channel } }
        guard connections.remove(connection.handle) != nil else { return }
        counters.connections -= 1
        counters.connectionsMoved &+= 1
        if let timer = connection.timer { timers.cancel(timer) }
        connection.timer = nil
        try? selector.remove(connection.descriptor)
        endFlow(connection)
        connection.secure.leaveLoop()
        let transport: MovingConnection.Transport
        if case .http2(let session) = connection.phase {
            transport = .http2(session, connection.channels)
        } else {
            transport = .webSocket(moving[0])
        }
        let box = MovingConnection(connection, transport, trustVersion: recheck.isDone ? context.trustVersion : nil, shared: shared)
        // What is left here is an empty shell, in whichever of this loop's lists it may still be.
        connection.phase = .closing
        connection.channels.removeAll()
        connection.isHeld = false
        for channel in moving { channel.connection = nil }
        guard !post(.arrive(box, claim), to: claim.session.address.loop) else { return }
        // The box ends here, and gives back what it held (see there); the loop counts what it has lost.
        counters.connectionsClosed["mailbox_overflow", default: 0] &+= 1
        counters.webSocketsClosed["mailbox_overflow", default: 0] &+= UInt64(moving.count)
    }

    /// Takes over a connection of another loop, and goes on with what its newcomer wants here.
    func arrive(_ box: MovingConnection, _ claim: ResumeClaim) {
        let connection = Connection(
            secure: box.secure, descriptor: box.descriptor, address: box.address, hop: box.hop, contextGeneration: contextGeneration, limits: limits,
            now: now)
        connection.handshakeCounted = false
        connection.endReading()
        connection.identity = box.identity
        // Its age counts this loop's reloads.
        connection.hop.last = nil
        connection.endsWithChannels = box.endsWithChannels
        connection.tokenBudget = box.tokenBudget
        let carried: [(stream: HTTP2StreamID?, channel: Channel)]
        switch box.transport {
        case .webSocket(let channel): carried = [(nil, channel)]
        case .http2(_, let channels): carried = channels.map { ($0.stream, $0.channel) }
        }
        guard let handle = connections.insert(connection) else {
            counters.connectionsClosed["connections_max", default: 0] &+= 1
            counters.webSocketsClosed["connections_max", default: 0] &+= UInt64(carried.count)
            return
        }
        box.take()
        swap(&connection.outbound, &box.outbound)
        box.secure.joinLoop(scratch)
        connection.handle = handle
        counters.connections += 1
        connection.wantsWrite = connection.isBlocked
        var claim = claim
        // By its handle on the loop that it has left: handles of this loop may be the same.
        let newcomer = claim.newcomer.token
        var others: [ResumeClaim] = []
        for (stream, channel) in carried {
            let isNewcomer = channel.handle.packed == newcomer
            guard let handle = channels.insert(channel) else { continue }
            channel.handle = handle
            channel.connection = connection
            channel.satisfiedInBatch = 0
            counters.webSockets += 1
            channel.claim?.newcomer = address(of: channel)
            if isNewcomer { claim.newcomer = address(of: channel) } else if let other = channel.claim { others.append(other) }
            if let stream { connection.channels.append((stream, channel)) } else { connection.phase = .webSocket(channel) }
            connection.isHeld = stream == nil && channel.isHeld
            scheduleChannelTimer(channel)
        }
        if case .http2(let session, _) = box.transport { connection.phase = .http2(session) }
        do {
            try selector.add(box.descriptor, token: handle.packed, interest: interest(of: connection))
        } catch {
            close(connection, reason: "selector_failed")
            return
        }
        // Certificates or revocation lists were replaced on the way.
        if box.trustVersion != context.trustVersion {
            measure(connection)
            for (_, channel) in carried { measure(channel) }
        }
        if case .http2(let session) = connection.phase { renewDeadline(connection, session) }
        markDirty(connection)
        resume(claim)
        // A connection follows one session: those of other loops would have it go to and fro.
        for other in others { if other.session.address.loop == index { resume(other) } else { refuseShared(other) } }
    }
}
