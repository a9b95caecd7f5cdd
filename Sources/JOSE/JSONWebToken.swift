/// A token that was verified: signature, time and everything that ``TokenRequirements`` asks for (RFC 7519 §7.2).
package struct JSONWebToken: Sendable {
    package static let bytesMax = 8 << 10
    package static let subjectBytesMax = 512
    package static let audiencesMax = 16
    /// 9999-12-31T23:59:59Z: no time in a token is later.
    package static let timeMax: Int64 = 253_402_300_799

    /// 1 to 512 printable ASCII characters; there unless ``TokenRequirements/requiresSubject`` is off.
    package let subject: String?
    package let issuer: String?
    package let audience: [String]
    /// Seconds since 1970, as the token says it, without leeway.
    package let expiresAt: Int64
    package let notBefore: Int64?
    package let issuedAt: Int64?
    package let tokenID: String?
    package let keyID: String?
    /// The thumbprint of the key that signed: whether it is still trusted can be asked again after a reload.
    package private(set) var keyThumbprint = ""
    /// The whole claims set as JSON, in which no object names a member twice.
    package let claims: [UInt8]

    /// Takes the claims out and holds them to the requirements: everything but the signature.
    init(_ signed: CompactSignature, _ requirements: TokenRequirements, now: Int64) throws(TokenFault) {
        guard requirements.accepts(type: signed.type) else { throw .type }
        guard let members = try? StrictJSON(parsing: signed.payload).object else { throw .malformed }
        let claims = ClaimReader(members: members)
        guard let expiresAt = try claims.time(.expirationTime, .down) else { throw .claimMissing(.expirationTime) }
        notBefore = try claims.time(.notBefore, .up)
        issuedAt = try claims.time(.issuedAt, .down)
        subject = try claims.subject()
        issuer = try claims.text(.issuer)
        audience = try claims.audience()
        tokenID = try claims.text(.tokenID)
        self.expiresAt = expiresAt
        keyID = signed.keyID
        self.claims = signed.payload

        if requirements.requiresSubject, subject == nil { throw .claimMissing(.subject) }
        // Sums stay far below an overflow: times of a token end in the year 9999, and leeway has a bound.
        let leeway = requirements.leewaySeconds
        guard now - leeway < expiresAt else { throw .expired }
        if let notBefore, notBefore > now + leeway { throw .notYetValid }
        if let issuedAt, issuedAt > now + leeway { throw .issuedInFuture }
        if let wanted = requirements.issuer {
            guard let issuer else { throw .claimMissing(.issuer) }
            guard issuer.utf8.elementsEqual(wanted.utf8) else { throw .issuer }
        }
        if case .anyOf(let wanted) = requirements.audience {
            guard claims.has(.audience) else { throw .claimMissing(.audience) }
            guard audience.contains(where: { one in wanted.contains { $0.utf8.elementsEqual(one.utf8) } }) else { throw .audience }
        }
    }

    fileprivate mutating func settle(_ key: JSONWebKey) {
        keyThumbprint = key.thumbprint
    }
}

extension JSONWebKeySet {
    /// Verifies a token in compact form. What is cheap is looked at first: size, header and claims; the signature, which costs 100 µs, comes last.
    ///
    /// - Parameter now: seconds since 1970, from 0 to the year 9999.
    package func verify(_ token: some StringProtocol, _ requirements: TokenRequirements, now: Int64) throws(TokenFault) -> JSONWebToken {
        precondition((0...JSONWebToken.timeMax).contains(now), "a clock of this machine")
        let signed = try CompactSignature(token, bytesMax: JSONWebToken.bytesMax)
        var verified = try JSONWebToken(signed, requirements, now: now)
        let candidates = candidates(signed.keyID, signed.algorithm)
        guard !candidates.isEmpty else { throw .unknownKey }
        guard let key = candidates.first(where: signed.isSigned(by:)) else { throw .signature }
        verified.settle(key)
        return verified
    }
}

/// Reads registered claims (RFC 7519 §4.1). A claim that is there must have the type that it is to have, whoever needs it.
private struct ClaimReader {
    let members: JSONObject

    func has(_ claim: RegisteredClaim) -> Bool { members[claim.rawValue] != nil }

    func text(_ claim: RegisteredClaim) throws(TokenFault) -> String? {
        guard let value = members[claim.rawValue] else { return nil }
        guard let text = value.string else { throw .claimMalformed(claim) }
        return text
    }

    func subject() throws(TokenFault) -> String? {
        guard let subject = try text(.subject) else { return nil }
        guard (1...JSONWebToken.subjectBytesMax).contains(subject.utf8.count), subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .claimMalformed(.subject)
        }
        return subject
    }

    /// One string or a list of them (RFC 7519 §4.1.3).
    func audience() throws(TokenFault) -> [String] {
        guard let value = members[RegisteredClaim.audience.rawValue] else { return [] }
        if let text = value.string { return [text] }
        guard let values = value.array, values.count <= JSONWebToken.audiencesMax else { throw .claimMalformed(.audience) }
        let texts = values.compactMap(\.string)
        guard texts.count == values.count else { throw .claimMalformed(.audience) }
        return texts
    }

    /// A NumericDate (RFC 7519 §2), which may have a fraction; from 1970 to the year 9999.
    ///
    /// - Parameter rounding: to the stricter side.
    func time(_ claim: RegisteredClaim, _ rounding: FloatingPointRoundingRule) throws(TokenFault) -> Int64? {
        guard let value = members[claim.rawValue] else { return nil }
        guard case .number(let text) = value, let number = Double(text), number >= 0, number <= Double(JSONWebToken.timeMax) else {
            throw .claimMalformed(claim)
        }
        return Int64(number.rounded(rounding))
    }
}
