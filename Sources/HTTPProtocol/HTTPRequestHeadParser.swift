package import RelayBase

/// A strict, incremental parser of HTTP/1.1 request heads (RFC 9112 §2–§6), with the refusals that keep requests from being smuggled (RFC 9112 §11.2).
///
/// The caller collects bytes and calls ``parse(_:)`` with all of them, from the first byte of the head, whenever some have come. Lines are judged as soon as they
/// are whole, each once. After `.complete` the parser is ready for the next head; after a fault it only repeats the fault.
package struct HTTPRequestHeadParser: Sendable {
    private struct RequestLine {
        let method: HTTPMethod
        let target: HTTPTarget
        let version: HTTPVersion
    }

    private let headBytesMax: Int
    private let fieldsMax: Int
    private var lines: HTTPHeadLines
    private var emptyLineSeen = false
    private var requestLine: RequestLine?
    private var fields = HTTPFields()
    private var fault: HTTPFault?

    /// - Parameters:
    ///   - headBytesMax: bound on the whole head, with the empty line that ends it.
    ///   - fieldsMax: bound on field lines.
    package init(headBytesMax: Int, fieldsMax: Int) {
        self.headBytesMax = headBytesMax
        self.fieldsMax = fieldsMax
        lines = HTTPHeadLines(bytesMax: headBytesMax)
    }

    package init(limits: Limits = Limits()) {
        self.init(headBytesMax: limits.requestHeadBytesMax, fieldsMax: limits.requestFieldsMax)
    }

    /// Whether a byte of a head has been seen: tells an idle connection from a slow request.
    package var isInsideHead: Bool { lines.hasBegun }

    /// - Parameter bytes: everything received since the head's first byte.
    package mutating func parse(_ bytes: RawSpan) throws(HTTPFault) -> HTTPHeadStep<HTTPRequestHead> {
        if let fault { throw fault }
        do {
            return try advance(over: bytes)
        } catch {
            fault = error
            throw error
        }
    }

    private mutating func advance(over bytes: RawSpan) throws(HTTPFault) -> HTTPHeadStep<HTTPRequestHead> {
        while let line = try lines.next(in: bytes) {
            guard let requestLine else {
                if line.isEmpty {
                    // RFC 9112 §2.2: some clients send an extra CR LF after a body.
                    guard !emptyLineSeen else { throw .extraEmptyLine }
                    emptyLineSeen = true
                } else {
                    self.requestLine = try Self.requestLine(line, of: bytes)
                }
                continue
            }
            if line.isEmpty {
                let head = try finish(requestLine)
                let headBytes = lines.consumed
                self = HTTPRequestHeadParser(headBytesMax: headBytesMax, fieldsMax: fieldsMax)
                return .complete(head, headBytes: headBytes)
            }
            let field = try HTTPField(line: line, of: bytes)
            guard fields.count < fieldsMax else { throw .tooManyFields }
            fields.append(field)
        }
        return .needMoreBytes
    }

    /// `method SP request-target SP HTTP-version` (RFC 9112 §3): exactly two spaces.
    private static func requestLine(_ line: Range<Int>, of bytes: RawSpan) throws(HTTPFault) -> RequestLine {
        guard let firstSpace = bytes.index(of: Grammar.space, in: line),
            let secondSpace = bytes.index(of: Grammar.space, in: (firstSpace + 1)..<line.upperBound)
        else { throw .malformedRequestLine }
        let name = bytes.text(line.lowerBound..<firstSpace)
        guard Grammar.isToken(name) else { throw .invalidMethod }
        let version = try HTTPVersion(http1: bytes.text((secondSpace + 1)..<line.upperBound), malformed: .malformedRequestLine)
        let method = HTTPMethod(name)
        let target = try HTTPTarget(http1: bytes.text((firstSpace + 1)..<secondSpace), method: method)
        return RequestLine(method: method, target: target, version: version)
    }

    private func finish(_ requestLine: RequestLine) throws(HTTPFault) -> HTTPRequestHead {
        // RFC 9112 §3.2: exactly one valid Host in HTTP/1.1; HTTP/1.0 may go without.
        let hosts = fields.all("host")
        guard hosts.count <= 1 else { throw .multipleHosts }
        if let host = hosts.first {
            guard HTTPAuthority.isValid(host) else { throw .invalidHost }
        } else if requestLine.version == .http11 {
            throw .missingHost
        }
        let framing = try fields.declaredFraming(version: requestLine.version) ?? .none
        return HTTPRequestHead(
            method: requestLine.method, target: requestLine.target, version: requestLine.version, fields: fields, framing: framing)
    }
}
