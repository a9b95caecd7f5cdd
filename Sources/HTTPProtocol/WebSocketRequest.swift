/// One element of Sec-WebSocket-Extensions (RFC 6455 §9.1).
package struct WebSocketExtensionOffer: Sendable, Hashable {
    package struct Parameter: Sendable, Hashable {
        package let name: String
        /// Without quotation marks; `nil` when the parameter stands alone.
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    package let name: String
    package let parameters: [Parameter]

    package init(name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    /// Reads a whole list: `token *( ";" token [ "=" ( token / quoted-string ) ] )`, elements parted by commas.
    /// A quoted value must be a token once unquoted (RFC 6455 §9.1). `nil` when anything is malformed.
    package static func list(_ text: String) -> [WebSocketExtensionOffer]? {
        var scanner = HeaderScanner(text)
        var offers: [WebSocketExtensionOffer] = []
        repeat {
            scanner.skipWhitespace()
            // RFC 9110 §5.6.1.2: empty list elements are ignored.
            if scanner.isAtEnd || scanner.peek == UInt8(ascii: ",") { continue }
            guard let name = scanner.token(), let parameters = parameters(&scanner) else { return nil }
            offers.append(WebSocketExtensionOffer(name: name, parameters: parameters))
        } while scanner.take(UInt8(ascii: ","))
        return scanner.isAtEnd ? offers : nil
    }

    private static func parameters(_ scanner: inout HeaderScanner) -> [Parameter]? {
        var parameters: [Parameter] = []
        scanner.skipWhitespace()
        while scanner.take(UInt8(ascii: ";")) {
            scanner.skipWhitespace()
            guard let name = scanner.token() else { return nil }
            scanner.skipWhitespace()
            var value: String?
            if scanner.take(UInt8(ascii: "=")) {
                scanner.skipWhitespace()
                guard let text = scanner.peek == UInt8(ascii: "\"") ? scanner.quotedToken() : scanner.token() else { return nil }
                value = text
                scanner.skipWhitespace()
            }
            parameters.append(Parameter(name: name, value: value))
        }
        return parameters
    }
}

/// A forward scanner over one field value.
struct HeaderScanner {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { offset == bytes.count }
    var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func skipWhitespace() {
        while let byte = peek, byte == Grammar.space || byte == Grammar.tab { offset += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        offset += 1
        return true
    }

    mutating func token() -> String? {
        let start = offset
        while let byte = peek, Grammar.isTokenCharacter(byte) { offset += 1 }
        return offset > start ? String(decoding: bytes[start..<offset], as: UTF8.self) : nil
    }

    /// A quoted-string (RFC 9110 §5.6.4) whose content is a token.
    mutating func quotedToken() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var content: [UInt8] = []
        while let byte = peek {
            offset += 1
            if byte == UInt8(ascii: "\"") { return content.isEmpty ? nil : String(decoding: content, as: UTF8.self) }
            var character = byte
            if byte == UInt8(ascii: "\\") {
                guard let escaped = peek else { return nil }
                offset += 1
                character = escaped
            }
            guard Grammar.isTokenCharacter(character) else { return nil }
            content.append(character)
        }
        return nil
    }
}

/// A WebSocket that a client asked for, over either HTTP version, checked and taken apart.
package struct WebSocketRequest: Sendable, Hashable {
    package let version: HTTPVersion
    package let path: String
    package let query: String?
    /// `host` or `host:port`, in lower case.
    package let authority: String
    /// The Origin field as it came; `nil` when the client is no browser. See ``OriginAllowList``.
    package let origin: String?
    /// In the client's order of preference, without duplicates.
    package let subprotocols: [String]
    package let extensions: [WebSocketExtensionOffer]
    /// The value of all Sec-WebSocket-Extensions lines joined by commas; `nil` without one.
    package let extensionsValue: String?
    /// Sec-WebSocket-Key; HTTP/1.1 alone.
    package let key: String?
}

/// Why a WebSocket was refused with an ordinary HTTP response.
package enum UpgradeRefusal: Error, Sendable, Hashable, CaseIterable {
    /// The endpoint is for WebSockets and the request asked for none.
    case upgradeRequired
    case methodNotAllowed
    case connectionTokenMissing
    case authorityMissing
    case contentNotAllowed
    case versionMissing
    case versionNotSupported
    case invalidKey
    case invalidSubprotocols
    case invalidExtensions
    case multipleOrigins
    case schemeNotPermitted
    case protocolNotImplemented

    package var status: HTTPStatus {
        switch self {
        case .upgradeRequired, .versionNotSupported: .upgradeRequired
        case .methodNotAllowed: .methodNotAllowed
        case .protocolNotImplemented: .notImplemented
        case .connectionTokenMissing, .authorityMissing, .contentNotAllowed, .versionMissing, .invalidKey, .invalidSubprotocols, .invalidExtensions,
            .multipleOrigins, .schemeNotPermitted:
            .badRequest
        }
    }

    /// Fields that the response needs besides the problem document's own (RFC 9110 §15.5.22, §15.5.6; RFC 6455 §4.4).
    /// HTTP/2 has no Upgrade and no Connection field.
    package func responseFields(over version: HTTPVersion) -> [HTTPField] {
        switch self {
        case .upgradeRequired, .versionNotSupported:
            let supported = HTTPField("sec-websocket-version", "13")
            return version == .http2 ? [supported] : [HTTPField("upgrade", "websocket"), HTTPField("connection", "Upgrade"), supported]
        case .methodNotAllowed: return [HTTPField("allow", "GET")]
        case .connectionTokenMissing, .authorityMissing, .contentNotAllowed, .versionMissing, .invalidKey, .invalidSubprotocols, .invalidExtensions,
            .multipleOrigins, .schemeNotPermitted, .protocolNotImplemented:
            return []
        }
    }

    package var detail: String {
        switch self {
        case .upgradeRequired: "This endpoint speaks WebSocket: ask for an upgrade, or use extended CONNECT over HTTP/2."
        case .methodNotAllowed: "A WebSocket opens with GET."
        case .connectionTokenMissing: "The Connection field does not name Upgrade."
        case .authorityMissing: "The request names no host."
        case .contentNotAllowed: "A request for a WebSocket has no content."
        case .versionMissing: "There must be exactly one Sec-WebSocket-Version field."
        case .versionNotSupported: "The only WebSocket version supported is 13."
        case .invalidKey: "Sec-WebSocket-Key must be the base64 of 16 bytes, once."
        case .invalidSubprotocols: "Sec-WebSocket-Protocol must be a list of distinct tokens."
        case .invalidExtensions: "Sec-WebSocket-Extensions is malformed."
        case .multipleOrigins: "There is more than one Origin field."
        case .schemeNotPermitted: "A WebSocket opens over https here."
        case .protocolNotImplemented: "The only protocol implemented over extended CONNECT is websocket."
        }
    }
}
