internal import COpenSSL

// Called by the library during a handshake, or by ``TLSContext/verify(_:intermediates:at:)``.

/// Validates the peer's path (RFC 5280 §6), then asks of a client's certificate that it can serve as an identity.
func verifyPeerCertificate(_ validation: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let validation = unsafe validation, let context = unsafe TLSContext.from(argument) else { return 0 }
    guard context.role == .server else { return unsafe X509_verify_cert(validation) == 1 ? 1 : 0 }
    guard let leaf = unsafe X509_STORE_CTX_get0_cert(validation) else { return 0 }
    let path = unsafe CertificatePath(leaf: leaf, others: X509_STORE_CTX_get0_untrusted(validation))
    let digest = path?.digest
    let seconds = unsafe Int64(X509_VERIFY_PARAM_get_time(X509_STORE_CTX_get0_param(validation)))
    if let digest, context.validatedPaths.isGood(digest, at: seconds) {
        unsafe X509_STORE_CTX_set_error(validation, X509_V_OK)
        return 1
    }
    guard unsafe X509_verify_cert(validation) == 1 else { return 0 }
    guard let identity = unsafe CertificateReader.identity(of: leaf) else {
        unsafe X509_STORE_CTX_set_error(validation, TLSFault.identityRefusedCode)
        return 0
    }
    if let path, let digest, path.byteCount <= ValidatedPaths.pathBytesMax,
        let validity = unsafe context.validity(of: X509_STORE_CTX_get0_chain(validation)), validity.contains(seconds)
    {
        context.validatedPaths.keep(ForwardedPeer(identity: identity, path: path), digest, validity: validity)
    }
    // The connection would keep it as long as it lives, and has no use for it.
    unsafe X509_STORE_CTX_set0_verified_chain(validation, nil)
    return 1
}

/// Lets an issuer without a revocation list pass, at any depth.
func toleratingAnyMissingList(_ isGood: Int32, _ validation: OpaquePointer?) -> Int32 {
    guard isGood == 0, unsafe X509_STORE_CTX_get_error(validation) == X509_V_ERR_UNABLE_TO_GET_CRL else { return isGood }
    unsafe X509_STORE_CTX_set_error(validation, X509_V_OK)
    return 1
}

/// Lets an issuer without a revocation list pass, except the issuer of the peer's own certificate.
func toleratingMissingListAboveLeaf(_ isGood: Int32, _ validation: OpaquePointer?) -> Int32 {
    guard unsafe X509_STORE_CTX_get_error_depth(validation) > 0 else { return isGood }
    return unsafe toleratingAnyMissingList(isGood, validation)
}

/// Accepts every server name (RFC 6066 §3): the relay has one set of certificates. Without an answer the library would not keep the name with the session.
func acceptServerName(_: OpaquePointer?, _: UnsafeMutablePointer<Int32>?, _: UnsafeMutableRawPointer?) -> Int32 {
    SSL_TLSEXT_ERR_OK
}

/// Picks the first of our protocols that the client offers; none in common is fatal (RFC 7301 §3.2).
func selectApplicationProtocol(
    _: OpaquePointer?, _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ selectedCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe TLSContext.from(argument), let selected = unsafe selected else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let ours = unsafe context.applicationProtocols
    var choice: UnsafeMutablePointer<UInt8>?
    let outcome = unsafe SSL_select_next_proto(&choice, selectedCount, ours.baseAddress, UInt32(ours.count), offered, offeredCount)
    guard outcome == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe selected.pointee = unsafe UnsafePointer(choice)
    return SSL_TLSEXT_ERR_OK
}

extension TLSContext {
    /// The context behind a callback's argument; it is alive, because the connection that runs the callback holds it.
    static func from(_ argument: UnsafeMutableRawPointer?) -> TLSContext? {
        unsafe argument.map { unsafe Unmanaged<TLSContext>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(_ ssl: OpaquePointer?) -> TLSContext? {
        unsafe from(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0))
    }

    /// Validates a peer's certificate against this context's trust store, exactly as a handshake would, at a time given in seconds since 1970.
    ///
    /// - Returns: `nil` when it is good.
    func verify(_ leaf: OpaquePointer, intermediates: OpaquePointer?, at seconds: Int64) -> TLSFault? {
        defer { ErrorQueue.clear() }
        guard let validation = unsafe X509_STORE_CTX_new() else { return .internal("out of memory") }
        defer { unsafe X509_STORE_CTX_free(validation) }
        guard unsafe X509_STORE_CTX_init(validation, SSL_CTX_get_cert_store(handle), leaf, intermediates) == 1,
            unsafe X509_STORE_CTX_set_default(validation, role == .server ? "ssl_client" : "ssl_server") == 1
        else { return .internal("out of memory") }
        let parameters = unsafe X509_STORE_CTX_get0_param(validation)
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
        unsafe X509_VERIFY_PARAM_set_depth(parameters, Self.intermediatesMax)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(seconds))
        let isGood = unsafe verifyPeerCertificate(validation, Unmanaged.passUnretained(self).toOpaque()) == 1
        let verdict = unsafe X509_STORE_CTX_get_error(validation)
        return isGood ? nil : .verification(verdict) ?? .certificateRefused(verdict)
    }
}
