/// What a peer did wrong on an established WebSocket. The scope is always that one WebSocket, never the HTTP/2 connection around it.
///
/// The raw value is a stable name to count by; ``closeCode`` is what the connection is failed with (RFC 6455 §7.1.7).
package enum WebSocketFault: String, Error, Sendable, CaseIterable {
    case reservedBits
    case reservedOpcode
    case controlFrameFragmented
    case controlFrameTooLong
    case frameNotMasked
    case frameMasked
    case lengthNotMinimal
    case lengthHighBit
    case continuationWithoutMessage
    case messageInterrupted
    case closePayloadOfOneByte
    case closeCodeInvalid
    case closeReasonNotUTF8
    case textNotUTF8
    case textTooBig
    case binaryTooBig
    case tooManyFragments
    case fragmentTooSmall
    case messageIncompleteTooLong
    /// The payload of a compressed message is no DEFLATE data. Raised by whoever inflates.
    case deflateInvalid
    /// A compressed message grew past the limit of its kind. Raised by whoever inflates.
    case inflatedTooBig

    package var closeCode: WebSocketCloseCode {
        switch self {
        case .reservedBits, .reservedOpcode, .controlFrameFragmented, .controlFrameTooLong, .frameNotMasked, .frameMasked,
            .lengthNotMinimal, .lengthHighBit, .continuationWithoutMessage, .messageInterrupted, .closePayloadOfOneByte, .closeCodeInvalid:
            .protocolError
        case .closeReasonNotUTF8, .textNotUTF8, .deflateInvalid:
            .invalidFramePayloadData
        case .tooManyFragments, .fragmentTooSmall, .messageIncompleteTooLong:
            .policyViolation
        case .textTooBig, .binaryTooBig, .inflatedTooBig:
            .messageTooBig
        }
    }

    /// The reason text for the close frame: ASCII, below the 123 bytes that fit, with the limit or the clause that was broken.
    package var closeReason: StaticString {
        switch self {
        case .reservedBits: "reserved bit set (RFC 6455 5.2)"
        case .reservedOpcode: "reserved opcode (RFC 6455 5.2)"
        case .controlFrameFragmented: "fragmented control frame (RFC 6455 5.5)"
        case .controlFrameTooLong: "control frame over 125 bytes (RFC 6455 5.5)"
        case .frameNotMasked: "client frame not masked (RFC 6455 5.1)"
        case .frameMasked: "server frame masked (RFC 6455 5.1)"
        case .lengthNotMinimal: "payload length not in its shortest form (RFC 6455 5.2)"
        case .lengthHighBit: "payload length with the high bit set (RFC 6455 5.2)"
        case .continuationWithoutMessage: "continuation without a message (RFC 6455 5.4)"
        case .messageInterrupted: "new message inside a fragmented one (RFC 6455 5.4)"
        case .closePayloadOfOneByte: "close frame with half a status code (RFC 6455 5.5.1)"
        case .closeCodeInvalid: "close code that may not be sent (RFC 6455 7.4)"
        case .closeReasonNotUTF8: "close reason is not UTF-8 (RFC 6455 5.5.1)"
        case .textNotUTF8: "text message is not UTF-8 (RFC 6455 8.1)"
        case .textTooBig: "text message over controlMessageBytesMax"
        case .binaryTooBig: "binary message over videoFrameBytesMax"
        case .tooManyFragments: "more fragments than messageFragmentsMax"
        case .fragmentTooSmall: "fragment below fragmentBytesMin"
        case .messageIncompleteTooLong: "message incomplete for incompleteMessageMillisecondsMax"
        case .deflateInvalid: "compressed message is not DEFLATE data (RFC 7692 6.2)"
        case .inflatedTooBig: "inflated message over its limit"
        }
    }
}
