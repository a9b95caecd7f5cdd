internal import COpenSSL

/// A session that a client may resume: opaque, and good for one use in TLS 1.3.
@safe
package final class TLSSession {
    let handle: OpaquePointer

    /// Takes over the caller's reference.
    init(owning handle: OpaquePointer) {
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe SSL_SESSION_free(handle)
    }
}
