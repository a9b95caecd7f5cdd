import HTTPProtocol
import Reactor
import RelayBase
import RelayRooms
import TLSTransport
import WebSocketProtocol

// Identities on a proxy's word. Only a peer that is trusted with it may pass certificates on: over a listener without TLS, which is on loopback and open to
// the listed networks only, or by mutual TLS as one of the listed identities. From everybody else the fields are taken out and counted.
extension EventLoop {
    /// What can be known of a connection's peer before its first request: whether it is a trusted proxy, and whose certificate its PROXY header had.
    /// Answers whether the connection goes on.
    func settleHop(_ connection: Connection) -> Bool {
        if let own = connection.identity, !shared.configuration.proxies.identities.isEmpty {
            let principal = Principal(own)
            connection.hop.isTrusted = shared.configuration.proxies.identities.contains { $0.matches(principal) }
        }
        guard let certificate = connection.hop.unverified else { return true }
        connection.hop.unverified = nil
        guard connection.hop.isTrusted else {
            counters.forwardedIgnored &+= 1
            return true
        }
        connection.hop.forwarded = verify(certificate, connection)
        // The whole connection is that client's, and it has shown a certificate that is not good.
        guard connection.hop.forwarded != nil else {
            close(connection, reason: "forwarded_certificate")
            return false
        }
        return true
    }

    /// Who makes a request, and the request without the fields that have said so.
    func identify(_ head: HTTPRequestHead, _ connection: Connection) -> (HTTPRequestHead, Requester) {
        let names = head.fields.lines.filter { ForwardedCertificate.fieldNames.contains($0.name) }.map(\.name)
        let stripped = names.isEmpty ? head : head.removingFields(ForwardedCertificate.fieldNames)
        guard connection.hop.isTrusted else {
            if !names.isEmpty { counters.forwardedIgnored &+= 1 }
            return (stripped, Requester(identity: connection.identity, address: connection.address))
        }
        guard case .field(let form) = shared.configuration.proxies.certificate else {
            if !names.isEmpty { counters.forwardedIgnored &+= 1 }
            return (stripped, Requester(forwarded: connection.hop.forwarded, address: connection.address))
        }
        // The other forms are not this proxy's: it has let through what its client sent.
        if names.contains(where: { !form.fieldNames.contains($0) }) { counters.forwardedIgnored &+= 1 }
        return (stripped, Requester(forwarded: read(head.fields, form, connection), address: connection.address))
    }

    private func read(_ fields: HTTPFields, _ form: ForwardedCertificateForm, _ connection: Connection) -> ForwardedPeer? {
        let certificate: ForwardedCertificate
        do {
            guard let found = try ForwardedCertificate.read(fields, form) else { return nil }
            certificate = found
        } catch {
            refuseForwarded(connection, error.reason)
            return nil
        }
        let seconds = Int64(WallClock.now() / 1_000)
        if let last = connection.hop.last, last.generation == contextGeneration, last.certificate == certificate,
            last.peer.identity.notAfter >= seconds
        {
            return last.peer
        }
        guard let peer = verify(certificate, connection) else { return nil }
        connection.hop.last = (certificate, contextGeneration, peer)
        return peer
    }

    private func verify(_ certificate: ForwardedCertificate, _ connection: Connection) -> ForwardedPeer? {
        do {
            let peer = try context.identity(ofForwarded: certificate.leaf, chain: certificate.chain)
            counters.forwardedCertificates &+= 1
            return peer
        } catch {
            refuseForwarded(connection, error.reason)
            return nil
        }
    }

    private func refuseForwarded(_ connection: Connection, _ reason: String) {
        counters.forwardedRefused[reason, default: 0] &+= 1
        shared.log.info("forwarded_certificate_refused", [("address", "\(connection.address)"), ("reason", reason)])
    }

}
