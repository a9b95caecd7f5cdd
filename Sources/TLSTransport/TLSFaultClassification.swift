internal import COpenSSL

extension TLSFault {
    /// The fault behind a verdict of path validation (`X509_V_ERR_…`); `nil` for a good chain.
    static func verification(_ code: Int32) -> TLSFault? {
        switch code {
        case X509_V_OK: nil
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED:
            .unknownAuthority
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        case X509_V_ERR_CERT_REVOKED: .revoked
        case X509_V_ERR_INVALID_PURPOSE: .wrongPurpose
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE: .badSignature
        case X509_V_ERR_UNABLE_TO_GET_CRL: .crlMissing
        case X509_V_ERR_CRL_HAS_EXPIRED: .crlExpired
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .hostnameMismatch
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .weakKey
        case identityRefusedCode: .identityRefused
        default: .certificateRefused(code)
        }
    }

    /// The verdict with which our own verification step refuses an identity; the library answers it with a bad_certificate alert.
    static let identityRefusedCode = X509_V_ERR_CERT_REJECTED

    /// The fault behind a failed call, from the library's queue (which this empties) and the verdict on the peer's certificate.
    ///
    /// - Parameter isFirstRecord: nothing but the first record has been looked at, so a record header that makes no sense means "not TLS".
    static func fromQueue(verification: Int32, isFirstRecord: Bool) -> TLSFault {
        let codes = ErrorQueue.drain()
        // What the library itself calls fatal (out of memory, a state it should not be in) is no peer's doing.
        for code in codes where ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_FATAL_ERROR(code) == 0 {
            return ssl(reason: ERR_GET_REASON(code), verification: verification, isFirstRecord: isFirstRecord)
        }
        guard let first = codes.first else { return .internal("failed without a reason") }
        return .internal(ErrorQueue.text(of: first))
    }

    private static func ssl(reason: Int32, verification: Int32, isFirstRecord: Bool) -> TLSFault {
        // The library gives a received alert the reason 1000 + its code.
        if reason >= SSL_AD_REASON_OFFSET, reason < SSL_AD_REASON_OFFSET + 256 {
            return .alertReceived(UInt8(truncatingIfNeeded: reason - SSL_AD_REASON_OFFSET))
        }
        switch reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED: return .verification(verification) ?? .certificateRefused(verification)
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return .noCertificate
        case SSL_R_BAD_SIGNATURE, SSL_R_DIGEST_CHECK_FAILED: return .badSignature
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH, SSL_R_WRONG_SSL_VERSION, SSL_R_INAPPROPRIATE_FALLBACK,
            SSL_R_UNKNOWN_PROTOCOL, SSL_R_NO_PROTOCOLS_AVAILABLE:
            return .protocolVersion
        case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
            SSL_R_NO_SUITABLE_GROUPS, SSL_R_NO_CIPHERS_SPECIFIED:
            return .noSharedCipher
        case SSL_R_NO_APPLICATION_PROTOCOL: return .noApplicationProtocol
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST: return .notTLS
        case SSL_R_EE_KEY_TOO_SMALL, SSL_R_CA_KEY_TOO_SMALL, SSL_R_CA_MD_TOO_WEAK: return .weakKey
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_BAD_RECORD_TYPE, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG,
            SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_LENGTH_TOO_SHORT, SSL_R_LENGTH_TOO_LONG, SSL_R_RECORD_LENGTH_MISMATCH,
            SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, SSL_R_RECORD_TOO_SMALL, SSL_R_UNEXPECTED_RECORD, SSL_R_INVALID_CCS_MESSAGE:
            return isFirstRecord && reason != SSL_R_INVALID_CCS_MESSAGE ? .notTLS : .malformedRecord
        default: return .protocolViolation(reason)
        }
    }
}

/// The library's text for a verdict of path validation.
func verificationText(_ code: Int32) -> String {
    guard let text = unsafe X509_verify_cert_error_string(Int(code)) else { return "verdict \(code)" }
    return unsafe String(cString: text)
}

/// The name of an alert, as the library spells it.
func alertText(_ code: UInt8) -> String {
    // The library has no words for those of TLS 1.3 (RFC 8446 §6.2).
    switch code {
    case 109: return "missing extension"
    case 116: return "certificate required"
    default: break
    }
    guard let text = unsafe SSL_alert_desc_string_long(Int32(code)) else { return "unknown" }
    return unsafe String(cString: text)
}

/// The library's text for one of its SSL reasons.
func sslReasonText(_ reason: Int32) -> String {
    ErrorQueue.text(of: UInt(ERR_LIB_SSL) << UInt(ERR_LIB_OFFSET) | UInt(UInt32(bitPattern: reason)))
}
