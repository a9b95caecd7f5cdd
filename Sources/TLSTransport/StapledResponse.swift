internal import COpenSSL

/// An OCSP response (RFC 6960) about one of the server's own certificates, for clients that ask for it in the handshake (RFC 6066 §8, RFC 8446 §4.4.2.1).
///
/// A client that is given a bad response ends the handshake, so one is only taken that a client would take: successful, about this certificate and its issuer,
/// good, signed by the issuer or by a responder that the issuer has appointed (RFC 6960 §4.2.2.2), and up to date.
struct StapledResponse: Sendable {
    let der: [UInt8]
    /// Seconds since 1970. From here on nothing is stapled.
    let nextUpdate: Int64

    /// Clocks may differ by so much when a response says that it is not valid yet.
    private static let skewSeconds: Int64 = 300
    private static let bytesMax = 64 << 10

    /// - Parameters:
    ///   - leaf: the certificate that the response is to be about.
    ///   - issuers: where the leaf's issuer is to be found: the rest of its chain, the authorities.
    ///   - seconds: the present time, since 1970.
    init(_ file: CredentialFile, leaf: LibraryObject, issuers: [LibraryObject], at seconds: Int64) throws(TLSSetupError) {
        defer { ErrorQueue.clear() }
        func refuse(_ detail: String) -> TLSSetupError { .unusableOCSPResponse(path: file.path, detail: detail) }
        guard file.bytes.count <= Self.bytesMax else { throw refuse("larger than \(Self.bytesMax) bytes") }
        let issuer = issuers.first { unsafe X509_check_issued($0.pointer, leaf.pointer) == X509_V_OK }
        guard let issuer else { throw refuse("the issuer's certificate is neither in the chain nor among the authorities") }
        let response = unsafe file.bytes.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe d2i_OCSP_RESPONSE(nil, &cursor, bytes.count)
        }
        guard let response = unsafe response else { throw refuse("not a response in DER") }
        defer { unsafe OCSP_RESPONSE_free(response) }
        let status = unsafe OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw refuse(unsafe "the responder answered \(String(cString: OCSP_response_status_str(Int(status))))")
        }
        guard let basic = unsafe OCSP_response_get1_basic(response) else { throw refuse("not a basic response") }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        guard unsafe Self.isSigned(basic, by: issuer, at: seconds) else {
            throw refuse("its signature is not the issuer's, nor that of a responder of the issuer")
        }
        guard let (verdict, thisUpdate, nextUpdate) = unsafe Self.verdict(in: basic, on: leaf, issuer: issuer) else {
            throw refuse("it is not about this certificate")
        }
        guard verdict == V_OCSP_CERTSTATUS_GOOD else {
            throw refuse(unsafe "the certificate's status is \(String(cString: OCSP_cert_status_str(Int(verdict))))")
        }
        guard let thisUpdate, thisUpdate <= seconds + Self.skewSeconds else { throw refuse("it is not valid yet") }
        guard let nextUpdate else { throw refuse("it does not say when the next one comes") }
        guard nextUpdate > seconds else { throw refuse("it is past its nextUpdate") }
        der = file.bytes
        self.nextUpdate = nextUpdate
    }

    private static func isSigned(_ basic: OpaquePointer, by issuer: LibraryObject, at seconds: Int64) -> Bool {
        guard let store = unsafe X509_STORE_new() else { return false }
        defer { unsafe X509_STORE_free(store) }
        guard let signers = unsafe segue_ssl_x509_stack_new() else { return false }
        defer { unsafe segue_ssl_x509_stack_free(signers) }
        guard unsafe X509_STORE_add_cert(store, issuer.pointer) == 1, unsafe segue_ssl_x509_push(signers, issuer.pointer) == 1 else { return false }
        // The issuer is the anchor, whether it is a root or not.
        unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        unsafe X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), Int(seconds))
        return unsafe OCSP_basic_verify(basic, signers, store, 0) == 1
    }

    /// What the response says of the certificate, whichever hash it names it by; `nil` when it says nothing.
    private static func verdict(
        in basic: OpaquePointer, on leaf: LibraryObject, issuer: LibraryObject
    ) -> (status: Int32, thisUpdate: Int64?, nextUpdate: Int64?)? {
        for isSHA1 in [true, false] {
            let digest = unsafe isSHA1 ? EVP_sha1() : EVP_sha256()
            guard let id = unsafe OCSP_cert_to_id(digest, leaf.pointer, issuer.pointer) else { return nil }
            defer { unsafe OCSP_CERTID_free(id) }
            let place = unsafe OCSP_resp_find(basic, id, -1)
            guard place >= 0, let single = unsafe OCSP_resp_get0(basic, place) else { continue }
            var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            let status = unsafe OCSP_single_get0_status(single, nil, nil, &thisUpdate, &nextUpdate)
            return unsafe (status, CertificateReader.unixSeconds(thisUpdate), CertificateReader.unixSeconds(nextUpdate))
        }
        return nil
    }
}

/// Staples what is at hand for the certificate that the handshake uses, unless it has gone out of date.
func stapleResponse(_ ssl: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let context = unsafe TLSContext.from(argument), let certificate = unsafe SSL_get_certificate(ssl),
        let response = unsafe context.staple(for: certificate), response.nextUpdate > context.clock.seconds()
    else { return SSL_TLSEXT_ERR_NOACK }
    return unsafe segue_ssl_staple(ssl, response.der, response.der.count) == 1 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK
}
