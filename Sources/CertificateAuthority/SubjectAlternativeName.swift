/// One name that a certificate vouches for (RFC 5280 §4.2.1.6), checked when it is made, so that one of these is always fit to be signed.
package struct SubjectAlternativeName: Hashable, Sendable, CustomStringConvertible {
    /// At most this many names go into one certificate.
    package static let countMax = 32

    package enum Kind: String, Hashable, Sendable {
        case dns = "DNS"
        case ip = "IP"
        case uri = "URI"
        case email
    }

    package let kind: Kind
    /// The canonical text: DNS names in lower case, IP addresses as `inet_ntop` writes them. ASCII only.
    package let value: String

    private init(kind: Kind, checked value: String) {
        self.kind = kind
        self.value = value
    }

    /// A host name, internationalised ones as punycode. `*.` is taken as the whole left-most label above at least two others (RFC 6125 §6.4.3).
    package static func dns(_ text: String) throws(CertificateAuthorityFault) -> Self {
        try NameSyntax.checkHostName(text, wildcardAllowed: true, as: .dns)
        return Self(kind: .dns, checked: text.lowercased())
    }

    /// An IPv4 address in dotted decimal or an IPv6 address without a zone.
    package static func ip(_ text: String) throws(CertificateAuthorityFault) -> Self {
        try NameSyntax.checkBytes(text, bytesMax: 45, as: .ip) { "0123456789abcdefABCDEF.:".utf8.contains($0) }
        guard let octets = NameSyntax.addressOctets(text), let canonical = NameSyntax.addressText(octets) else {
            throw .invalidName(.syntax("it is neither an IPv4 nor an IPv6 address"), kind: .ip)
        }
        return Self(kind: .ip, checked: canonical)
    }

    /// An absolute URI (RFC 3986 §4.3) without a fragment; if it has an authority, that is a host without user or port (RFC 5280 §4.2.1.6).
    /// Without commas too: where lists of names are shown, `URI:a,DNS:b` would look like two.
    package static func uri(_ text: String) throws(CertificateAuthorityFault) -> Self {
        try NameSyntax.checkURI(text)
        return Self(kind: .uri, checked: text)
    }

    /// A mailbox of the plain form `local@host` (RFC 5280's rfc822Name): no quotes, no comments.
    package static func email(_ text: String) throws(CertificateAuthorityFault) -> Self {
        try NameSyntax.checkEmail(text)
        return Self(kind: .email, checked: text)
    }

    /// What an operator types for a server: an IP address where it reads as one, else a host name.
    package static func host(_ text: String) throws(CertificateAuthorityFault) -> Self {
        if text.utf8.count <= 45, !text.utf8.contains(0), NameSyntax.addressOctets(text) != nil { return try .ip(text) }
        return try .dns(text)
    }

    /// The identity of a Segue client: `urn:segue:client:<name>`.
    ///
    /// A URN (RFC 8141) has no authority part, so that nothing about it depends on DNS, and it is compared octet by octet: `Alice` and
    /// `alice` are two clients. The name has 1 to 64 characters of `A–Z a–z 0–9 . _ -` and begins with a letter or a digit.
    package static func client(named name: String) throws(CertificateAuthorityFault) -> Self {
        try NameSyntax.checkLabel(name, as: .clientName)
        return Self(kind: .uri, checked: "urn:segue:client:" + name)
    }

    /// Reads the text form (`DNS:localhost`, `IP:::1`, `URI:urn:segue:client:alice`, `email:a@example.org`) that ``description`` writes.
    package init(parsing text: String) throws(CertificateAuthorityFault) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else {
            throw .invalidName(.syntax("it does not begin with URI:, DNS:, email: or IP:"), kind: .unknown)
        }
        let value = String(parts[1])
        self =
            switch kind {
            case .dns: try .dns(value)
            case .ip: try .ip(value)
            case .uri: try .uri(value)
            case .email: try .email(value)
            }
    }

    package var description: String { kind.rawValue + ":" + value }

    var nameKind: NameKind {
        switch kind {
        case .dns: .dns
        case .ip: .ip
        case .uri: .uri
        case .email: .email
        }
    }

    /// What goes into the certificate: 4 or 16 octets for an address, IA5 characters for everything else.
    var octets: [UInt8] {
        kind == .ip ? NameSyntax.addressOctets(value) ?? [] : Array(value.utf8)
    }
}

extension [SubjectAlternativeName] {
    /// The name that is the identity of a client with these names: the first URI, else the first DNS name, else the first e-mail address.
    var identifying: SubjectAlternativeName? {
        for kind in [SubjectAlternativeName.Kind.uri, .dns, .email] {
            if let name = first(where: { $0.kind == kind }) { return name }
        }
        return nil
    }
}
