/// A web origin: scheme, host, port (RFC 6454 §4).
package struct WebOrigin: Sendable, Hashable {
    /// In lower case.
    package let scheme: String
    /// In lower case; an IPv6 address with its brackets.
    package let host: String
    /// The scheme's own port when none is written; `nil` for a scheme that has none.
    package let port: UInt16?

    /// Reads the ASCII serialisation (RFC 6454 §6.2): `scheme "://" host [ ":" port ]` and nothing after it. `nil` for anything else, `null` among it.
    package init?(_ text: String) {
        guard let (scheme, rest) = Self.splitScheme(text), HTTPAuthority.isValid(rest) else { return nil }
        self.scheme = scheme
        (host, port) = Self.splitPort(rest, scheme: scheme)
    }

    /// The scheme and what follows `://`, both in lower case.
    static func splitScheme(_ text: String) -> (scheme: String, rest: String)? {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon]
        let rest = text[colon...]
        guard let first = scheme.utf8.first, Grammar.isAlpha(first), rest.hasPrefix("://") else { return nil }
        guard
            scheme.utf8.allSatisfy({
                Grammar.isAlpha($0) || Grammar.isDigit($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { return nil }
        return (Grammar.lowercased(scheme), Grammar.lowercased(rest.dropFirst(3)))
    }

    /// Parts a valid authority into host and port.
    static func splitPort(_ authority: String, scheme: String) -> (host: String, port: UInt16?) {
        let afterAddress = authority.firstIndex(of: "]") ?? authority.startIndex
        guard let colon = authority[afterAddress...].firstIndex(of: ":") else { return (authority, defaultPort(scheme)) }
        return (String(authority[..<colon]), Grammar.port(authority[authority.index(after: colon)...]))
    }

    private static func defaultPort(_ scheme: String) -> UInt16? {
        switch scheme {
        case "http", "ws": 80
        case "https", "wss": 443
        default: nil
        }
    }
}

/// The origins that browsers may connect from.
///
/// An entry is an origin (`https://app.example.org`, `http://localhost:8080`) or a wildcard for all names below a domain (`https://*.example.org`),
/// which does not cover the domain itself.
package struct OriginAllowList: Sendable, Hashable {
    /// The entry that cannot be read.
    package struct Fault: Error, Sendable, Hashable {
        package let entry: String

        package init(entry: String) {
            self.entry = entry
        }
    }

    package enum Decision: Sendable, Hashable {
        /// No Origin field: the client is no browser, and cross-site requests are no concern.
        case absent
        case allowed
        case refused
    }

    private struct Suffix: Sendable, Hashable {
        let scheme: String
        /// With its leading dot.
        let suffix: String
        let port: UInt16?
    }

    private var exact: Set<WebOrigin> = []
    private var suffixes: [Suffix] = []

    package init(_ entries: [String]) throws(Fault) {
        for entry in entries {
            if let origin = WebOrigin(entry) {
                exact.insert(origin)
            } else if let suffix = Self.wildcard(entry) {
                suffixes.append(suffix)
            } else {
                throw Fault(entry: entry)
            }
        }
    }

    /// Decides on a request's fields. More than one Origin line, `null`, and anything that is no origin are refused.
    package func decide(_ fields: HTTPFields) -> Decision {
        let origins = fields.all("origin")
        guard origins.count <= 1 else { return .refused }
        return decide(origin: origins.first)
    }

    /// - Parameter origin: the Origin field's value, `nil` without one.
    package func decide(origin: String?) -> Decision {
        guard let origin else { return .absent }
        guard let origin = WebOrigin(origin) else { return .refused }
        if exact.contains(origin) { return .allowed }
        let isBelow = suffixes.contains {
            $0.scheme == origin.scheme && $0.port == origin.port && origin.host.hasSuffix($0.suffix) && origin.host.utf8.count > $0.suffix.utf8.count
        }
        return isBelow ? .allowed : .refused
    }

    private static func wildcard(_ entry: String) -> Suffix? {
        guard let (scheme, rest) = WebOrigin.splitScheme(entry), rest.hasPrefix("*.") else { return nil }
        let domain = String(rest.dropFirst(2))
        guard HTTPAuthority.isValid(domain), domain.utf8.first != UInt8(ascii: "["), domain.utf8.first != UInt8(ascii: ".") else { return nil }
        let (host, port) = WebOrigin.splitPort(domain, scheme: scheme)
        guard IPAddress(host) == nil else { return nil }
        return Suffix(scheme: scheme, suffix: "." + host, port: port)
    }
}
