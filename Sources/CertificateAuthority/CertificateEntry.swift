/// Which side of a connection a certificate is for. It decides the extended key usage, so that neither can stand in for the other.
package enum CertificateKind: String, Hashable, Sendable, CaseIterable {
    case server
    case client

    /// 90 days for servers, a year for clients.
    package var validityDefault: Duration {
        switch self {
        case .server: .days(90)
        case .client: .days(365)
        }
    }

    /// 397 days for servers, which is the most that browsers take; 825 for clients.
    package var validityDaysMax: Int {
        switch self {
        case .server: 397
        case .client: 825
        }
    }
}

/// Why a certificate was revoked (RFC 5280 §5.3.1), as far as a leaf of this authority can be: certificates are not put on hold, since a hold that
/// is lifted would need delta lists.
package enum RevocationReason: String, Hashable, Sendable, CaseIterable {
    case unspecified
    case keyCompromise
    case affiliationChanged
    case superseded
    case cessationOfOperation
    case privilegeWithdrawn

    /// The CRLReason number.
    var code: Int {
        switch self {
        case .unspecified: 0
        case .keyCompromise: 1
        case .affiliationChanged: 3
        case .superseded: 4
        case .cessationOfOperation: 5
        case .privilegeWithdrawn: 9
        }
    }
}

package enum CertificateStatus: String, Hashable, Sendable {
    case notYetValid
    case valid
    case expired
    case revoked
}

/// How a certificate came about, where that matters later.
package struct CertificateOrigin: Hashable, Sendable {
    /// The enrolment token that was spent on it: a token that the index names is used up.
    package var token: EnrolmentTokenID?
    /// The certificate by which its owner asked for it; `nil` where the operator renewed, of which the owner may know nothing.
    package var predecessor: CertificateSerial?

    package init(token: EnrolmentTokenID? = nil, predecessor: CertificateSerial? = nil) {
        self.token = token
        self.predecessor = predecessor
    }
}

/// One certificate of the index.
package struct CertificateEntry: Hashable, Sendable {
    package struct Revocation: Hashable, Sendable {
        package let at: UnixTime
        package let reason: RevocationReason
    }

    package let serial: CertificateSerial
    package let kind: CertificateKind
    /// What people call it; the newest certificate of a label, renewals by devices aside, is found at `live/<label>/`.
    package let label: String
    package let names: [SubjectAlternativeName]
    package let notBefore: UnixTime
    package let notAfter: UnixTime
    /// `nil` when the key was made elsewhere and only a signing request came here.
    package let key: KeyAlgorithm?
    /// `nil` in an index that was written before it was kept; the certificate's file has the key.
    package let keyFingerprint: KeyFingerprint?
    package let origin: CertificateOrigin
    package internal(set) var revocation: Revocation?

    /// A revoked certificate stays revoked, also after it would have expired.
    package func status(at now: UnixTime) -> CertificateStatus {
        if revocation != nil { return .revoked }
        if now > notAfter { return .expired }
        return now < notBefore ? .notYetValid : .valid
    }
}
