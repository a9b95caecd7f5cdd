internal import COpenSSL

// Called by the library when it makes or opens a session ticket. A resumed session is not verified by the library again, and its ticket holds only the
// peer's own certificate. So the authorities that the peer sent travel in the ticket too, and the whole path is validated anew, as of now, before a ticket
// is honoured: an expired or revoked certificate thus falls back to a full handshake, which refuses it with the right alert.

/// Keys the sealing (`seals` = 1) or opening of a ticket. Answers 1: done; 2: done, and give the peer a fresh one; 0: no such key; −1: failed.
func keyTicket(
    _ ssl: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?, _ iv: UnsafeMutablePointer<UInt8>?, _ cipher: OpaquePointer?, _ mac: OpaquePointer?,
    _ seals: Int32
) -> Int32 {
    guard let context = unsafe TLSContext.of(ssl), let tickets = context.tickets, let name = unsafe name, let iv = unsafe iv else { return -1 }
    let now = context.clock.seconds()
    let nameField = unsafe UnsafeMutableBufferPointer(start: name, count: 16)
    if seals == 1 {
        guard let keys = tickets.sealingKeys(trustVersion: context.trustVersion, now: now), unsafe RAND_bytes(iv, 16) == 1 else { return -1 }
        _ = unsafe nameField.update(from: keys.name)
        return unsafe segue_ssl_ticket_init(cipher, mac, keys.cipherKey, keys.macKey, iv, 1) == 1 ? 1 : -1
    }
    guard let (keys, isPrevious) = unsafe tickets.openingKeys(name: Array(nameField), trustVersion: context.trustVersion, now: now) else { return 0 }
    guard unsafe segue_ssl_ticket_init(cipher, mac, keys.cipherKey, keys.macKey, iv, 0) == 1 else { return -1 }
    return isPrevious ? 2 : 1
}

/// Puts the authorities that the peer sent into the session before it is sealed.
func ticketWillBeSealed(_ ssl: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    let session = unsafe SSL_get_session(ssl)
    // A session that was itself resumed carries them already.
    if unsafe SSL_session_reused(ssl) == 1 { return 1 }
    let data = unsafe TicketData.encode(SSL_get_peer_cert_chain(ssl))
    return unsafe SSL_SESSION_set1_ticket_appdata(session, data, data.count)
}

/// Decides whether an opened ticket is honoured.
func ticketWasOpened(
    _: OpaquePointer?, _ session: OpaquePointer?, _: UnsafePointer<UInt8>?, _: Int, _ status: SSL_TICKET_STATUS, _ argument: UnsafeMutableRawPointer?
) -> SSL_TICKET_RETURN {
    guard status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW, let context = unsafe TLSContext.from(argument) else {
        return SSL_TICKET_RETURN_IGNORE_RENEW
    }
    guard unsafe context.acceptsResumption(of: session) else { return SSL_TICKET_RETURN_IGNORE_RENEW }
    // In TLS 1.3 a ticket should serve once (RFC 8446 appendix C.4), so each use earns a new one.
    let isTLS13 = unsafe SSL_SESSION_get_protocol_version(session) == TLSVersion.tls13.rawValue
    return isTLS13 || status == SSL_TICKET_SUCCESS_RENEW ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE
}

extension TLSContext {
    fileprivate func acceptsResumption(of session: OpaquePointer?) -> Bool {
        guard let leaf = unsafe SSL_SESSION_get0_peer(session) else {
            // The library does not ask a resumed session for the certificate that the policy requires.
            return configuration.clientCertificate != .required
        }
        guard let intermediates = unsafe TicketData.intermediates(in: session) else { return false }
        defer { unsafe segue_ssl_x509_stack_free(intermediates) }
        return unsafe verify(leaf, intermediates: intermediates, at: clock.seconds()) == nil
    }
}

/// The authorities' certificates inside a session ticket: for each a four-byte big-endian length and its DER bytes.
enum TicketData {
    /// A ticket travels in the client's first packet; longer paths than this are not worth resuming.
    private static let bytesMax = 8 << 10
    /// Stands for "not to be resumed": a length that no certificate has.
    private static let unresumable: [UInt8] = [0, 0, 0, 0]

    static func encode(_ chain: OpaquePointer?) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in unsafe 0..<segue_ssl_x509_count(chain) {
            guard let certificate = unsafe segue_ssl_x509_at(chain, index), let der = unsafe CertificateReader.der(of: certificate),
                bytes.count + 4 + der.count <= bytesMax
            else { return unresumable }
            for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: der.count >> shift)) }
            bytes += der
        }
        return bytes
    }

    /// The authorities in a session, as a stack that the caller frees; `nil` when the session is not to be resumed.
    static func intermediates(in session: OpaquePointer?) -> OpaquePointer? {
        var data: UnsafeMutableRawPointer?
        var count = 0
        guard unsafe SSL_SESSION_get0_ticket_appdata(session, &data, &count) == 1, let stack = unsafe segue_ssl_x509_stack_new() else { return nil }
        var rest = unsafe UnsafeRawBufferPointer(start: data, count: count)
        while unsafe !rest.isEmpty {
            guard unsafe push(firstOf: &rest, to: stack) else {
                unsafe segue_ssl_x509_stack_free(stack)
                ErrorQueue.clear()
                return nil
            }
        }
        return unsafe stack
    }

    private static func push(firstOf rest: inout UnsafeRawBufferPointer, to stack: OpaquePointer) -> Bool {
        guard rest.count >= 4 else { return false }
        let length = unsafe rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard length > 0, length <= rest.count - 4 else { return false }
        var cursor = unsafe rest.baseAddress.map { unsafe $0.assumingMemoryBound(to: UInt8.self) + 4 }
        guard let certificate = unsafe d2i_X509(nil, &cursor, length) else { return false }
        defer { unsafe X509_free(certificate) }
        unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[(4 + length)...])
        return unsafe segue_ssl_x509_push(stack, certificate) == 1
    }
}
