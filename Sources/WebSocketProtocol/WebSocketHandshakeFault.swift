/// Why an opening handshake fails (RFC 6455 §4). The raw value is a stable name to count by.
package enum WebSocketHandshakeFault: String, Error, Sendable, CaseIterable {
    case keyMissing
    case keyRepeated
    case keyInvalid
    case versionMissing
    case versionRepeated
    case versionUnsupported
    case subprotocolsMalformed
    case extensionsMalformed
    case extensionsTooLong
    // A client's view of the response.
    case acceptMismatch
    case subprotocolNotOffered
    case extensionNotOffered

    /// The HTTP status that a server answers with. 426 goes with `Sec-WebSocket-Version: 13` (RFC 6455 §4.4).
    package var status: Int {
        switch self {
        case .versionUnsupported: 426
        case .keyMissing, .keyRepeated, .keyInvalid, .versionMissing, .versionRepeated, .subprotocolsMalformed, .extensionsMalformed,
            .extensionsTooLong:
            400
        case .acceptMismatch, .subprotocolNotOffered, .extensionNotOffered: 502
        }
    }
}
