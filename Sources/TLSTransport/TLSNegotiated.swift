internal import COpenSSL

/// What the two ends agreed on.
package struct TLSNegotiated: Sendable, Equatable {
    package let version: TLSVersion
    /// The suite's standard name (IANA), such as `TLS_AES_128_GCM_SHA256`.
    package let cipherSuite: String
    package let applicationProtocol: String?
    /// A session ticket was honoured, so no certificates were exchanged this time.
    package let isResumed: Bool
    /// The name that the client asked for (SNI); printable ASCII, or `nil`.
    package let serverName: String?
}

extension TLSMachine {
    /// `nil` until the handshake is complete.
    package var negotiated: TLSNegotiated? {
        guard isHandshakeComplete, let version = unsafe TLSVersion(rawValue: SSL_version(handle)) else { return nil }
        let cipher = unsafe SSL_CIPHER_standard_name(SSL_get_current_cipher(handle))
        return TLSNegotiated(
            version: version, cipherSuite: unsafe cipher.map { unsafe String(cString: $0) } ?? "unknown", applicationProtocol: applicationProtocol,
            isResumed: unsafe SSL_session_reused(handle) == 1, serverName: serverName)
    }

    /// Who the peer is; `nil` when it has no certificate (or the handshake is not complete).
    package var peerIdentity: PeerIdentity? {
        guard isHandshakeComplete, let certificate = unsafe segue_ssl_peer_certificate(handle) else { return nil }
        return unsafe CertificateReader.identity(of: certificate)
    }

    /// The peer's certificate and what came with it, to be measured when this connection is no more; `nil` without one.
    package var keptPeer: ForwardedPeer? {
        guard isHandshakeComplete, let certificate = unsafe segue_ssl_peer_certificate(handle),
            let leaf = unsafe CertificateReader.der(of: certificate),
            let identity = peerIdentity
        else { return nil }
        if let chain = unsafe SSL_get_peer_cert_chain(handle) {
            return unsafe ForwardedPeer(identity: identity, leaf: leaf, chain: Self.certificates(in: chain))
        }
        let intermediates = unsafe TicketData.intermediates(in: SSL_get_session(handle))
        defer { if let intermediates = unsafe intermediates { unsafe segue_ssl_x509_stack_free(intermediates) } }
        return unsafe ForwardedPeer(identity: identity, leaf: leaf, chain: Self.certificates(in: intermediates))
    }

    private static func certificates(in stack: OpaquePointer?) -> [[UInt8]] {
        unsafe (0..<segue_ssl_x509_count(stack)).compactMap { index in
            unsafe segue_ssl_x509_at(stack, index).flatMap { unsafe CertificateReader.der(of: $0) }
        }
    }

    /// The session so far, for a later connection to resume; `nil` as long as the server has sent no ticket (in TLS 1.3 it comes after the handshake).
    package var session: TLSSession? {
        guard isHandshakeComplete, let session = unsafe SSL_get_session(handle), unsafe SSL_SESSION_is_resumable(session) == 1 else { return nil }
        return unsafe TLSSession(copying: session)
    }

    /// What is wrong with the peer's certificate when it is measured by another trust store (after a reload, say) at that context's present time; `nil` when
    /// it is still good, or when there is none and `context` does not ask for one.
    ///
    /// Costs one signature verification for each certificate of the path, about 0.1 ms: spread it out over many connections.
    package func peerFault(under context: TLSContext) -> TLSFault? {
        guard isHandshakeComplete, let leaf = unsafe segue_ssl_peer_certificate(handle) else {
            return context.role == .server && context.configuration.clientCertificate == .required ? .noCertificate : nil
        }
        let now = context.clock.seconds()
        if let chain = unsafe SSL_get_peer_cert_chain(handle) {
            return unsafe context.verify(leaf, intermediates: chain, at: now)
        }
        // A resumed session has the authorities in its ticket; a peer that never sent any has none.
        let intermediates = unsafe TicketData.intermediates(in: SSL_get_session(handle))
        defer { if let intermediates = unsafe intermediates { unsafe segue_ssl_x509_stack_free(intermediates) } }
        return unsafe context.verify(leaf, intermediates: intermediates, at: now)
    }

    /// Whether a revocation list of `context` names a certificate that the peer sent: a look-up, microseconds where ``peerFault(under:)`` takes a hundred times
    /// as long, to find those that are to be measured first.
    package func isListed(under context: TLSContext) -> Bool {
        guard isHandshakeComplete, let leaf = unsafe segue_ssl_peer_certificate(handle) else { return false }
        if unsafe context.isListed(leaf) { return true }
        let chain = unsafe SSL_get_peer_cert_chain(handle)
        return unsafe (0..<segue_ssl_x509_count(chain)).contains { index in
            guard let authority = unsafe segue_ssl_x509_at(chain, index) else { return false }
            return unsafe context.isListed(authority)
        }
    }

    package func isStillTrusted(under context: TLSContext) -> Bool {
        peerFault(under: context) == nil
    }

    private var applicationProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(handle, &bytes, &count)
        guard count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    private var serverName: String? {
        guard let name = unsafe SSL_get_servername(handle, TLSEXT_NAMETYPE_host_name) else { return nil }
        let text = unsafe String(cString: name)
        return text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
    }
}
