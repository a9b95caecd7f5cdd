internal import COpenSSL

/// A session that a client may resume: opaque, and in TLS 1.3 meant for one use (RFC 8446 appendix C.4).
///
/// It is a copy apart from any connection, and each connection that resumes it works on a copy too: when a connection goes without close_notify, the library
/// spoils its session object for further use.
@safe
package final class TLSSession {
    private let handle: OpaquePointer

    /// `nil` when memory is out.
    init?(copying original: OpaquePointer) {
        guard let handle = unsafe SSL_SESSION_dup(original) else { return nil }
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe SSL_SESSION_free(handle)
    }

    /// Offers the session in the handshake of `ssl`; without memory for a copy the handshake is a full one.
    func offer(in ssl: OpaquePointer) {
        guard let copy = unsafe SSL_SESSION_dup(handle) else { return }
        _ = unsafe SSL_set_session(ssl, copy)
        unsafe SSL_SESSION_free(copy)
    }
}
