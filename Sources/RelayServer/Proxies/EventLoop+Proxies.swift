import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

// What comes before the first request of a connection behind a proxy: a PROXY header, and without TLS the choice of the HTTP version.
extension EventLoop {
    /// A connection's first phase, and how long it may take.
    func begin(_ connection: Connection) {
        if connection.hop.awaitsHeader {
            connection.phase = .proxyHeader
            setDeadline(connection, now.advanced(byMilliseconds: limits.proxyHeaderMillisecondsMax))
        } else {
            beginTransport(connection)
        }
    }

    private func beginTransport(_ connection: Connection) {
        if connection.hop.isPlaintext {
            endHandshakeCount(connection)
            connection.phase = .preface
            setDeadline(connection, now.advanced(byMilliseconds: limits.requestHeadMillisecondsMax))
        } else {
            connection.phase = .handshaking
            setDeadline(connection, now.advanced(byMilliseconds: limits.handshakeMillisecondsMax))
        }
    }

    // MARK: PROXY header

    /// Answers whether the connection can go on to what follows the header.
    func readProxyHeader(_ connection: Connection) -> Bool {
        let parser = ProxyHeaderParser(headerBytesMax: limits.proxyHeaderBytesMax)
        while true {
            do {
                switch try unsafe connection.secure.receivePrelude() {
                case .bytes(let bytes): unsafe connection.inbound.append(UnsafeRawBufferPointer(bytes))
                case .wouldBlock: return false
                case .end:
                    close(connection, reason: "truncated")
                    return false
                }
            } catch {
                close(connection, reason: error.reason)
                return false
            }
            do {
                guard case .complete(let header, let headerBytes) = try parser.parse(connection.inbound.span) else { continue }
                connection.inbound.consume(headerBytes)
                return take(header, connection)
            } catch {
                refuseHeader(connection, snakeCased("\(error)"))
                return false
            }
        }
    }

    private func refuseHeader(_ connection: Connection, _ reason: String) {
        counters.proxyHeadersRefused[reason, default: 0] &+= 1
        shared.log.info("proxy_header_refused", [("address", "\(connection.address)"), ("reason", reason)])
        close(connection, reason: "proxy_header")
    }

    private func take(_ header: ProxyHeader, _ connection: Connection) -> Bool {
        switch header.origin {
        case .ip(.stream, let source, _):
            let client = SocketAddress(source)
            if let refusal = shared.admission.move(from: connection.address.key, to: client.key) {
                counters.connectionsRefused[refusal.rawValue, default: 0] &+= 1
                close(connection, reason: "proxy_header")
                return false
            }
            connection.address = client
        case .ip(.datagram, _, _), .unix(.datagram, _, _):
            refuseHeader(connection, "datagram")
            return false
        // The proxy speaks for itself, or does not say for whom: the socket's address stands.
        case .local, .unspecified, .unix(.stream, _, _): break
        }
        counters.proxyHeaders &+= 1
        if let certificate = header.tls?.forwardedCertificate {
            if shared.configuration.proxies.certificate == .proxyHeader {
                connection.hop.unverified = certificate
            } else {
                counters.forwardedIgnored &+= 1
            }
        }
        beginTransport(connection)
        return passOn(connection)
    }

    /// Hands what has come behind the header to whom it is meant for.
    private func passOn(_ connection: Connection) -> Bool {
        var rest = ByteQueue()
        if !connection.inbound.isEmpty { unsafe rest.append(connection.inbound.readable) }
        connection.inbound.removeAll()
        connection.inbound.releaseIfEmpty()
        guard connection.hop.isPlaintext else {
            if !rest.isEmpty { unsafe connection.secure.giveBack(rest.readable) }
            return true
        }
        guard settleHop(connection) else { return false }
        if !rest.isEmpty { unsafe receivedPreface(connection, rest.readable) }
        return connections.contains(connection.handle)
    }

    // MARK: HTTP version without TLS

    /// The connection preface of HTTP/2 (RFC 9113 §3.4). No request of HTTP/1.1 begins so.
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// With prior knowledge only (RFC 9113 §3.3).
    func receivedPreface(_ connection: Connection, _ bytes: UnsafeRawBufferPointer) {
        unsafe connection.inbound.append(bytes)
        let count = min(connection.inbound.count, EventLoop.preface.count)
        guard unsafe connection.inbound.readable.prefix(count).elementsEqual(EventLoop.preface.prefix(count)) else {
            connection.phase = .http1
            unsafe receivedHTTP1(connection, UnsafeMutableRawBufferPointer(start: nil, count: 0))
            return
        }
        guard count == EventLoop.preface.count else { return }
        let session = beginHTTP2(connection)
        var early = ByteQueue()
        unsafe early.append(connection.inbound.readable)
        connection.inbound.removeAll()
        connection.inbound.releaseIfEmpty()
        unsafe receivedHTTP2(connection, session, early.readableInPlace)
    }
}

extension SocketAddress {
    init(_ endpoint: ProxyHeader.Endpoint) {
        switch endpoint.address {
        case .v4(let bits): self.init(ipv4: bits, port: endpoint.port)
        case .v6(let high, let low): self.init(high: high, low: low, port: endpoint.port)
        }
    }
}

extension ProxySettings {
    func lists(_ address: SocketAddress) -> Bool {
        let plain = IPAddress.v6(high: address.high, low: address.low).unmapped
        return networks.contains { $0.contains(plain) }
    }
}
