/// The status code of a close frame (RFC 6455 §7.4 and the IANA registry that it opens).
package struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    package static let goingAway = WebSocketCloseCode(rawValue: 1001)
    package static let protocolError = WebSocketCloseCode(rawValue: 1002)
    package static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// Means "the close frame had no code"; never on the wire.
    package static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// Means "the transport ended without a close frame"; never on the wire.
    package static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    package static let invalidFramePayloadData = WebSocketCloseCode(rawValue: 1007)
    package static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    package static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// Only a client sends it: the server did not accept an extension that the client needs.
    package static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    package static let internalError = WebSocketCloseCode(rawValue: 1011)
    package static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    package static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    package static let badGateway = WebSocketCloseCode(rawValue: 1014)
    /// Means "the TLS handshake failed"; never on the wire.
    package static let tlsHandshake = WebSocketCloseCode(rawValue: 1015)

    /// Whether a peer may put this code into a close frame: 1000–1003, 1007–1014 and the ranges for libraries and applications, 3000–4999.
    /// 1004 is reserved without a meaning; 1005, 1006 and 1015 are names for what no frame said (RFC 6455 §7.4.1).
    @inlinable package var mayBeReceived: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Whether `role` may send this code: what may be received, less 1010 for a server (RFC 6455 §7.4.1).
    package func mayBeSent(by role: WebSocketRole) -> Bool {
        switch role {
        case .client: mayBeReceived
        case .server: mayBeReceived && self != .mandatoryExtension
        }
    }
}

extension WebSocketCloseCode {
    /// Checks the body of a received close frame: nothing, or a code and a UTF-8 reason (RFC 6455 §5.5.1). The reason is what follows the first two bytes.
    ///
    /// - Returns: `nil` for an empty body.
    package static func decode(closeBody body: UnsafeRawBufferPointer) throws(WebSocketFault) -> WebSocketCloseCode? {
        guard body.count > 0 else { return nil }
        guard body.count >= 2 else { throw .closePayloadOfOneByte }
        let code = WebSocketCloseCode(rawValue: UInt16(bigEndian: unsafe body.loadUnaligned(as: UInt16.self)))
        guard code.mayBeReceived else { throw .closeCodeInvalid }
        var text = UTF8Validator()
        guard unsafe text.append(UnsafeRawBufferPointer(rebasing: body[2...])), text.isComplete else { throw .closeReasonNotUTF8 }
        return code
    }
}
