/// What a token must say to be believed, besides its signature.
package struct TokenRequirements: Sendable {
    /// Which `typ` the header has (RFC 8725 §3.11), so that one kind of statement never passes for another.
    package enum MediaType: Sendable {
        /// None, `JWT` or `at+jwt` (RFC 9068 §2.1), with or without `application/`, in any case: a token of an identity provider.
        case bearer
        /// Exactly this one.
        case exactly(String)
    }

    package enum Audience: Sendable {
        /// One of these must be in `aud`, which must be there (RFC 7519 §4.1.3).
        case anyOf([String])
        /// Not looked at.
        case any
    }

    package var type: MediaType
    package var audience: Audience
    /// `iss` must be exactly this; `nil`: not looked at.
    package var issuer: String?
    package var requiresSubject: Bool
    /// How far this clock and the issuer's may be apart; 0 to ``leewaySecondsMax``.
    package var leewaySeconds: Int64

    package static let leewaySecondsMax: Int64 = 600

    package init(
        type: MediaType = .bearer, audience: Audience, issuer: String? = nil, requiresSubject: Bool = true, leewaySeconds: Int64 = 30
    ) {
        precondition((0...TokenRequirements.leewaySecondsMax).contains(leewaySeconds), "clocks are not that far apart")
        self.type = type
        self.audience = audience
        self.issuer = issuer
        self.requiresSubject = requiresSubject
        self.leewaySeconds = leewaySeconds
    }

    func accepts(type: String?) -> Bool {
        switch self.type {
        case .exactly(let wanted): return type?.utf8.elementsEqual(wanted.utf8) ?? false
        case .bearer:
            guard let type = type?.lowercased() else { return true }
            return ["jwt", "at+jwt", "application/jwt", "application/at+jwt"].contains(type)
        }
    }
}
