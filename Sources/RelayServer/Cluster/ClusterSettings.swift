import NATSTransport

/// How a relay is one of several: the key `cluster`.
package struct ClusterSettings: Sendable {
    /// NATS servers, `nats://HOST:PORT` or `tls://HOST:PORT`.
    package var servers: [String] = []
    /// Of the cluster: several may share one NATS.
    package var name = "segue"
    /// PEM files: whom to trust, and by what the relay is known to NATS.
    package var trustedCertificates: String?
    package var certificate: String?
    package var privateKey: String?
    /// A node that has not been heard for so long is gone.
    package var leaseMilliseconds: UInt64 = 2_000
    /// Where clients of another node that goes away may come to, `HOST:PORT`; `nil`: they find their own way.
    package var address: String?

    static let leaseMilliseconds = 500...60_000
    private static let nameBytesMax = 32

    package init(servers: [String]) { self.servers = servers }

    init?(_ reader: inout ConfigurationReader) {
        guard let servers = reader.strings("servers"), !servers.isEmpty else {
            reader.fault("servers", "must name at least one NATS server")
            return nil
        }
        self.servers = servers
        for (place, server) in servers.enumerated() where !server.hasPrefix("nats://") && !server.hasPrefix("tls://") {
            reader.fault("servers[\(place)]", "must begin with nats:// or tls://")
        }
        if let value = reader.string("name") {
            let isPlain = value.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
            if value.isEmpty || value.utf8.count > ClusterSettings.nameBytesMax || !isPlain {
                reader.fault("name", "must be 1 to \(ClusterSettings.nameBytesMax) of the characters a-z 0-9 -")
            }
            name = value
        }
        trustedCertificates = reader.string("trustedCertificates")
        certificate = reader.string("certificate")
        privateKey = reader.string("privateKey")
        if (certificate == nil) != (privateKey == nil) { reader.fault("certificate", "and 'privateKey' must both be given") }
        if servers.contains(where: { $0.hasPrefix("tls://") }), trustedCertificates == nil {
            reader.fault("trustedCertificates", "must name the authority of the NATS servers' certificates")
        }
        if let value = reader.integer("leaseMilliseconds", in: ClusterSettings.leaseMilliseconds) { leaseMilliseconds = UInt64(value) }
        address = reader.string("address")
    }
}

extension NATSSettings {
    init(_ settings: ClusterSettings, name: String) {
        self.init(servers: settings.servers, name: name)
        trustedCertificates = settings.trustedCertificates
        certificate = settings.certificate
        privateKey = settings.privateKey
    }
}
