import HTTPTransport
import Reactor
import RelayBase
import TLSTransport
import WebSocketProtocol

/// What is still to be measured by a new trust store, a few in each turn.
struct TrustRecheck {
    fileprivate var connections: [Handle] = []
    fileprivate var channels: [Handle] = []

    var isDone: Bool { connections.isEmpty && channels.isEmpty }
}

// Trust while sessions live: certificates end, and so does what the relay trusts.
extension EventLoop {
    /// Validations in a turn: each takes some tenths of a millisecond, and media waits meanwhile.
    private static let rechecksPerTurn = 8

    /// New certificates, authorities or revocation lists: live connections that the new ones do not trust end. Those that a list names go at once, however many
    /// others there are; the rest is measured over the next turns.
    func reload(_ context: TLSContext) {
        let isSame = context.trustVersion == self.context.trustVersion
        self.context = context
        contextGeneration += 1
        guard !isSame else { return }
        recheck = TrustRecheck()
        for handle in connections.handles {
            guard let connection = connections[handle], connection.identity != nil || connection.hop.forwarded != nil else { continue }
            let isListed = connection.secure.isListed(under: context) || connection.hop.forwarded.map(context.isListed) == true
            if isListed { measure(connection) } else { recheck.connections.append(handle) }
        }
        for handle in channels.handles {
            guard let channel = channels[handle], let peer = channel.ownPeer else { continue }
            if context.isListed(peer) { measure(channel) } else { recheck.channels.append(handle) }
        }
    }

    /// Goes on with what ``reload(_:)`` has left.
    func recheckSome() {
        guard !recheck.isDone else { return }
        for _ in 0..<EventLoop.rechecksPerTurn {
            if let handle = recheck.connections.popLast() {
                if let connection = connections[handle] { measure(connection) }
            } else if let handle = recheck.channels.popLast() {
                if let channel = channels[handle] { measure(channel) }
            }
        }
    }

    func measure(_ connection: Connection) {
        if connection.identity != nil, let fault = connection.secure.peerFault(under: context) {
            endTrust(connection, reason: "certificate_\(fault.reason)")
        } else if let peer = connection.hop.forwarded, let fault = context.fault(ofForwarded: peer) {
            connection.hop.forwarded = nil
            endTrust(connection, reason: "certificate_\(fault.reason)")
        }
    }

    func measure(_ channel: Channel) {
        guard let peer = channel.ownPeer, let fault = context.fault(ofForwarded: peer) else { return }
        endForwarded(channel, reason: "certificate_\(fault.reason)")
    }

    /// A few times a second.
    func closeExpiredCertificates() {
        let seconds = Int64(WallClock.now() / 1_000)
        for handle in connections.handles {
            guard let connection = connections[handle] else { continue }
            let end = min(connection.identity?.notAfter ?? .max, connection.hop.forwarded?.identity.notAfter ?? .max)
            if end < seconds { endTrust(connection, reason: "certificate_expired") }
        }
        for handle in channels.handles {
            guard let channel = channels[handle], let peer = channel.ownPeer, peer.identity.notAfter < seconds else { continue }
            endForwarded(channel, reason: "certificate_expired")
        }
    }

    private func endForwarded(_ channel: Channel, reason: String) {
        beginClose(channel, .policyViolation, reason: reason, counted: reason)
    }

    /// Sessions end with a close frame that says why; other connections just end. Over HTTP/2, GOAWAY comes after the last close frame: there are clients that
    /// read nothing behind it.
    private func endTrust(_ connection: Connection, reason: String) {
        let channels = connection.webSockets
        for channel in channels { beginClose(channel, .policyViolation, reason: reason, counted: reason) }
        connection.endsWithChannels = true
        if channels.isEmpty, case .http2(let session) = connection.phase { session.goAway(.noError) }
        if channels.isEmpty { closeAfterFlush(connection, reason: reason) }
    }
}
