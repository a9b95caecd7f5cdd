/// How long a message's body is (RFC 9112 §6.3).
package enum HTTPFraming: Sendable, Hashable {
    /// No body; `Content-Length: 0` is this too.
    case none
    /// This many bytes, at least 1.
    case contentLength(Int)
    case chunked
    /// All bytes until the connection ends; responses alone.
    case untilClose
}

extension HTTPFields {
    /// What `Content-Length` and `Transfer-Encoding` say, `nil` when neither is there. Anything two parsers could read in two ways is a fault (RFC 9112 §6.1, §11.2).
    func declaredFraming(version: HTTPVersion) throws(HTTPFault) -> HTTPFraming? {
        let lengths = all("content-length")
        if contains("transfer-encoding") {
            guard lengths.isEmpty else { throw .contentLengthWithTransferEncoding }
            guard version != .http10 else { throw .transferEncodingInHTTP10 }
            return try transferCoding()
        }
        guard let first = lengths.first else { return nil }
        guard let length = Grammar.decimal(first) else { throw .invalidContentLength }
        for other in lengths.dropFirst() {
            guard Grammar.decimal(other) != nil else { throw .invalidContentLength }
            guard other == first else { throw .conflictingContentLength }
        }
        return length == 0 ? HTTPFraming.none : .contentLength(length)
    }

    private func transferCoding() throws(HTTPFault) -> HTTPFraming {
        let codings = listElements("transfer-encoding").map { Grammar.lowercased($0) }
        guard let last = codings.last else { throw .invalidTransferEncoding }
        let chunkedCount = codings.count { $0 == "chunked" }
        guard chunkedCount <= 1, chunkedCount == 0 || last == "chunked" else { throw .invalidTransferEncoding }
        guard codings == ["chunked"] else { throw .unsupportedTransferCoding }
        return .chunked
    }
}
