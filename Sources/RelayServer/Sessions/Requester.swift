import HTTPProtocol
import Reactor
import RelayRooms
import TLSTransport

/// Who makes a request. It belongs to the request and not to its connection: a proxy's connection carries the requests of many clients.
struct Requester: Sendable {
    /// As a certificate proves it; `nil` without one.
    let identity: PeerIdentity?
    /// Where the identity is a proxy's word: what is to be verified anew as long as a session of it lives.
    let forwarded: ForwardedPeer?
    /// The client's, as far as it is known.
    let address: SocketAddress

    /// Over a connection of its own.
    init(identity: PeerIdentity?, address: SocketAddress) {
        self.identity = identity
        forwarded = nil
        self.address = address
    }

    /// Through a trusted proxy; the proxy's own certificate is nobody's.
    init(forwarded: ForwardedPeer?, address: SocketAddress) {
        identity = forwarded?.identity
        self.forwarded = forwarded
        self.address = address
    }

    var principal: Principal? {
        identity.map { identity in
            switch identity.proof {
            case .certificate: Principal(identity, proof: .certificate)
            case .forwarded: Principal(identity, proof: .forwarded)
            }
        }
    }
}

/// What lies between a client and this end of a connection.
struct Hop {
    /// A PROXY header comes first.
    let awaitsHeader: Bool
    let isPlaintext: Bool
    /// Certificates that this peer passes on are believed.
    var isTrusted: Bool
    /// What the PROXY header had: verified once the peer is known to be trusted.
    var unverified: ForwardedCertificate?
    /// What the PROXY header had, verified.
    var forwarded: ForwardedPeer?
    /// What the last request's field had, and under which count of reloads it was found good: clients ask more than once.
    var last: (certificate: ForwardedCertificate, generation: Int, peer: ForwardedPeer)?

    /// - Returns: `nil` when the address may not connect to a listener without TLS.
    init?(from address: SocketAddress, isPlaintext: Bool, _ settings: ProxySettings) {
        let isListed = settings.lists(address)
        guard isListed || !isPlaintext else { return nil }
        self.isPlaintext = isPlaintext
        awaitsHeader = isListed && (isPlaintext ? settings.header : settings.tlsHeader) == .required
        isTrusted = isPlaintext && settings.certificate != .none
    }
}
