import Glibc
import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import TLSTransport

/// A listening socket of one loop.
final class LoopListener {
    var listener: Listener
    /// For a trusted proxy that ends TLS in front.
    let isPlaintext: Bool

    init(_ listener: consuming Listener, isPlaintext: Bool) {
        self.listener = listener
        self.isPlaintext = isPlaintext
    }

    var descriptor: FileDescriptor { listener.descriptor }
}

extension EventLoop {
    func accept(on place: Int) {
        listeners[place].listener.beginTurn()
        while true {
            let outcome: Listener.Outcome
            do {
                outcome = try listeners[place].listener.next(now: now)
            } catch {
                shared.log.error("accept_failed", [("fault", "\(error)")])
                return
            }
            switch outcome {
            case .accepted(let descriptor, let address): admit(descriptor, address, isPlaintext: listeners[place].isPlaintext)
            case .refusedOutOfDescriptors: counters.refusedOutOfDescriptors &+= 1
            case .drained, .turnOver: return
            case .pause(let until):
                counters.refusedOutOfDescriptors &+= 1
                try? selector.modify(listeners[place].descriptor, token: Token.listener + UInt64(place), interest: [])
                _ = timers.schedule(at: until, TimerEvent(payload: UInt64(place), kind: TimerKind.listener))
                return
            }
        }
    }

    func resumeListener(_ place: Int) {
        guard listeners.indices.contains(place) else { return }
        try? selector.modify(listeners[place].descriptor, token: Token.listener + UInt64(place), interest: .read)
    }

    private func admit(_ descriptor: FileDescriptor, _ address: SocketAddress, isPlaintext: Bool) {
        counters.accepted &+= 1
        guard let hop = Hop(from: address, isPlaintext: isPlaintext, shared.configuration.proxies) else {
            counters.connectionsRefused["proxy_network", default: 0] &+= 1
            calls.close(descriptor)
            return
        }
        if let refusal = shared.admission.admit(address.key) {
            counters.connectionsRefused[refusal.rawValue, default: 0] &+= 1
            calls.close(descriptor)
            return
        }
        // Refused options leave a slower connection, not a broken one.
        try? Socket.setNoDelay(descriptor, true, calls: calls)
        try? Socket.setNotSentLowWater(descriptor, bytes: Int32(ConnectionFlow.lowWaterBytesAtFirst), calls: calls)
        try? Socket.setUserTimeout(descriptor, milliseconds: Int32(clamping: limits.tcpUserTimeoutMilliseconds), calls: calls)
        let machine = isPlaintext ? nil : try? TLSMachine(accepting: context, output: scratch.output)
        guard isPlaintext || machine != nil else {
            refuse(descriptor, address, "tls_setup")
            return
        }
        let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        let connection = Connection(
            secure: secure, descriptor: descriptor, address: address, hop: hop, contextGeneration: contextGeneration, limits: limits, now: now)
        guard let handle = connections.insert(connection) else {
            refuse(descriptor, address, Admission.Refusal.connectionsMax.rawValue)
            return
        }
        connection.handle = handle
        do {
            try selector.add(descriptor, token: handle.packed, interest: .read)
        } catch {
            close(connection, reason: "selector_failed")
            return
        }
        counters.connections += 1
        begin(connection)
    }

    /// Lets go of a connection that was admitted and cannot be served.
    private func refuse(_ descriptor: FileDescriptor, _ address: SocketAddress, _ reason: String) {
        shared.admission.handshakeEnded(address.key)
        shared.admission.connectionEnded(address.key)
        counters.connectionsRefused[reason, default: 0] &+= 1
        calls.close(descriptor)
    }

    @discardableResult
    func beginHTTP2(_ connection: Connection) -> HTTP2Session {
        let session = HTTP2Session(role: .server, configuration: HTTP2Configuration(limits: limits), now: now)
        connection.phase = .http2(session)
        connection.endReading()
        setDeadline(connection, session.nextDeadline)
        markDirty(connection)
        return session
    }

    // MARK: Reading

    func readable(_ connection: Connection) {
        if case .proxyHeader = connection.phase {
            guard readProxyHeader(connection) else { return }
        }
        if case .handshaking = connection.phase { queueHandshake(connection) } else { read(connection) }
    }

    /// Takes what has come, as much of it as one connection may in a turn.
    func read(_ connection: Connection) {
        for _ in 0..<EventLoop.receivesPerTurn {
            guard connections.contains(connection.handle), !connection.requestShare.isWaiting, !connection.isHeld else { return }
            do {
                switch try unsafe connection.secure.receive() {
                case .bytes(let bytes): unsafe received(connection, bytes)
                case .wouldBlock: return
                case .end(let clean):
                    peerEnded(connection, clean: clean)
                    return
                }
            } catch {
                close(connection, reason: error.reason)
                return
            }
        }
        guard connections.contains(connection.handle), connection.secure.hasBufferedInput, !connection.readsLater,
            !connection.requestShare.isWaiting, !connection.isHeld
        else { return }
        connection.readsLater = true
        readLater.append(connection)
    }

    private func received(_ connection: Connection, _ bytes: UnsafeMutableRawBufferPointer) {
        switch connection.phase {
        case .proxyHeader, .handshaking, .closing: break
        case .preface: unsafe receivedPreface(connection, UnsafeRawBufferPointer(bytes))
        case .http1: unsafe receivedHTTP1(connection, bytes)
        case .webSocket(let channel): unsafe receivedWebSocket(channel, bytes)
        case .http2(let session): unsafe receivedHTTP2(connection, session, bytes)
        }
    }

    private func peerEnded(_ connection: Connection, clean: Bool) {
        switch connection.phase {
        case .webSocket(let channel): channel.closeReason = channel.closeReason ?? (clean ? "peer_ended" : "truncated")
        default: break
        }
        close(connection, reason: clean ? "peer_ended" : "truncated")
    }

    // MARK: Ending

    /// Ends a connection at once: what it carried is taken apart, and the descriptor is closed.
    func close(_ connection: Connection, reason: String) {
        guard connections.remove(connection.handle) != nil else { return }
        counters.connectionsClosed[connection.closeReason ?? reason, default: 0] &+= 1
        counters.connections -= 1
        endHandshakeCount(connection)
        shared.admission.connectionEnded(connection.address.key)
        if let timer = connection.timer { timers.cancel(timer) }
        endFlow(connection)
        if case .webSocket(let channel) = connection.phase { channelGone(channel, reason: reason) }
        for (_, channel) in connection.channels { channelGone(channel, reason: reason) }
        connection.channels.removeAll()
        for exchange in connection.exchanges { abandon(exchange) }
        endLive(connection)
        connection.phase = .closing
        connection.secure.discard()
        try? selector.remove(connection.descriptor)
        calls.close(connection.descriptor)
    }

    /// Ends a connection once what is queued has gone out, with close_notify.
    func closeAfterFlush(_ connection: Connection, reason: String) {
        guard connections.contains(connection.handle) else { return }
        connection.closeReason = connection.closeReason ?? reason
        markDirty(connection)
        // The time runs from the first call: what goes on being asked for does not lengthen it.
        guard !connection.closesAfterOutbound else { return }
        connection.closesAfterOutbound = true
        setDeadline(connection, now.advanced(byMilliseconds: limits.closeHandshakeMillisecondsMax))
    }

    // MARK: Deadlines

    func setDeadline(_ connection: Connection, _ deadline: MonotonicInstant) {
        connection.deadline = deadline
        guard deadline < .distantFuture else {
            if let timer = connection.timer { timers.cancel(timer) }
            connection.timer = nil
            return
        }
        if let timer = connection.timer, timers.reschedule(timer, at: deadline) { return }
        connection.timer = timers.schedule(at: deadline, TimerEvent(payload: connection.handle.packed, kind: TimerKind.connection))
    }

    func connectionTimer(_ connection: Connection) {
        connection.timer = nil
        guard now >= connection.deadline else {
            setDeadline(connection, connection.deadline)
            return
        }
        switch connection.phase {
        case .proxyHeader:
            counters.proxyHeadersRefused["timeout", default: 0] &+= 1
            close(connection, reason: "proxy_header_timeout")
        case .preface: close(connection, reason: "request_timeout")
        case .handshaking:
            counters.handshakeFailures["timeout", default: 0] &+= 1
            close(connection, reason: "handshake_timeout")
        case .http1:
            timedOutHTTP1(connection)
        case .webSocket, .closing:
            close(connection, reason: connection.closeReason ?? "close_timeout")
        case .http2(let session):
            if connection.closesAfterOutbound {
                close(connection, reason: connection.closeReason ?? "close_timeout")
            } else if isIdleHTTP2(connection) {
                connection.closeReason = "idle"
                session.goAway(.noError)
                closeAfterFlush(connection, reason: "idle")
            } else {
                expireHTTP2(connection, session)
            }
        }
    }
}
