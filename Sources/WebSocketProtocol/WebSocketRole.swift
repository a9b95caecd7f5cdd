/// Which end of the connection this process is. It fixes who masks: a client masks every frame, a server none (RFC 6455 §5.1).
package enum WebSocketRole: Sendable, Equatable {
    case server
    case client

    /// Whether the frames that this end receives must be masked.
    @inlinable package var receivesMaskedFrames: Bool { self == .server }
}
