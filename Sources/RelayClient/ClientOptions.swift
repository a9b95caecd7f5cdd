package import Reactor
package import RelayBase
package import Signalling
package import TLSTransport

/// How a session's WebSocket is opened.
package enum ClientHTTPVersion: String, Sendable, CaseIterable {
    /// By an upgrade (RFC 6455 §4.1).
    case http1 = "1.1"
    /// By an extended CONNECT (RFC 8441 §4).
    case http2 = "2"

    /// The ALPN name (RFC 7301 §6).
    package var applicationProtocol: String {
        switch self {
        case .http1: "http/1.1"
        case .http2: "h2"
        }
    }
}

/// Where one session goes, and within which bounds.
package struct ClientOptions: Sendable {
    package var address: SocketAddress
    /// What the relay's certificate must name.
    package var name: TLSPeerName
    /// `host:port` of the request.
    package var authority: String
    package var http: ClientHTTPVersion
    package var path = "/v1/session"
    package var subprotocol = "segue.v1"
    /// Told to the relay in the `hello`.
    package var clientName = "segue"
    package var clientVersion: String?
    /// The device's name, shown to devices of the same identity.
    package var device: String?
    /// A bearer token (JWT) that the `hello` carries.
    package var token: String?
    /// How the session is to be served: told in the `hello`. Parts and bundles become frames again before the caller sees them.
    package var wishes: ClientRequest.SessionWishes?
    /// Say `hello` as soon as the WebSocket is open. Without it the caller does, or does not.
    package var saysHello = true
    /// Comes back to a session of before.
    package var resume: ClientRequest.Resumption?
    /// The caller's own number for the session, found at ``ClientSession/tag``.
    package var tag = 0

    /// From the first packet to the open WebSocket.
    package var openMillisecondsMax: UInt64 = 20_000
    package var closeHandshakeMillisecondsMax: UInt64 = 5_000
    package var pingMilliseconds: UInt64 = 15_000
    /// Between time exchanges, once the first few are made; `nil`: none are made.
    package var timeExchangeMilliseconds: UInt64?
    /// A relay that says nothing at all for so long is dead.
    package var silenceMillisecondsMax: UInt64 = 35_000
    /// Beyond so many bytes waiting to be sent, ``ClientSession/canSend`` is false and media is refused.
    package var sendQueueBytesMax = 8 << 20
    /// Answers with the whole of a large room are longer than requests may be.
    package var textBytesMax = 4 << 20
    /// Who comes and goes is of no interest: those messages are not even decoded. For load with hundreds of sessions on one thread.
    package var ignoresParticipants = false
    package var limits = Limits()

    /// - Parameters:
    ///   - host: the name or numeric address that the relay's certificate is held against.
    package init(address: SocketAddress, host: String, http: ClientHTTPVersion) {
        self.address = address
        self.http = http
        if SocketAddress(host: host, port: 0) != nil {
            name = .address(host)
            authority = host.contains(":") ? "[\(host)]:\(address.port)" : "\(host):\(address.port)"
        } else {
            name = .dns(host)
            authority = "\(host):\(address.port)"
        }
    }
}

/// The files that a client proves itself with, and those that it trusts.
package struct ClientCredentials: Sendable, Equatable {
    package var authorityFile: String
    /// `nil`: the client has no certificate.
    package var keyPair: TLSConfiguration.KeyPair?
    package var revocationListFiles: [String] = []

    package init(authorityFile: String, keyPair: TLSConfiguration.KeyPair?) {
        self.authorityFile = authorityFile
        self.keyPair = keyPair
    }

    /// The TLS context for sessions of one HTTP version; many sessions share it.
    package func context(
        http: ClientHTTPVersion, minimumVersion: TLSVersion = .tls12, maximumVersion: TLSVersion = .tls13
    ) throws(TLSSetupError) -> TLSContext {
        var configuration = TLSConfiguration()
        configuration.authorityFiles = [authorityFile]
        configuration.revocationListFiles = revocationListFiles
        configuration.revocation = .whereListed
        if let keyPair { configuration.keyPairs = [keyPair] }
        configuration.minimumVersion = minimumVersion
        configuration.maximumVersion = maximumVersion
        configuration.applicationProtocols = [http.applicationProtocol]
        return try TLSContext(client: configuration)
    }
}
