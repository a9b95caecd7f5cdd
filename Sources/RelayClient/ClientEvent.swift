package import Signalling
package import WebSocketProtocol

/// What happened to one session, pulled with ``ClientLoop/nextEvent()``.
package enum ClientEvent: Sendable {
    /// The WebSocket is open; `hello` is on its way, unless the options say otherwise.
    case opened
    case welcome(RelayMessage.Welcome)
    /// The relay did what was asked under this id.
    case answer(UInt64, RelayMessage.Answer)
    /// The relay refused what was asked under this id; `nil` when it could not read one.
    case refused(UInt64?, Refusal)
    /// News of the room or of the relay.
    case news(RelayMessage)
    /// A media frame; bundles and parts have become frames. ``ClientLoop/withFrame(_:)`` lends its bytes until the next event is pulled.
    case frame
    /// ``ClientSession/canSend`` is true again.
    case writable
    /// The WebSocket was closed by handshake; the last event of the session. `code` is the relay's, 1005 when its close frame had none.
    case closed(WebSocketCloseCode, reason: String)
    /// The session ended otherwise; its last event.
    case failed(ClientFault)

    /// The code of ``closed(_:reason:)`` as a number, for those who do not know WebSockets; `nil` for any other event.
    package var closeCode: UInt16? {
        if case .closed(let code, _) = self { code.rawValue } else { nil }
    }

    /// Whether no event follows for the session.
    package var isLast: Bool {
        switch self {
        case .closed, .failed: true
        case .opened, .welcome, .answer, .refused, .news, .frame, .writable: false
        }
    }
}
