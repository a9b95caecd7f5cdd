internal import COpenSSL

/// The secret that lets one device have one certificate. Whoever has it is the device, so it is shown once, to be handed over out of band, and is kept
/// nowhere: the authority has its SHA-256 only.
///
/// `segue-enrol-` and 48 hexadecimal digits: 192 random bits behind a fixed beginning, by which scanners for leaked secrets can find it. What is random
/// needs no slow hash: nobody tries 2¹⁹² of them.
package struct EnrolmentSecret: Sendable {
    package static let prefix = "segue-enrol-"
    static let octetsMax = 24

    /// To be shown to whoever asked for the token, and to nobody else.
    package let text: String

    /// Draws a new one.
    init() throws(CertificateAuthorityFault) {
        var octets = [UInt8](repeating: 0, count: Self.octetsMax)
        try require(unsafe RAND_priv_bytes(&octets, Int32(octets.count)) == 1, "RAND_priv_bytes")
        text = Self.prefix + Hexadecimal.encode(octets)
    }

    /// What a device presents; `nil` for what cannot be one.
    package init?(_ text: String) {
        guard text.utf8.count == Self.prefix.utf8.count + Self.octetsMax * 2, text.hasPrefix(Self.prefix),
            text.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = text
    }

    func digest() throws(CertificateAuthorityFault) -> [UInt8] { try SHA256.digest(Array(text.utf8)) }
}

extension EnrolmentSecret: CustomStringConvertible, CustomReflectable {
    /// Never the secret: this is what ends up in logs.
    package var description: String { "(an enrolment token)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a token goes by where it is listed, revoked and looked up: the first eight octets of its digest, which tell nothing about the token.
package struct EnrolmentTokenID: Hashable, Sendable, CustomStringConvertible {
    static let octetsMax = 8

    package let octets: [UInt8]

    init(digest: [UInt8]) {
        precondition(digest.count >= Self.octetsMax, "a SHA-256 digest has 32 octets")
        octets = Array(digest.prefix(Self.octetsMax))
    }

    /// Reads the 16 hexadecimal digits that ``description`` writes; `nil` for anything else.
    package init?(_ text: String) {
        guard text.utf8.count == Self.octetsMax * 2, let octets = Hexadecimal.decode(text, octetsMax: Self.octetsMax) else { return nil }
        guard octets.count == Self.octetsMax else { return nil }
        self.octets = octets
    }

    package var description: String { Hexadecimal.encode(octets) }
}

package enum EnrolmentTokenStatus: String, Hashable, Sendable {
    case open
    case used
    case expired
    case revoked
}

/// An enrolment token as the authority remembers it: everything but the secret.
package struct EnrolmentToken: Hashable, Sendable {
    package static let validityDefault = Duration.seconds(3_600)
    package static let validityMax = Duration.days(30)
    /// Open, used and ended ones that are still remembered.
    package static let countMax = 1_000
    /// How long one that has ended is still listed.
    static let keptAfterEnd = Duration.days(7)

    package struct Use: Hashable, Sendable {
        package let at: UnixTime
        package let serial: CertificateSerial
    }

    package let id: EnrolmentTokenID
    let digest: [UInt8]
    /// The identity that the device gets, all names of it.
    package let names: [SubjectAlternativeName]
    /// What the certificate goes by, unless something else goes by it meanwhile.
    package let label: String
    package let created: UnixTime
    package let expires: UnixTime
    /// The certificate's lifetime.
    package let certificateValidity: Duration
    package internal(set) var use: Use?
    package internal(set) var revoked: UnixTime?

    package func status(at now: UnixTime) -> EnrolmentTokenStatus {
        if use != nil { return .used }
        if revoked != nil { return .revoked }
        return now < expires ? .open : .expired
    }

    /// Whether it can be forgotten.
    func isForgotten(at now: UnixTime) -> Bool { now > expires + Self.keptAfterEnd }
}
