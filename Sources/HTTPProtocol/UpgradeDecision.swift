/// What to do with an HTTP/1.1 request as far as WebSocket is concerned (RFC 6455 §4.2.1).
package enum UpgradeDecision: Sendable, Hashable {
    /// An ordinary request. An endpoint that speaks WebSocket alone answers it with ``UpgradeRefusal/upgradeRequired``.
    case notRequested
    case accept(WebSocketRequest)
    case refuse(UpgradeRefusal)

    package init(_ head: HTTPRequestHead) {
        // RFC 9110 §7.8: an Upgrade field in HTTP/1.0 is ignored.
        guard head.version == .http11, head.fields.hasToken("websocket", in: "upgrade") else {
            self = .notRequested
            return
        }
        do {
            self = .accept(try Self.request(head))
        } catch {
            self = .refuse(error)
        }
    }

    private static func request(_ head: HTTPRequestHead) throws(UpgradeRefusal) -> WebSocketRequest {
        guard head.method == .get else { throw .methodNotAllowed }
        guard head.fields.hasToken("upgrade", in: "connection") else { throw .connectionTokenMissing }
        guard head.framing == .none else { throw .contentNotAllowed }
        try WebSocketRequest.checkVersion(head.fields)
        guard let key = head.fields.single("sec-websocket-key"), isKey(key) else { throw .invalidKey }
        return try WebSocketRequest(head, key: key)
    }

    /// The base64 of 16 bytes: 22 characters and two pads (RFC 6455 §4.1). Bits beyond the 16th byte are not looked at (RFC 4648 §3.5).
    static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return bytes.count == 24 && bytes[22] == UInt8(ascii: "=") && bytes[23] == UInt8(ascii: "=")
            && bytes[..<22].allSatisfy { Grammar.isAlpha($0) || Grammar.isDigit($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
    }
}

/// What to do with an HTTP/2 request as far as WebSocket is concerned (RFC 8441 §4, §5).
package enum ExtendedConnectDecision: Sendable, Hashable {
    /// No extended CONNECT: an ordinary request, or a plain CONNECT (``HTTPTarget/Form/authority``), which an origin server refuses with 501.
    case notRequested
    case accept(WebSocketRequest)
    case refuse(UpgradeRefusal)
    /// Malformed: RST_STREAM with PROTOCOL_ERROR.
    case resetStream(HTTP2HeadFault)

    /// - Parameter permitsPlainScheme: whether `:scheme http` will do, on a plaintext listener.
    package init(_ head: HTTPRequestHead, permitsPlainScheme: Bool = false) {
        guard head.version == .http2, let extendedProtocol = head.extendedProtocol else {
            self = .notRequested
            return
        }
        guard head.method == .connect else {
            self = .resetStream(.forbiddenPseudoField)
            return
        }
        guard head.target.form == .origin, let scheme = head.target.scheme, head.target.authority != nil else {
            self = .resetStream(.missingPseudoField)
            return
        }
        do {
            self = .accept(try Self.request(head, scheme: scheme, extendedProtocol: extendedProtocol, permitsPlainScheme: permitsPlainScheme))
        } catch {
            self = .refuse(error)
        }
    }

    private static func request(
        _ head: HTTPRequestHead, scheme: String, extendedProtocol: String, permitsPlainScheme: Bool
    ) throws(UpgradeRefusal) -> WebSocketRequest {
        guard Grammar.lowercased(extendedProtocol) == "websocket" else { throw .protocolNotImplemented }
        guard scheme == "https" || permitsPlainScheme else { throw .schemeNotPermitted }
        // No length can be declared for a stream that becomes a WebSocket.
        guard head.framing == .untilClose || head.framing == .none else { throw .contentNotAllowed }
        try WebSocketRequest.checkVersion(head.fields)
        return try WebSocketRequest(head, key: nil)
    }
}

extension WebSocketRequest {
    /// RFC 6455 §4.2.1 item 6, §4.4.
    static func checkVersion(_ fields: HTTPFields) throws(UpgradeRefusal) {
        guard let version = fields.single("sec-websocket-version") else { throw .versionMissing }
        guard version == "13" else { throw .versionNotSupported }
    }

    /// What both HTTP versions have in common.
    init(_ head: HTTPRequestHead, key: String?) throws(UpgradeRefusal) {
        guard let authority = head.authority else { throw .authorityMissing }
        let origins = head.fields.all("origin")
        guard origins.count <= 1 else { throw .multipleOrigins }
        // RFC 6455 §4.1 item 10: tokens, each once.
        let subprotocols = head.fields.listElements("sec-websocket-protocol")
        guard subprotocols.allSatisfy({ Grammar.isToken($0) }), Set(subprotocols).count == subprotocols.count,
            !subprotocols.isEmpty || !head.fields.contains("sec-websocket-protocol")
        else { throw .invalidSubprotocols }
        let extensionLines = head.fields.all("sec-websocket-extensions")
        let extensionsValue = extensionLines.isEmpty ? nil : extensionLines.joined(separator: ", ")
        guard let extensions = WebSocketExtensionOffer.list(extensionsValue ?? "") else { throw .invalidExtensions }
        self.init(
            version: head.version, path: head.path, query: head.query, authority: authority, origin: origins.first, subprotocols: subprotocols,
            extensions: extensions, extensionsValue: extensionsValue, key: key)
    }
}
