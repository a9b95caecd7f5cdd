/// What was wrong with an HTTP/1.1 message that a peer sent. Every fault ends the connection: after it the message's boundaries cannot be trusted.
package enum HTTPFault: Error, Sendable, Hashable, CaseIterable {
    // Bounds.
    case headTooLarge
    case tooManyFields
    case contentTooLarge

    // Lines (RFC 9112 §2.2).
    case bareLineFeed
    case extraEmptyLine

    // Start line (RFC 9112 §3, §4).
    case malformedRequestLine
    case invalidMethod
    case invalidTarget
    case connectNotSupported
    case unsupportedVersion
    case malformedStatusLine

    // Fields (RFC 9112 §5, RFC 9110 §5.5).
    case obsoleteFolding
    case malformedFieldLine
    case whitespaceBeforeColon
    case invalidFieldName
    case invalidFieldValue
    case missingHost
    case multipleHosts
    case invalidHost

    // Message body (RFC 9112 §6, §7).
    case invalidContentLength
    case conflictingContentLength
    case contentLengthWithTransferEncoding
    case transferEncodingInHTTP10
    case invalidTransferEncoding
    case unsupportedTransferCoding
    case malformedChunk
    case trailersTooLarge

    /// The status that answers this fault when a server meets it in a request.
    package var status: HTTPStatus {
        switch self {
        case .headTooLarge, .tooManyFields, .trailersTooLarge: .requestHeaderFieldsTooLarge
        case .contentTooLarge: .contentTooLarge
        case .unsupportedVersion: .httpVersionNotSupported
        case .connectNotSupported, .unsupportedTransferCoding: .notImplemented
        case .bareLineFeed, .extraEmptyLine, .malformedRequestLine, .invalidMethod, .invalidTarget, .malformedStatusLine, .obsoleteFolding,
            .malformedFieldLine, .whitespaceBeforeColon, .invalidFieldName, .invalidFieldValue, .missingHost, .multipleHosts, .invalidHost,
            .invalidContentLength, .conflictingContentLength, .contentLengthWithTransferEncoding, .transferEncodingInHTTP10,
            .invalidTransferEncoding, .malformedChunk:
            .badRequest
        }
    }

    /// One sentence for the problem document. It never repeats what the peer sent.
    package var detail: String {
        switch self {
        case .headTooLarge: "The message head is larger than this server takes."
        case .tooManyFields: "The message head has more fields than this server takes."
        case .contentTooLarge: "The content is larger than this server takes."
        case .bareLineFeed: "A line ends with LF alone; lines end with CR LF."
        case .extraEmptyLine: "More than one empty line stands before the start line."
        case .malformedRequestLine: "The request line is not: method, space, target, space, version."
        case .invalidMethod: "The method is not a token."
        case .invalidTarget: "The request target is not a valid origin, absolute or asterisk form."
        case .connectNotSupported: "This server is not a proxy: CONNECT is not implemented."
        case .unsupportedVersion: "Only HTTP/1.0 and HTTP/1.1 are supported here."
        case .malformedStatusLine: "The status line is not: version, space, three digits, space, reason."
        case .obsoleteFolding: "A field line begins with white space: line folding is obsolete."
        case .malformedFieldLine: "A field line has no colon."
        case .whitespaceBeforeColon: "White space stands between a field name and its colon."
        case .invalidFieldName: "A field name is not a token."
        case .invalidFieldValue: "A field value holds a control character."
        case .missingHost: "The Host field is missing."
        case .multipleHosts: "There is more than one Host field."
        case .invalidHost: "The Host field is not a host with an optional port."
        case .invalidContentLength: "The Content-Length is not a decimal number."
        case .conflictingContentLength: "Content-Length fields differ."
        case .contentLengthWithTransferEncoding: "Content-Length and Transfer-Encoding stand together."
        case .transferEncodingInHTTP10: "HTTP/1.0 has no Transfer-Encoding."
        case .invalidTransferEncoding: "The chunked coding is not the last one, or is applied twice."
        case .unsupportedTransferCoding: "The only transfer coding supported is chunked."
        case .malformedChunk: "The chunked coding is malformed."
        case .trailersTooLarge: "The trailer section is larger than this server takes."
        }
    }
}
