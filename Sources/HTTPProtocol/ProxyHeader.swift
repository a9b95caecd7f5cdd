/// What the PROXY protocol (haproxy, "The PROXY protocol Versions 1 & 2") says about the connection that a proxy passes on.
package struct ProxyHeader: Sendable, Hashable {
    package enum Transport: Sendable, Hashable {
        case stream
        case datagram
    }

    package struct Endpoint: Sendable, Hashable {
        package let address: IPAddress
        package let port: UInt16

        package init(address: IPAddress, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    package enum Origin: Sendable, Hashable {
        /// LOCAL (v2): the proxy speaks for itself, a health check. The socket's own addresses are the right ones.
        case local
        /// UNKNOWN (v1), AF_UNSPEC (v2): passed on, but from what is not said. The socket's own addresses are the right ones.
        case unspecified
        case ip(transport: Transport, source: Endpoint, destination: Endpoint)
        /// Paths of Unix sockets, up to the first NUL.
        case unix(transport: Transport, source: [UInt8], destination: [UInt8])
    }

    /// The PP2_TYPE_SSL value: the TLS connection between client and proxy.
    package struct TLS: Sendable, Hashable {
        /// The client connected over TLS.
        package let isClientTLS: Bool
        /// The client presented a certificate over this connection.
        package let hasCertificateOnConnection: Bool
        /// The client presented a certificate at least once in the TLS session.
        package let hasCertificateInSession: Bool
        /// 0 when the certificate, if any, was verified.
        package let verifyResult: UInt32
        package let version: String?
        package let commonName: String?
        package let cipher: String?
        package let signatureAlgorithm: String?
        package let keyAlgorithm: String?
        /// PP2_SUBTYPE_SSL_CLIENT_CERT: the client's own certificate in DER, as it was sent.
        package let certificate: [UInt8]?

        /// The certificate that the client showed, as far as the proxy says so and passes it on. It is still to be verified: what the proxy says of its
        /// verification, or of the common name, makes no identity.
        package var forwardedCertificate: ForwardedCertificate? {
            guard isClientTLS, hasCertificateOnConnection || hasCertificateInSession, let certificate, !certificate.isEmpty else { return nil }
            return ForwardedCertificate(leaf: certificate)
        }

        /// The subject's common name when there is one that the proxy verified; `nil` else.
        package var verifiedCommonName: String? {
            isClientTLS && (hasCertificateOnConnection || hasCertificateInSession) && verifyResult == 0 ? commonName : nil
        }
    }

    /// 1 or 2.
    package let version: Int
    package let origin: Origin
    /// The protocol that the client and the proxy agreed on, as raw bytes (ALPN is opaque, RFC 7301 §3.1).
    package var applicationProtocol: [UInt8]?
    /// The host name that the client asked for (SNI).
    package var authority: String?
    /// At most 128 bytes.
    package var uniqueID: [UInt8]?
    package var tls: TLS?
    /// Whether the header carried a CRC32c; it was right then.
    package var hasChecksum = false

    package init(version: Int, origin: Origin) {
        self.version = version
        self.origin = origin
    }

    /// The client's address and port as the proxy saw them; `nil` when the socket's own are to be used.
    package var source: Endpoint? {
        if case .ip(_, let source, _) = origin { source } else { nil }
    }
}

/// Why a PROXY header was refused; the connection is closed without a word.
package enum ProxyFault: Error, Sendable, Hashable, CaseIterable {
    /// The first bytes are no PROXY header.
    case missingHeader
    // Version 1.
    case lineTooLong
    case malformedLine
    // Version 2.
    case unsupportedVersion
    case unsupportedCommand
    case unsupportedFamily
    case headerTooLarge
    case addressesTruncated
    case malformedTLV
    case duplicateTLV
    case checksumMismatch
}

package enum ProxyHeaderStep: Sendable, Hashable {
    case needMoreBytes
    /// The header, and how many bytes it took; what follows is the client's own.
    case complete(ProxyHeader, headerBytes: Int)
}
