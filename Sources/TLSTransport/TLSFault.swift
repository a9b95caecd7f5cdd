/// Why a TLS connection failed, by cause: what a peer did wrong, what is wrong with its certificate, or what it said is wrong with us.
package enum TLSFault: Error, Equatable, Sendable {
    // The peer's certificate.
    case noCertificate
    case unknownAuthority
    case selfSigned
    case expired
    case notYetValid
    case revoked
    /// The extended key usage does not allow this role (RFC 5280 §4.2.1.12).
    case wrongPurpose
    /// The certificate's signature, or the peer's proof that it has the key, does not verify.
    case badSignature
    case crlMissing
    /// A revocation list is past its `nextUpdate`, so it proves nothing.
    case crlExpired
    case hostnameMismatch
    /// The key or the signature's hash is too weak for security level 2.
    case weakKey
    /// The subject alternative names cannot serve as an identity: see ``PeerIdentity``.
    case identityRefused
    /// Any other verdict of path validation (an `X509_V_ERR_…` code).
    case certificateRefused(Int32)

    // Negotiation.
    case protocolVersion
    case noSharedCipher
    case noApplicationProtocol

    // The exchange.
    /// The peer ended the connection with this alert (RFC 8446 §6).
    case alertReceived(UInt8)
    /// A record that is too long, too short, of an unknown type, or fails its authentication.
    case malformedRecord
    /// Well-formed records whose contents break the protocol (an `SSL_R_…` code).
    case protocolViolation(Int32)
    /// The first bytes are not TLS at all: plain HTTP, for instance.
    case notTLS
    /// The stream ended without close_notify, so what was received may be incomplete (RFC 8446 §6.1).
    case truncated
    /// More key updates (RFC 8446 §4.6.3) or attempts to renegotiate than any honest peer makes.
    case controlFlood
    /// Thrown by the caller, which owns the deadline.
    case handshakeTimeout
    /// Ours, not the peer's.
    case `internal`(String)
}

extension TLSFault {
    /// A label for counters: lower-case words joined by underscores, one for each case.
    package var reason: String {
        switch self {
        case .noCertificate: "no_certificate"
        case .unknownAuthority: "unknown_authority"
        case .selfSigned: "self_signed"
        case .expired: "expired"
        case .notYetValid: "not_yet_valid"
        case .revoked: "revoked"
        case .wrongPurpose: "wrong_purpose"
        case .badSignature: "bad_signature"
        case .crlMissing: "crl_missing"
        case .crlExpired: "crl_expired"
        case .hostnameMismatch: "hostname_mismatch"
        case .weakKey: "weak_key"
        case .identityRefused: "identity_refused"
        case .certificateRefused: "certificate_refused"
        case .protocolVersion: "protocol_version"
        case .noSharedCipher: "no_shared_cipher"
        case .noApplicationProtocol: "no_application_protocol"
        case .alertReceived: "alert_received"
        case .malformedRecord: "malformed_record"
        case .protocolViolation: "protocol_violation"
        case .notTLS: "not_tls"
        case .truncated: "truncated"
        case .controlFlood: "control_flood"
        case .handshakeTimeout: "handshake_timeout"
        case .internal: "internal"
        }
    }
}

extension TLSFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .certificateRefused(let code): "certificate refused: \(verificationText(code))"
        case .alertReceived(let code): "peer sent alert \(code) (\(alertText(code)))"
        case .protocolViolation(let code): "protocol violation: \(sslReasonText(code))"
        case .internal(let text): "internal: \(text)"
        default: reason.split(separator: "_").joined(separator: " ")
        }
    }
}
