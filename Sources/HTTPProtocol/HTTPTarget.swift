/// A request target (RFC 9112 §3.2), checked against the URI grammar and split at the first question mark. Nothing is percent-decoded here.
package struct HTTPTarget: Sendable, Hashable {
    package enum Form: Sendable, Hashable {
        /// `/path?query`; over HTTP/2 with `scheme` and `authority` from the pseudo-header fields.
        case origin
        /// `https://host/path?query`.
        case absolute
        /// `*`, for OPTIONS alone.
        case asterisk
        /// `host:port`, for plain CONNECT over HTTP/2 alone; `path` is empty.
        case authority
    }

    package let form: Form
    /// In lower case; absolute form and HTTP/2.
    package let scheme: String?
    /// `host` or `host:port` in lower case; absolute form and HTTP/2.
    package let authority: String?
    /// Begins with a slash, but for `*` and for the authority form.
    package let path: String
    /// What follows the question mark; `nil` without one.
    package let query: String?

    package init(form: Form, scheme: String? = nil, authority: String? = nil, path: String, query: String? = nil) {
        self.form = form
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
    }

    /// Reads the target of an HTTP/1.1 request line. CONNECT is refused: this is an origin server.
    ///
    /// - Throws: ``HTTPFault/invalidTarget`` or ``HTTPFault/connectNotSupported``.
    package init(http1 text: String, method: HTTPMethod) throws(HTTPFault) {
        guard method != .connect else { throw .connectNotSupported }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .invalidTarget }
        if text == "*" {
            guard method == .options else { throw .invalidTarget }
            self.init(form: .asterisk, path: "*")
        } else if text.utf8.first == Grammar.slash {
            guard let (path, query) = Self.split(text[...]) else { throw .invalidTarget }
            self.init(form: .origin, path: path, query: query)
        } else {
            guard let target = Self.absolute(text) else { throw .invalidTarget }
            self = target
        }
    }

    /// Splits and checks `path ["?" query]` (RFC 3986 §3.3, §3.4): visible ASCII of the grammar, percent signs with two hex digits, no fragment.
    static func split(_ text: Substring) -> (path: String, query: String?)? {
        var remainingHex = 0
        var queryStart: Substring.Index?
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text.utf8[index]
            if remainingHex > 0 {
                guard Grammar.hexValue(byte) != nil else { return nil }
                remainingHex -= 1
            } else if byte == Grammar.percent {
                remainingHex = 2
            } else if byte == UInt8(ascii: "?") {
                if queryStart == nil { queryStart = index }
            } else if !Grammar.isPathCharacter(byte) {
                return nil
            }
            index = text.utf8.index(after: index)
        }
        guard remainingHex == 0 else { return nil }
        guard let queryStart else { return (String(text), nil) }
        return (String(text[..<queryStart]), String(text[text.utf8.index(after: queryStart)...]))
    }

    private static func absolute(_ text: String) -> HTTPTarget? {
        let scheme: String
        let lowered = Grammar.lowercased(text.prefix(8))
        if lowered.hasPrefix("https://") {
            scheme = "https"
        } else if lowered.hasPrefix("http://") {
            scheme = "http"
        } else {
            return nil
        }
        let rest = text.dropFirst(scheme.utf8.count + 3)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = Grammar.lowercased(rest[..<end])
        guard HTTPAuthority.isValid(authority), let (path, query) = split(rest[end...]) else { return nil }
        return HTTPTarget(form: .absolute, scheme: scheme, authority: authority, path: path.isEmpty ? "/" : path, query: query)
    }
}

/// `host [":" port]` (RFC 9110 §7.2, RFC 3986 §3.2).
package enum HTTPAuthority {
    /// Stricter than the URI grammar on purpose: no user information, no empty host, no percent-encoding or sub-delimiters in the name
    /// (none occurs in a real host name, and `,` or `@` in one is how requests are smuggled), a port of 0…65535 when there is a colon.
    package static func isValid(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "[") {
            guard let close = text.firstIndex(of: "]") else { return false }
            let inside = text[text.index(after: text.startIndex)..<close]
            guard case .v6 = IPAddress(String(inside)) else { return false }
            return isPortSuffix(text[text.index(after: close)...])
        }
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        let host = text[..<colon]
        return !host.isEmpty && host.utf8.allSatisfy(Grammar.isUnreserved) && isPortSuffix(text[colon...])
    }

    private static func isPortSuffix(_ text: Substring) -> Bool {
        guard let first = text.utf8.first else { return true }
        return first == Grammar.colon && Grammar.port(text.dropFirst()) != nil
    }
}
