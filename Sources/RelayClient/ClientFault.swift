package import HTTPProtocol
package import HTTPTransport
package import MediaProtocol
package import Reactor
package import TLSTransport
package import WebSocketProtocol

/// Why a session could not be opened, or ended without the closing handshake.
package enum ClientFault: Error, Sendable, Equatable {
    // Before the WebSocket is open.
    case connect(SystemFault)
    case openTimeout
    /// The relay agreed to another application protocol than the one asked for, or to none.
    case applicationProtocol(String?)
    case responseHead(HTTPFault)
    /// The relay answered the opening request with this status; over HTTP/1.1 the detail is its problem document's (RFC 9457), where it came along.
    case refused(status: Int, detail: String)
    case handshake(WebSocketHandshakeFault)
    /// The request itself could not be written or opened.
    case request(String)
    /// The relay chose another subprotocol than the one offered, or none.
    case subprotocol

    // At any time.
    case transport(TransportFault)
    case http2(HTTP2Fault)
    case streamReset(HTTP2ErrorCode)
    case goingAway

    // Once it is open.
    case webSocket(WebSocketFault)
    /// The relay sent text that is no message of the protocol.
    case malformedMessage
    /// The relay sent a bundle or a part that breaks the protocol's rules.
    case media(MediaFault)
    /// The connection ended without a close frame.
    case connectionLost
    /// Nothing came for ``ClientOptions/silenceMillisecondsMax``.
    case silent

    /// Whether it never came to an open WebSocket, as far as the fault alone tells.
    package var isBeforeOpening: Bool {
        switch self {
        case .connect, .openTimeout, .applicationProtocol, .responseHead, .refused, .handshake, .request, .subprotocol: true
        case .transport, .http2, .streamReset, .goingAway, .webSocket, .malformedMessage, .media, .connectionLost, .silent: false
        }
    }
}

extension ClientFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .connect(let fault): "cannot connect: \(fault)"
        case .openTimeout: "the relay did not open the session in time"
        case .applicationProtocol(let name): "the relay speaks \(name ?? "no protocol that was offered") over TLS"
        case .responseHead(let fault): "the relay's answer is malformed: \(fault.detail)"
        case .refused(let status, let detail): detail.isEmpty ? "the relay answered with status \(status)" : "the relay answered \(status): \(detail)"
        case .handshake(let fault): "the WebSocket handshake failed: \(fault)"
        case .request(let text): "the request could not be sent: \(text)"
        case .subprotocol: "the relay did not agree to the subprotocol"
        case .transport(let fault): "\(fault)"
        case .http2(let fault): "HTTP/2: \(fault.label)"
        case .streamReset(let code): "the relay reset the HTTP/2 stream (error code \(code.rawValue))"
        case .goingAway: "the relay is going away"
        case .webSocket(let fault): "the relay broke the WebSocket protocol: \(fault.closeReason)"
        case .malformedMessage: "the relay sent a message that is not of the protocol"
        case .media(let fault): "the relay sent media that is not of the protocol: \(fault.name)"
        case .connectionLost: "the connection was lost"
        case .silent: "the relay has gone silent"
        }
    }
}
