/// What a head may not be written with: it would let a value break out of its line (RFC 9110 §5.5, response splitting).
package enum HTTPSerializationFault: Error, Sendable, Hashable {
    case invalidFieldName
    case invalidFieldValue
    case invalidStartLine
}

extension HTTPResponseHead {
    /// The bytes of the head in HTTP/1.1, with the empty line (RFC 9112 §4, §5).
    ///
    /// - Parameter date: an IMF-fixdate (RFC 9110 §5.6.7) that the caller keeps current; not added when the fields have one, or for `nil`.
    package func serialized(date: String?) throws(HTTPSerializationFault) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(256)
        // RFC 9112 §2.3: a server states the version it conforms to, also to an HTTP/1.0 client.
        head.append(contentsOf: "HTTP/1.1 \(status.code) \(status.reason)\r\n".utf8)
        if let date, !fields.contains("date") { try HTTPField(lowercasedName: "date", value: date).append(to: &head) }
        for field in fields.lines { try field.append(to: &head) }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }
}

extension HTTPRequestHead {
    /// The bytes of the head in HTTP/1.1, with the empty line (RFC 9112 §3), for the client's side. The target is written in origin form.
    package func serialized() throws(HTTPSerializationFault) -> [UInt8] {
        var text = target.path
        if let query = target.query { text += "?" + query }
        guard Grammar.isToken(method.name), text == "*" || (text.utf8.first == Grammar.slash && HTTPTarget.split(text[...]) != nil) else {
            throw .invalidStartLine
        }
        var head: [UInt8] = []
        head.reserveCapacity(256)
        head.append(contentsOf: "\(method.name) \(text) HTTP/1.1\r\n".utf8)
        for field in fields.lines { try field.append(to: &head) }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }

    /// The request that asks for a WebSocket over HTTP/1.1 (RFC 6455 §4.1).
    ///
    /// - Parameters:
    ///   - key: base64 of 16 random bytes.
    ///   - path: origin form, with its query if any.
    package static func webSocketUpgrade(
        authority: String, path: String, query: String? = nil, key: String, subprotocols: [String], extensions: String? = nil, extra: [HTTPField] = []
    ) -> HTTPRequestHead {
        var fields: HTTPFields = [
            HTTPField("host", authority), HTTPField("upgrade", "websocket"), HTTPField("connection", "Upgrade"),
            HTTPField("sec-websocket-version", "13"), HTTPField("sec-websocket-key", key),
        ]
        if !subprotocols.isEmpty { fields.append("sec-websocket-protocol", subprotocols.joined(separator: ", ")) }
        if let extensions { fields.append("sec-websocket-extensions", extensions) }
        for field in extra { fields.append(field) }
        return HTTPRequestHead(method: .get, target: HTTPTarget(form: .origin, path: path, query: query), version: .http11, fields: fields)
    }
}

extension HTTPField {
    func append(to head: inout [UInt8]) throws(HTTPSerializationFault) {
        guard Grammar.isToken(name) else { throw .invalidFieldName }
        guard Grammar.isFieldValue(value) else { throw .invalidFieldValue }
        head.append(contentsOf: name.utf8)
        head.append(Grammar.colon)
        head.append(Grammar.space)
        head.append(contentsOf: value.utf8)
        head.append(Grammar.carriageReturn)
        head.append(Grammar.lineFeed)
    }
}
