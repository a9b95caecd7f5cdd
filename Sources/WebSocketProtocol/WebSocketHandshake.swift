/// The WebSocket part of the opening handshake (RFC 6455 §4; over HTTP/2, RFC 8441 §5). It knows field values, not HTTP messages: method, target, `Host`,
/// `Upgrade`, `Connection` and `Origin` are the HTTP layer's to check.
package enum WebSocketHandshake {
    /// The one protocol version (RFC 6455 §4.1), for `Sec-WebSocket-Version`.
    package static let version = "13"

    /// How the handshake comes: over HTTP/2 there is no key and no accept field, since `:protocol` does their work (RFC 8441 §5).
    package enum Transport: Sendable, Equatable {
        case http1
        case http2
    }

    /// The values of a request's fields, one element per field, as they came.
    package struct Request: Equatable, Sendable {
        /// `Sec-WebSocket-Key`.
        package var keys: [String] = []
        /// `Sec-WebSocket-Version`.
        package var versions: [String] = []
        /// `Sec-WebSocket-Protocol`.
        package var subprotocols: [String] = []
        /// `Sec-WebSocket-Extensions`.
        package var extensions: [String] = []

        package init() {}
    }

    /// The values of a response's fields; a `nil` one is left out.
    package struct Response: Equatable, Sendable {
        /// `Sec-WebSocket-Accept`.
        package var accept: String?
        /// `Sec-WebSocket-Protocol`.
        package var subprotocol: String?
        /// `Sec-WebSocket-Extensions`.
        package var extensions: String?
        /// What the extensions field agrees to.
        package var deflate: PerMessageDeflate?

        package init() {}
    }

    /// Checks a request and makes the server's answer (RFC 6455 §4.2).
    ///
    /// - Parameters:
    ///   - supported: the server's subprotocols, best first. When none of them is offered the answer has none, and it is the caller's choice to refuse.
    ///   - deflate: `nil` to decline compression.
    package static func answer(
        _ request: Request, over transport: Transport, supported: [String], deflate: PerMessageDeflate.Policy?
    ) throws(WebSocketHandshakeFault) -> Response {
        var response = Response()
        guard let version = request.versions.first else { throw .versionMissing }
        guard request.versions.count == 1 else { throw .versionRepeated }
        guard version == self.version else { throw .versionUnsupported }
        switch transport {
        case .http1:
            guard let key = request.keys.first else { throw .keyMissing }
            guard request.keys.count == 1 else { throw .keyRepeated }
            guard isValid(key: key) else { throw .keyInvalid }
            response.accept = accept(key: key)
        case .http2:
            break
        }
        response.subprotocol = try chooseSubprotocol(offered: request.subprotocols, supported: supported)
        // Parsed even when compression is off: a malformed field fails the handshake (§9.1).
        let offers = try WebSocketExtension.parse(request.extensions)
        if let deflate, let (agreed, element) = PerMessageDeflate.negotiate(offers, policy: deflate) {
            response.deflate = agreed
            response.extensions = element.fieldValue
        }
        return response
    }

    /// Whether `key` is 16 bytes in base64 (RFC 6455 §4.2.1).
    package static func isValid(key: String) -> Bool {
        key.utf8.count == 24 && Base64.decode(key.utf8)?.count == 16
    }

    /// The field value for 16 random bytes, which the caller draws (RFC 6455 §4.1).
    package static func key(_ nonce: [UInt8]) -> String {
        precondition(nonce.count == 16, "the nonce has 16 bytes")
        return Base64.encode(nonce)
    }

    /// `Sec-WebSocket-Accept` for a key (RFC 6455 §4.2.2).
    package static func accept(key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// The first of the server's subprotocols that the client offers, compared exactly; `nil` when there is none (RFC 6455 §4.2.2).
    package static func chooseSubprotocol(offered fields: [String], supported: [String]) throws(WebSocketHandshakeFault) -> String? {
        let offered = try parseSubprotocols(fields)
        return supported.first(where: offered.contains)
    }

    /// Subprotocols that a request may name.
    package static let subprotocolsMax = 64

    /// The elements of all `Sec-WebSocket-Protocol` fields: tokens, each once (RFC 6455 §4.1).
    private static func parseSubprotocols(_ fields: [String]) throws(WebSocketHandshakeFault) -> [String] {
        var offered: [String] = []
        for field in fields {
            var scanner = FieldScanner(field)
            scanner.skipEmptyElements()
            while !scanner.isAtEnd {
                guard offered.count < subprotocolsMax, let token = scanner.takeToken(), !offered.contains(token) else { throw .subprotocolsMalformed }
                offered.append(token)
                scanner.skipSpace()
                guard scanner.isAtEnd || scanner.take(UInt8(ascii: ",")) else { throw .subprotocolsMalformed }
                scanner.skipEmptyElements()
            }
        }
        return offered
    }
}

// MARK: - Client

extension WebSocketHandshake {
    /// What a client asks for, kept to check the answer against.
    package struct Offer: Equatable, Sendable {
        /// `Sec-WebSocket-Key`, from ``WebSocketHandshake/key(_:)``; unused over HTTP/2.
        package var key: String
        /// Best first.
        package var subprotocols: [String]
        /// `nil` for no compression.
        package var deflate: PerMessageDeflate.Policy?

        package init(key: String, subprotocols: [String], deflate: PerMessageDeflate.Policy? = nil) {
            self.key = key
            self.subprotocols = subprotocols
            self.deflate = deflate
        }

        /// The value for `Sec-WebSocket-Protocol`; `nil` to leave the field out.
        package var subprotocolField: String? { subprotocols.isEmpty ? nil : subprotocols.joined(separator: ", ") }

        /// The value for `Sec-WebSocket-Extensions`; `nil` to leave the field out.
        package var extensionField: String? { deflate.map { PerMessageDeflate.offer($0).fieldValue } }
    }

    /// Checks the WebSocket fields of a successful response (RFC 6455 §4.1, at its end). The HTTP layer has checked the status, `Upgrade` and `Connection`.
    ///
    /// - Parameters:
    ///   - accept, subprotocols, extensions: the values of the response's fields, one element per field, as they came.
    package static func confirm(
        _ offer: Offer, over transport: Transport, accept: [String], subprotocols: [String], extensions: [String]
    ) throws(WebSocketHandshakeFault) -> Response {
        var response = Response()
        switch transport {
        case .http1:
            guard accept == [self.accept(key: offer.key)] else { throw .acceptMismatch }
            response.accept = accept.first
        case .http2:
            break
        }
        if let subprotocol = subprotocols.first {
            guard subprotocols.count == 1, offer.subprotocols.contains(subprotocol) else { throw .subprotocolNotOffered }
            response.subprotocol = subprotocol
        }
        let elements = try WebSocketExtension.parse(extensions)
        if let deflate = offer.deflate {
            response.deflate = try PerMessageDeflate.confirm(elements, offered: deflate)
        } else if !elements.isEmpty {
            throw .extensionNotOffered
        }
        response.extensions = response.deflate == nil ? nil : elements.first?.fieldValue
        return response
    }
}
