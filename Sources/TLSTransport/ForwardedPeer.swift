internal import COpenSSL

/// A client by its certificate alone: a trusted proxy has passed it on, or a handshake showed it. That the client has the key is the proxy's word, or was
/// proven then; that the certificate is good is verified here, by the same path validation as in a handshake, and can be verified again for as long as the
/// client's sessions live, whether there still is a connection or not.
package struct ForwardedPeer: Hashable, Sendable {
    /// Its ``PeerIdentity/proof`` says which of the two.
    package let identity: PeerIdentity
    /// DER: the client's own certificate, and the authorities that came with it. Bytes, because what the library makes of a certificate takes eight times as
    /// much memory.
    private let leaf: [UInt8]
    private let chain: [[UInt8]]

    init(identity: PeerIdentity, path: CertificatePath) {
        self.identity = identity
        leaf = path.leaf
        chain = path.chain
    }

    var path: CertificatePath { CertificatePath(leaf: leaf, chain: chain) }
}

extension TLSContext {
    /// Who the certificate says the client is, once chain, validity, extended key usage, revocation and names have been found good under this context at
    /// its present time.
    ///
    /// Costs one signature verification for each certificate of the path, about 0.1 ms.
    ///
    /// - Parameters:
    ///   - leaf: the client's certificate, DER and nothing behind it.
    ///   - chain: authorities between it and a root, DER each.
    package func identity(ofForwarded leaf: [UInt8], chain: [[UInt8]] = []) throws(TLSFault) -> ForwardedPeer {
        precondition(role == .server, "clients are verified by a server's context")
        let certificates = try ForwardedCertificates(leaf: leaf, chain: chain)
        if let fault = unsafe verify(certificates.leaf, intermediates: certificates.chain, at: clock.seconds()) { throw fault }
        guard let identity = unsafe CertificateReader.identity(of: certificates.leaf) else { throw .identityRefused }
        return ForwardedPeer(identity: identity.proven(by: .forwarded), path: CertificatePath(leaf: leaf, chain: chain))
    }

    /// What is wrong with a forwarded certificate under this context at its present time (after a reload, say); `nil` when it is still good.
    package func fault(ofForwarded peer: ForwardedPeer) -> TLSFault? {
        if validatedPaths.isGood(peer.path.digest, at: clock.seconds()) { return nil }
        do throws(TLSFault) {
            return try peer.fault(under: self)
        } catch {
            return error
        }
    }
}

extension TLSContext {
    /// Whether a revocation list names the certificate, or one that came with it: a look-up, a microsecond where ``fault(ofForwarded:)`` may take a hundred times
    /// as long, to find those that are to be measured first.
    package func isListed(_ peer: ForwardedPeer) -> Bool { isListed(peer.path) }
}

extension ForwardedPeer {
    fileprivate func certificates() throws(TLSFault) -> ForwardedCertificates {
        try ForwardedCertificates(leaf: leaf, chain: chain)
    }

    fileprivate func fault(under context: TLSContext) throws(TLSFault) -> TLSFault? {
        let certificates = try certificates()
        return unsafe context.verify(certificates.leaf, intermediates: certificates.chain, at: context.clock.seconds())
    }
}

/// The library's objects of one forwarded certificate, for the length of a verification.
@safe
private final class ForwardedCertificates {
    let leaf: OpaquePointer
    let chain: OpaquePointer

    init(leaf: [UInt8], chain: [[UInt8]]) throws(TLSFault) {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        guard let stack = unsafe segue_ssl_x509_stack_new() else { throw .internal("out of memory") }
        guard let certificate = unsafe Self.parse(leaf) else {
            unsafe segue_ssl_x509_stack_free(stack)
            throw .certificateRefused(X509_V_ERR_UNSPECIFIED)
        }
        unsafe self.leaf = unsafe certificate
        unsafe self.chain = unsafe stack
        // From here on a throw runs `deinit`.
        for der in chain {
            guard let authority = unsafe Self.parse(der) else { throw .certificateRefused(X509_V_ERR_UNSPECIFIED) }
            defer { unsafe X509_free(authority) }
            guard unsafe segue_ssl_x509_push(stack, authority) == 1 else { throw .internal("out of memory") }
        }
    }

    /// A certificate that takes all of `der`; `nil` for anything else. The caller owns it.
    private static func parse(_ der: [UInt8]) -> OpaquePointer? {
        unsafe der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &cursor, bytes.count) else { return nil }
            guard let start = bytes.baseAddress, unsafe cursor == start + bytes.count else {
                unsafe X509_free(certificate)
                return nil
            }
            return unsafe certificate
        }
    }

    deinit {
        unsafe X509_free(leaf)
        unsafe segue_ssl_x509_stack_free(chain)
    }
}
