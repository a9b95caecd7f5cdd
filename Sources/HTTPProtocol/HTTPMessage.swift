/// A request method: a token, in its own case (RFC 9110 §9.1).
package struct HTTPMethod: Sendable, Hashable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    package static let get = HTTPMethod("GET")
    package static let head = HTTPMethod("HEAD")
    package static let post = HTTPMethod("POST")
    package static let put = HTTPMethod("PUT")
    package static let delete = HTTPMethod("DELETE")
    package static let options = HTTPMethod("OPTIONS")
    package static let connect = HTTPMethod("CONNECT")

    package var description: String { name }
}

package enum HTTPVersion: Sendable, Hashable {
    case http10
    case http11
    case http2

    /// As it stands in an HTTP/1.1 start line and in logs.
    package var text: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }

    /// Reads `HTTP/1.0` or `HTTP/1.1` (RFC 9112 §2.3). Another well-formed version answers ``HTTPFault/unsupportedVersion``, anything else `malformed`.
    init(http1 text: some StringProtocol, malformed: HTTPFault) throws(HTTPFault) {
        let bytes = Array(text.utf8)
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), Grammar.isDigit(bytes[5]), bytes[6] == UInt8(ascii: "."), Grammar.isDigit(bytes[7])
        else { throw malformed }
        switch (bytes[5], bytes[7]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): self = .http10
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): self = .http11
        default: throw .unsupportedVersion
        }
    }
}

/// What one call of a head parser came to.
package enum HTTPHeadStep<Head: Sendable>: Sendable {
    /// The head has not ended yet: call again with the same bytes and more.
    case needMoreBytes
    /// The head, and how many bytes it took from the front of the buffer; what follows is body or the next message.
    case complete(Head, headBytes: Int)
}

extension HTTPHeadStep: Equatable where Head: Equatable {}
