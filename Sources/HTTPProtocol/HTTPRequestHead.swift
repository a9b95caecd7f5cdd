/// The head of a request, from HTTP/1.1 (``HTTPRequestHeadParser``) or HTTP/2 (``HTTP2RequestHeadBuilder``).
package struct HTTPRequestHead: Sendable, Hashable {
    package let method: HTTPMethod
    package let target: HTTPTarget
    package let version: HTTPVersion
    package let fields: HTTPFields
    /// Over HTTP/2 the stream ends the body: `.none` and `.contentLength` are then only what the client declared, `.untilClose` means it did not.
    package let framing: HTTPFraming
    /// The `:protocol` pseudo-header field of an extended CONNECT (RFC 8441 §4).
    package let extendedProtocol: String?

    package init(
        method: HTTPMethod, target: HTTPTarget, version: HTTPVersion, fields: HTTPFields, framing: HTTPFraming = .none,
        extendedProtocol: String? = nil
    ) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
        self.framing = framing
        self.extendedProtocol = extendedProtocol
    }

    /// The same head without the fields of these names (lower case).
    package func removingFields(_ names: Set<String>) -> HTTPRequestHead {
        HTTPRequestHead(
            method: method, target: target, version: version, fields: HTTPFields(fields.lines.filter { !names.contains($0.name) }), framing: framing,
            extendedProtocol: extendedProtocol)
    }

    package var path: String { target.path }
    package var query: String? { target.query }

    /// `host` or `host:port` in lower case: from the target when it has one, else from Host (RFC 9112 §3.2.2, RFC 9113 §8.3.1).
    package var authority: String? {
        target.authority ?? fields.first("host").map { Grammar.lowercased($0) }
    }

    /// Whether the connection stays open after this exchange, as far as the client is concerned (RFC 9112 §9.3).
    package var keepAlive: Bool {
        switch version {
        case .http2: true
        case .http11: !fields.hasToken("close", in: "connection")
        case .http10: fields.hasToken("keep-alive", in: "connection") && !fields.hasToken("close", in: "connection")
        }
    }

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1). HTTP/1.0 has no such thing.
    package var expectsContinue: Bool {
        version != .http10 && fields.hasToken("100-continue", in: "expect")
    }
}
