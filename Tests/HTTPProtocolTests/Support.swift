import HTTPProtocol
import RelayBase
import Testing

/// Feeds the whole of `bytes` to `body` as a span.
func withSpan<Result, Fault: Error>(_ bytes: [UInt8], _ body: (RawSpan) throws(Fault) -> Result) throws(Fault) -> Result {
    let span = bytes.span
    return unsafe try body(span.bytes)
}

/// What a parser came to, as a value that can be compared.
enum Outcome<Head: Equatable & Sendable>: Equatable {
    case incomplete
    case complete(Head, headBytes: Int)
    case fault(HTTPFault)
}

func parseRequest(_ bytes: [UInt8], headBytesMax: Int = 16 << 10, fieldsMax: Int = 100) -> Outcome<HTTPRequestHead> {
    var parser = HTTPRequestHeadParser(headBytesMax: headBytesMax, fieldsMax: fieldsMax)
    return step(bytes) { (span) throws(HTTPFault) in try parser.parse(span) }
}

func parseRequest(_ text: String) -> Outcome<HTTPRequestHead> {
    parseRequest(Array(text.utf8))
}

func parseResponse(_ text: String) -> Outcome<HTTPResponseHead> {
    var parser = HTTPResponseHeadParser()
    return step(Array(text.utf8)) { (span) throws(HTTPFault) in try parser.parse(span) }
}

func step<Head: Equatable & Sendable>(
    _ bytes: [UInt8], _ parse: (RawSpan) throws(HTTPFault) -> HTTPHeadStep<Head>
) -> Outcome<Head> {
    do {
        return switch try withSpan(bytes, parse) {
        case .needMoreBytes: .incomplete
        case .complete(let head, let headBytes): .complete(head, headBytes: headBytes)
        }
    } catch {
        return .fault(error)
    }
}

/// The head of a request that must be good.
func requestHead(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> HTTPRequestHead {
    var parser = HTTPRequestHeadParser()
    let step = try withSpan(Array(text.utf8)) { (span) throws(HTTPFault) in try parser.parse(span) }
    guard case .complete(let head, _) = step else {
        Issue.record("the head is not complete", sourceLocation: sourceLocation)
        throw HTTPFault.headTooLarge
    }
    return head
}

/// Cuts `bytes` at random places, byte by byte now and then, and hands out the growing prefixes: the last is the whole.
func growingPrefixes(of bytes: [UInt8], _ generator: inout SeededGenerator) -> [[UInt8]] {
    var prefixes: [[UInt8]] = []
    var end = 0
    let stride = [1, 2, 7, 64].randomElement(using: &generator) ?? 1
    while end < bytes.count {
        end = min(bytes.count, end + Int.random(in: 1...stride, using: &generator))
        prefixes.append(Array(bytes[..<end]))
    }
    return prefixes
}
