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
        // The suite belongs to the session, which an accepting end has let go of; what it was agreed by stays.
        let cipher = unsafe SSL_CIPHER_standard_name(SSL_get_current_cipher(handle) ?? SSL_get_pending_cipher(handle))
        return TLSNegotiated(
            version: version, cipherSuite: unsafe cipher.map { unsafe String(cString: $0) } ?? "unknown", applicationProtocol: applicationProtocol,
            isResumed: unsafe SSL_session_reused(handle) == 1, serverName: serverName)
    }

    /// Who the peer is; `nil` when it has no certificate (or the handshake is not complete).
    package var peerIdentity: PeerIdentity? {
        if let client { return client.identity }
        guard isHandshakeComplete, context.role == .client, let certificate = unsafe segue_ssl_peer_certificate(handle) else { return nil }
        return unsafe CertificateReader.identity(of: certificate)
    }

    /// The session so far, for a later connection to resume; `nil` as long as the server has sent no ticket (in TLS 1.3 it comes after the handshake).
    package var session: TLSSession? {
        guard isHandshakeComplete, let session = unsafe SSL_get_session(handle), unsafe SSL_SESSION_is_resumable(session) == 1 else { return nil }
        return unsafe TLSSession(copying: session)
    }

    /// The accepting end: what is wrong with the client's certificate when it is measured by another trust store (after a reload, say) at that context's present
    /// time; `nil` when it is still good, or when there is none and `context` does not ask for one.
    ///
    /// Costs one signature verification for each certificate of the path, about 0.1 ms, unless `context` has seen the same path: spread it out over many
    /// connections.
    package func peerFault(under context: TLSContext) -> TLSFault? {
        guard let client else {
            return context.role == .server && context.configuration.clientCertificate == .required ? .noCertificate : nil
        }
        return context.fault(ofForwarded: client)
    }

    /// The accepting end: see ``TLSContext/isListed(_:)``.
    package func isListed(under context: TLSContext) -> Bool {
        client.map { context.isListed($0) } ?? false
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
