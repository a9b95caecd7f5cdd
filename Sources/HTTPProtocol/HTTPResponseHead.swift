/// The head of a response: what a server sends, and what ``HTTPResponseHeadParser`` reads on the client's side.
package struct HTTPResponseHead: Sendable, Hashable {
    package var status: HTTPStatus
    package var version: HTTPVersion
    package var fields: HTTPFields

    package init(status: HTTPStatus, version: HTTPVersion = .http11, fields: HTTPFields = HTTPFields()) {
        self.status = status
        self.version = version
        self.fields = fields
    }

    /// How the body is delimited in HTTP/1.1, given the request's method (RFC 9112 §6.3).
    ///
    /// - Throws: ``HTTPFault`` when the fields that say so are malformed or contradict each other.
    package func framing(requestMethod: HTTPMethod) throws(HTTPFault) -> HTTPFraming {
        let declared = try fields.declaredFraming(version: version)
        if requestMethod == .head || status.forbidsContent { return .none }
        if requestMethod == .connect, (200...299).contains(status.code) { return .none }
        return declared ?? .untilClose
    }

    /// The 101 that answers an accepted upgrade (RFC 6455 §4.2.2).
    ///
    /// - Parameter accept: the value computed from the client's key.
    package static func webSocketAccepted(accept: String, subprotocol: String?, extensions: String?) -> HTTPResponseHead {
        var fields: HTTPFields = [HTTPField("upgrade", "websocket"), HTTPField("connection", "Upgrade"), HTTPField("sec-websocket-accept", accept)]
        if let subprotocol { fields.append("sec-websocket-protocol", subprotocol) }
        if let extensions { fields.append("sec-websocket-extensions", extensions) }
        return HTTPResponseHead(status: .switchingProtocols, fields: fields)
    }
}
