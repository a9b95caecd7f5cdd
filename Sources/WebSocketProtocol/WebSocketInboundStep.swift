package import RelayBase

/// The bounds and rules of one receiving end.
package struct WebSocketInboundConfiguration: Equatable, Sendable {
    package var role: WebSocketRole
    /// permessage-deflate was agreed on. Both size limits then bound the compressed form; whoever inflates bounds the rest.
    package var allowsCompression = false
    package var textBytesMax: Int
    package var binaryBytesMax: Int
    /// Frames of one message.
    package var messageFragmentsMax: Int
    /// Payload bytes that a non-final fragment beyond the first ``smallFragmentsFree`` must have.
    package var fragmentBytesMin: Int
    package var smallFragmentsFree: Int
    /// From the first byte of a message or control frame to its last.
    package var incompleteMessageMillisecondsMax: UInt64
    /// The block of memory that the assembler keeps between messages; a bigger one is given back when its message is taken.
    package var retainedBytesMax = 16 << 10

    /// The project's defaults: text is control messages, binary is at most one video frame with `binaryOverheadBytes` of media header around it.
    package init(role: WebSocketRole, limits: Limits, binaryOverheadBytes: Int = 0) {
        self.role = role
        textBytesMax = limits.controlMessageBytesMax
        binaryBytesMax = limits.videoFrameBytesMax + binaryOverheadBytes
        messageFragmentsMax = limits.messageFragmentsMax
        fragmentBytesMin = limits.fragmentBytesMin
        smallFragmentsFree = limits.smallFragmentsFree
        incompleteMessageMillisecondsMax = limits.incompleteMessageMillisecondsMax
    }
}

/// Where the payload of an event lies. ``WebSocketInbound/payload(_:in:)`` gives its bytes.
package enum WebSocketPayloadLocation: Equatable, Sendable {
    /// In the buffer that the caller passed to `next`, already unmasked, at these offsets from its start.
    case inPlace(Range<Int>)
    /// In the engine's message assembler, until the next call of `next` or `messageTaken`.
    case assembled
    /// In the engine's buffer for a control frame that arrived in pieces, until the next call of `next`.
    case controlBuffer
}

/// What the received bytes amounted to.
package enum WebSocketInboundEvent: Equatable, Sendable {
    /// All bytes are taken and nothing further is complete.
    case needMoreBytes
    /// A whole message. Text is checked UTF-8, unless `compressed`: then the payload is still DEFLATE data and whoever inflates it checks it.
    case message(WebSocketMessageKind, compressed: Bool, WebSocketPayloadLocation)
    /// Owed a pong with the same payload (RFC 6455 §5.5.2).
    case ping(WebSocketPayloadLocation)
    case pong(WebSocketPayloadLocation)
    /// The peer's close frame, checked; `nil` when it had no code. Nothing after it is processed.
    case close(WebSocketCloseCode?, reason: WebSocketPayloadLocation)
    /// The peer has closed, or has been failed, before: the bytes are thrown away.
    case finished
}

/// One answer of ``WebSocketInbound/next(_:now:)``.
package struct WebSocketInboundStep: Equatable, Sendable {
    /// Bytes taken from the start of the buffer. The next call gets what follows them.
    package var consumed: Int
    package var event: WebSocketInboundEvent

    package init(consumed: Int, event: WebSocketInboundEvent) {
        self.consumed = consumed
        self.event = event
    }
}
