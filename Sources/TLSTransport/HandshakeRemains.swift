internal import COpenSSL
internal import Reactor

// What is left in the library's memory when an accepting end has shaken hands: most of it is of no use any more, and makes up a third of an idle connection.
extension TLSMachine {
    /// The client's certificate and the authorities that came with it, or that its ticket had; `nil` without one.
    func peerOfHandshake() -> ForwardedPeer? {
        defer { ErrorQueue.clear() }
        guard let leaf = unsafe segue_ssl_peer_certificate(handle) else { return nil }
        let path: CertificatePath?
        if let chain = unsafe SSL_get_peer_cert_chain(handle) {
            path = unsafe CertificatePath(leaf: leaf, others: chain)
        } else {
            // A resumed session has the authorities in its ticket; a peer that never sent any has none.
            let chain = unsafe TicketData.intermediates(in: SSL_get_session(handle))
            path = unsafe CertificatePath(leaf: leaf, others: chain)
            if let chain = unsafe chain { unsafe segue_ssl_x509_stack_free(chain) }
        }
        guard let path else { return nil }
        if let known = context.validatedPaths.peer(path.digest) { return known }
        return unsafe CertificateReader.identity(of: leaf).map { ForwardedPeer(identity: $0, path: path) }
    }

    /// Lets go of the session, with the parsed certificates and the secret to resume by, and of the keys of the key exchange.
    ///
    /// TLS 1.3 alone: nothing there needs them after the handshake, whose last act is to send the tickets (RFC 8446 §4.6.1). There the library takes a session
    /// away only from a connection whose context speaks the agreed version and no other; see ``RetiredContext``.
    func releaseHandshake() {
        guard unsafe SSL_version(handle) == TLSVersion.tls13.rawValue, let session = unsafe SSL_get_session(handle),
            // What the peer may be sent at once (RFC 6066 §4) is kept in there, too.
            unsafe SSL_SESSION_get_max_fragment_length(session) == UInt8(TLSEXT_max_fragment_length_DISABLED),
            let retired = unsafe RetiredContext.handle(for: handle)
        else { return }
        defer { ErrorQueue.clear() }
        unsafe segue_ssl_empty_key_exchange(handle)
        guard unsafe SSL_set_SSL_CTX(handle, retired) == retired else { return }
        _ = unsafe SSL_set_session(handle, nil)
    }
}

/// The library's context of connections that have shaken hands by TLS 1.3: it has no keys and no certificates, and is asked for nothing but the hash functions
/// of later key updates. Never changed once it is there, and there for good.
private enum RetiredContext {
    private static let tls13 = unsafe Locked<OpaquePointer?>(nil)

    /// Made for the first connection's protocol; `nil` when memory is out.
    static func handle(for ssl: OpaquePointer) -> OpaquePointer? {
        unsafe tls13.withLock { made in
            if unsafe made == nil { unsafe made = unsafe SSL_CTX_new(SSL_get_ssl_method(ssl)) }
            return unsafe made
        }
    }
}
