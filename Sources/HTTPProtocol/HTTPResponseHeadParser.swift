package import RelayBase

/// A strict, incremental parser of HTTP/1.1 response heads (RFC 9112 §4): the client's counterpart of ``HTTPRequestHeadParser``, used in the same way.
package struct HTTPResponseHeadParser: Sendable {
    private let headBytesMax: Int
    private let fieldsMax: Int
    private var lines: HTTPHeadLines
    private var statusLine: (version: HTTPVersion, status: HTTPStatus)?
    private var fields = HTTPFields()
    private var fault: HTTPFault?

    package init(headBytesMax: Int, fieldsMax: Int) {
        self.headBytesMax = headBytesMax
        self.fieldsMax = fieldsMax
        lines = HTTPHeadLines(bytesMax: headBytesMax)
    }

    package init(limits: Limits = Limits()) {
        self.init(headBytesMax: limits.requestHeadBytesMax, fieldsMax: limits.requestFieldsMax)
    }

    /// - Parameter bytes: everything received since the head's first byte.
    package mutating func parse(_ bytes: RawSpan) throws(HTTPFault) -> HTTPHeadStep<HTTPResponseHead> {
        if let fault { throw fault }
        do {
            return try advance(over: bytes)
        } catch {
            fault = error
            throw error
        }
    }

    private mutating func advance(over bytes: RawSpan) throws(HTTPFault) -> HTTPHeadStep<HTTPResponseHead> {
        while let line = try lines.next(in: bytes) {
            guard let statusLine else {
                statusLine = try Self.statusLine(line, of: bytes)
                continue
            }
            if line.isEmpty {
                let head = HTTPResponseHead(status: statusLine.status, version: statusLine.version, fields: fields)
                let headBytes = lines.consumed
                self = HTTPResponseHeadParser(headBytesMax: headBytesMax, fieldsMax: fieldsMax)
                return .complete(head, headBytes: headBytes)
            }
            let field = try HTTPField(line: line, of: bytes)
            guard fields.count < fieldsMax else { throw .tooManyFields }
            fields.append(field)
        }
        return .needMoreBytes
    }

    /// `HTTP-version SP status-code SP [ reason-phrase ]` (RFC 9112 §4); the reason is checked and thrown away.
    private static func statusLine(_ line: Range<Int>, of bytes: RawSpan) throws(HTTPFault) -> (version: HTTPVersion, status: HTTPStatus) {
        let start = line.lowerBound
        guard line.count >= 13, bytes.byte(start + 8) == Grammar.space, bytes.byte(start + 12) == Grammar.space else { throw .malformedStatusLine }
        let version = try HTTPVersion(http1: bytes.text(start..<(start + 8)), malformed: .malformedStatusLine)
        guard let code = Grammar.decimal(bytes.text((start + 9)..<(start + 12))), let status = HTTPStatus(code: code) else {
            throw .malformedStatusLine
        }
        for offset in (start + 13)..<line.upperBound where !Grammar.isFieldValueCharacter(bytes.byte(offset)) { throw .malformedStatusLine }
        return (version, status)
    }
}
