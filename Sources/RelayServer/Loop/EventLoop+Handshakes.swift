import Reactor
import RelayBase
import TLSTransport

extension EventLoop {
    /// The peer has sent part of its handshake: it has its turn when media has had its. Until then its socket need not tell of it again.
    func queueHandshake(_ connection: Connection) {
        guard !connection.awaitsHandshake else { return }
        connection.awaitsHandshake = true
        handshakes.append(connection.handle)
        watch(connection)
    }

    /// Goes on with handshakes for as long as a turn may: see ``HandshakeTurns``.
    func shakeHands() {
        guard !handshakes.isEmpty else { return }
        let begun = MonotonicClock.now()
        var spent: UInt64 = 0
        while let handle = handshakes.next(spent: spent) {
            guard let connection = connections[handle], connection.awaitsHandshake else { continue }
            connection.awaitsHandshake = false
            let isComplete = handshake(connection)
            if connections.contains(handle) {
                watch(connection)
                // Requests may have come right behind the handshake.
                if isComplete { read(connection) }
            }
            spent = MonotonicClock.now().nanoseconds(since: begun)
        }
        flushBegan = flushBegan.advanced(byNanoseconds: spent)
        flushDirty()
        ringsOut.wake()
    }

    /// Answers whether application data may follow.
    private func handshake(_ connection: Connection) -> Bool {
        do {
            guard try connection.secure.handshake() == .complete else {
                connection.wantsWrite = connection.isBlocked
                return false
            }
        } catch {
            let reason = handshakeReason(error)
            counters.handshakeFailures[reason, default: 0] &+= 1
            shared.log.info("handshake_failed", [("address", "\(connection.address)"), ("reason", reason)])
            close(connection, reason: "handshake_failed")
            return false
        }
        // Certificates or revocation lists were replaced while the handshake was under way.
        if connection.contextGeneration != contextGeneration, let fault = connection.secure.peerFault(under: context) {
            counters.handshakeFailures[fault.reason, default: 0] &+= 1
            close(connection, reason: "handshake_failed")
            return false
        }
        let negotiated = connection.secure.negotiated
        counters.handshakes &+= 1
        if negotiated?.isResumed == true { counters.resumedHandshakes &+= 1 }
        connection.identity = connection.secure.peerIdentity
        guard settleHop(connection) else { return false }
        handshakeEnded(connection, protocolName: negotiated?.applicationProtocol)
        return true
    }

    private func handshakeReason(_ fault: TransportFault) -> String {
        switch fault {
        case .tls(let fault): fault.reason
        case .system: "connection_lost"
        }
    }

    private func handshakeEnded(_ connection: Connection, protocolName: String?) {
        endHandshakeCount(connection)
        if protocolName == "h2" {
            beginHTTP2(connection)
        } else {
            connection.phase = .http1
            setDeadline(connection, now.advanced(byMilliseconds: limits.requestHeadMillisecondsMax))
        }
    }

    func endHandshakeCount(_ connection: Connection) {
        guard connection.handshakeCounted else { return }
        connection.handshakeCounted = false
        shared.admission.handshakeEnded(connection.address.key)
    }
}
