/// Why a token is not believed. Never holds anything that the token says: it may be somebody's secret, or somebody's attempt at the log.
package enum TokenFault: Error, Hashable, Sendable {
    /// More than ``JSONWebToken/bytesMax``.
    case tooLarge
    /// Not three parts of strict base64url with JSON objects in the first two (RFC 7515 §7.1, RFC 7519 §7.2).
    case malformed
    /// `none`, a MAC, or anything but ES256 and EdDSA (RFC 8725 §3.1, §3.2).
    case algorithm
    /// The header demands something that is not done here: `crit`, `b64` (RFC 7797), a nested token (`cty`).
    case header
    /// `typ` is of another kind of statement (RFC 8725 §3.11).
    case type
    case claimMissing(RegisteredClaim)
    case claimMalformed(RegisteredClaim)
    case expired
    case notYetValid
    /// `iat` lies in the future.
    case issuedInFuture
    case audience
    case issuer
    /// No key by that `kid` and of that algorithm.
    case unknownKey
    case signature
}

/// The claims of RFC 7519 §4.1 that are read.
package enum RegisteredClaim: String, Hashable, Sendable {
    case issuer = "iss"
    case subject = "sub"
    case audience = "aud"
    case expirationTime = "exp"
    case notBefore = "nbf"
    case issuedAt = "iat"
    case tokenID = "jti"
}

extension TokenFault: CustomStringConvertible {
    /// A sentence for whoever sent the token and for the audit log.
    package var description: String {
        switch self {
        case .tooLarge: "the token is larger than \(JSONWebToken.bytesMax) bytes"
        case .malformed: "the token is not a compact JWS with a JSON header and JSON claims"
        case .algorithm: "the token's algorithm is not ES256 or EdDSA"
        case .header: "the token's header demands what is not done here"
        case .type: "the token's type is another"
        case .claimMissing(let claim): "the token has no '\(claim.rawValue)'"
        case .claimMalformed(let claim): "the token's '\(claim.rawValue)' has a wrong value"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .issuedInFuture: "the token was issued in the future"
        case .audience: "the token is for another audience"
        case .issuer: "the token is from another issuer"
        case .unknownKey: "no key is known by the token's 'kid' and algorithm"
        case .signature: "the token's signature is wrong"
        }
    }

    /// For metrics.
    package var name: String {
        switch self {
        case .tooLarge: "too_large"
        case .malformed: "malformed"
        case .algorithm: "algorithm"
        case .header: "header"
        case .type: "type"
        case .claimMissing: "claim_missing"
        case .claimMalformed: "claim_malformed"
        case .expired: "expired"
        case .notYetValid: "not_yet_valid"
        case .issuedInFuture: "issued_in_future"
        case .audience: "audience"
        case .issuer: "issuer"
        case .unknownKey: "unknown_key"
        case .signature: "signature"
        }
    }
}
