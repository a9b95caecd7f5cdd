package import HTTPProtocol
package import Reactor
package import RelayRooms

/// Proxies in front of the relay: who they are, and what is believed of what they say.
package struct ProxySettings: Sendable {
    /// Whether a PROXY protocol header comes first.
    package enum Header: String, Sendable {
        case none
        /// From a listed network a connection without one is closed; from anywhere else none is read.
        case required
    }

    /// Where a trusted proxy passes a client's certificate on.
    package enum CertificateSource: Sendable, Equatable {
        case none
        case field(ForwardedCertificateForm)
        /// PP2_SUBTYPE_SSL_CLIENT_CERT of a PROXY header, version 2.
        case proxyHeader

        init?(text: String) {
            switch text {
            case "none": self = .none
            case "client-cert": self = .field(.clientCert)
            case "x-ssl-client-der": self = .field(.haproxy)
            case "x-forwarded-client-cert": self = .field(.envoy)
            case "proxy-protocol": self = .proxyHeader
            default: return nil
            }
        }
    }

    /// Without TLS, for a proxy on this machine that ends it.
    package var listen: [SocketAddress] = []
    /// Where proxies connect from: whoever may send a PROXY header may claim any address.
    package var networks: [IPNetwork] = ["127.0.0.0/8", "::1"].compactMap { try? IPNetwork($0) }
    /// On the listeners without TLS.
    package var header = Header.none
    /// On the TLS listeners, from the listed networks.
    package var tlsHeader = Header.none
    /// Proxies that show a certificate of their own to a TLS listener: what they pass on is believed as over the listeners without TLS.
    package var identities: [IdentityPattern] = []
    package var certificate = CertificateSource.none
    /// Where balancers ask for the relay's weight (HAProxy's agent-check); `nil`: nowhere.
    package var agent: SocketAddress?

    package init() {}

    mutating func read(_ reader: inout ConfigurationReader) {
        if let values = reader.strings("listen") {
            listen = []
            for (index, text) in values.enumerated() {
                if let address = SocketAddress(text), address.isLoopback {
                    listen.append(address)
                } else {
                    reader.fault("listen[\(index)]", "must be ADDRESS:PORT with a loopback address: what comes there is not encrypted")
                }
            }
        }
        if let value = reader.string("agent") {
            agent = SocketAddress(value)
            if agent == nil { reader.fault("agent", "must be ADDRESS:PORT") }
        }
        if let values = reader.strings("networks") {
            networks = []
            for (index, text) in values.enumerated() {
                if let network = try? IPNetwork(text) {
                    networks.append(network)
                } else {
                    reader.fault("networks[\(index)]", "must be ADDRESS or ADDRESS/LENGTH, with no bit set behind the length")
                }
            }
        }
        if let values = reader.strings("identities") {
            identities = []
            for (index, text) in values.enumerated() {
                if let pattern = IdentityPattern(text), text != "*" {
                    identities.append(pattern)
                } else {
                    reader.fault("identities[\(index)]", "must be a pattern of names, and not \"*\": whom it matches may claim to be anybody")
                }
            }
        }
        if let value = reader.string("protocol") { header = Self.header(value, "protocol", &reader) }
        if let value = reader.string("tlsProtocol") { tlsHeader = Self.header(value, "tlsProtocol", &reader) }
        if let value = reader.string("clientCertificate") {
            if let source = CertificateSource(text: value) {
                certificate = source
            } else {
                reader.fault(
                    "clientCertificate",
                    "must be \"none\", \"client-cert\", \"x-forwarded-client-cert\", \"x-ssl-client-der\" or \"proxy-protocol\"")
            }
        }
    }

    private static func header(_ text: String, _ key: String, _ reader: inout ConfigurationReader) -> Header {
        if let header = Header(rawValue: text) { return header }
        reader.fault(key, "must be \"none\" or \"required\"")
        return .none
    }

    /// Faults that only show when everything is read.
    func check() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        if certificate == .proxyHeader, header != .required, tlsHeader != .required {
            faults.append(ConfigurationFault(path: "proxies.clientCertificate", message: "is to come with a PROXY header, but none is required"))
        }
        if certificate != .none, listen.isEmpty, identities.isEmpty {
            faults.append(
                ConfigurationFault(path: "proxies.clientCertificate", message: "is believed of no proxy: neither 'listen' nor 'identities' names one")
            )
        }
        if certificate == .none, !identities.isEmpty {
            faults.append(ConfigurationFault(path: "proxies.identities", message: "are of no use without 'clientCertificate'"))
        }
        return faults
    }
}
