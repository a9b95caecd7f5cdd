/// What a frame carries (RFC 6455 §5.2, §11.8). Opcodes 3–7 and 11–15 are reserved and have no case: the decoder refuses them.
package enum WebSocketOpcode: UInt8, Sendable, Equatable, CaseIterable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Control frames have the top bit of the opcode set (RFC 6455 §5.5).
    @inlinable package var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The type of a whole message: what the opcode of its first frame says (RFC 6455 §5.6).
package enum WebSocketMessageKind: Sendable, Equatable {
    case text
    case binary

    @inlinable package var opcode: WebSocketOpcode {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }
}
