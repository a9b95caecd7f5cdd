// libFuzzer target for what HTTPProtocol reads off the wire: request and response heads, bodies, HTTP/2 heads, upgrade decisions, file paths, ranges.
//
// The first byte gives the cutting of the rest. What one call with everything comes to, a call for each piece must come to as well.
// Sources to compile with it, as one module: Sources/RelayBase, Sources/HTTPProtocol.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPHead(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 1 else { return 0 }
    let bytes = unsafe Array(UnsafeBufferPointer(start: data + 1, count: size - 1))
    let stride = unsafe Int(data[0] & 0x3F) + 1
    fuzzRequestHead(bytes, stride: stride)
    fuzzResponseHead(bytes, stride: stride)
    fuzzBody(bytes, stride: stride)
    fuzzHTTP2Head(bytes)
    fuzzTexts(bytes)
    return 0
}

private enum Outcome<Head: Equatable & Sendable>: Equatable {
    case incomplete
    case complete(Head, Int)
    case fault(HTTPFault)
}

private func outcome<Head: Equatable & Sendable>(
    _ bytes: ArraySlice<UInt8>, _ parse: (RawSpan) throws(HTTPFault) -> HTTPHeadStep<Head>
) -> Outcome<Head> {
    do {
        let span = bytes.span
        switch unsafe try parse(span.bytes) {
        case .needMoreBytes: return .incomplete
        case .complete(let head, let headBytes):
            precondition(headBytes > 0 && headBytes <= bytes.count, "a head lies within its bytes")
            return .complete(head, headBytes)
        }
    } catch {
        return .fault(error)
    }
}

private func fuzzRequestHead(_ bytes: [UInt8], stride: Int) {
    var wholeParser = HTTPRequestHeadParser(headBytesMax: 512, fieldsMax: 8)
    let whole = outcome(bytes[...]) { (span) throws(HTTPFault) in try wholeParser.parse(span) }
    var parser = HTTPRequestHeadParser(headBytesMax: 512, fieldsMax: 8)
    var cut = Outcome<HTTPRequestHead>.incomplete
    var end = 0
    while end < bytes.count, cut == .incomplete {
        end = min(bytes.count, end + stride)
        cut = outcome(bytes[..<end]) { (span) throws(HTTPFault) in try parser.parse(span) }
    }
    precondition(cut == whole, "the cutting of a request head makes no difference")
    guard case .complete(let head, _) = whole else { return }
    _ = UpgradeDecision(head)
    _ = head.keepAlive
    _ = try? StaticFilePath(head.path)
    if head.target.form == .origin, let written = try? head.serialized() {
        // What was read can be written, and what is read from that is the same (the version is written as 1.1, which asks for Host).
        var again = HTTPRequestHeadParser(headBytesMax: 4_096, fieldsMax: 8)
        let second = outcome(written[...]) { (span) throws(HTTPFault) in try again.parse(span) }
        if head.version == .http11 { precondition(second == .complete(head, written.count), "a head that was written is read back") }
    }
}

private func fuzzResponseHead(_ bytes: [UInt8], stride: Int) {
    var wholeParser = HTTPResponseHeadParser(headBytesMax: 512, fieldsMax: 8)
    let whole = outcome(bytes[...]) { (span) throws(HTTPFault) in try wholeParser.parse(span) }
    var parser = HTTPResponseHeadParser(headBytesMax: 512, fieldsMax: 8)
    var cut = Outcome<HTTPResponseHead>.incomplete
    var end = 0
    while end < bytes.count, cut == .incomplete {
        end = min(bytes.count, end + stride)
        cut = outcome(bytes[..<end]) { (span) throws(HTTPFault) in try parser.parse(span) }
    }
    precondition(cut == whole, "the cutting of a response head makes no difference")
    if case .complete(let head, _) = whole { _ = try? head.framing(requestMethod: .get) }
}

private struct Body: Equatable {
    var content: [UInt8] = []
    var consumed = 0
    var isComplete = false
    var fault: HTTPFault?
}

private func readBody(_ bytes: [UInt8], stride: Int, framing: HTTPFraming) -> Body {
    var body = Body()
    do {
        var reader = try HTTPBodyReader(framing: framing, bodyBytesMax: 300)
        var end = 0
        while end < bytes.count, !body.isComplete {
            end = min(bytes.count, end + stride)
            while body.consumed < end, !body.isComplete {
                let piece = bytes[body.consumed..<end]
                let span = piece.span
                let step = unsafe try reader.read(span.bytes)
                precondition(step.consumed <= piece.count && step.content.upperBound <= step.consumed, "a step lies within its input")
                precondition(step.consumed > 0 || step.isComplete, "a reader gets on or is done")
                body.content += piece.dropFirst(step.content.lowerBound).prefix(step.content.count)
                body.consumed += step.consumed
                body.isComplete = step.isComplete
            }
        }
        precondition(body.content.count <= 300, "content within its bound")
        return body
    } catch {
        return Body(fault: error)
    }
}

private func fuzzBody(_ bytes: [UInt8], stride: Int) {
    for framing in [HTTPFraming.chunked, .untilClose, .contentLength(Int(bytes[0]) + 1)] {
        let whole = readBody(bytes, stride: bytes.count, framing: framing)
        precondition(readBody(bytes, stride: stride, framing: framing) == whole, "the cutting of a body makes no difference")
    }
}

/// Lines of `name NUL value` as the field lines of an HTTP/2 request.
private func fuzzHTTP2Head(_ bytes: [UInt8]) {
    var builder = HTTP2RequestHeadBuilder(headBytesMax: 1_024, fieldsMax: 8)
    do {
        for line in bytes.split(separator: 0x0A) {
            let parts = line.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0]
            let value = parts.count > 1 ? parts[1] : []
            let nameSpan = name.span
            let valueSpan = value.span
            unsafe try builder.append(name: nameSpan.bytes, value: valueSpan.bytes)
        }
        _ = ExtendedConnectDecision(try builder.finish())
    } catch {
        _ = error.resolution
    }
}

private func fuzzTexts(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let path = try? StaticFilePath(text) {
        precondition(
            path.components.allSatisfy { name in
                !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0x2F || $0 == 0x5C || $0 < 0x20 }
            }, "a path stays below its root")
    }
    if case .partial(let range) = RangeDecision(field: text, size: 1_000) {
        precondition(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= 1_000, "a range lies within its size")
    }
    _ = WebSocketExtensionOffer.list(text)
    _ = ConditionalDecision(fields: [HTTPField("if-none-match", text)], current: EntityTag(opaque: "a"))
    let origin = WebOrigin(text)
    if let list = try? OriginAllowList([text]), origin != nil { precondition(list.decide(origin: text) == .allowed, "a listed origin is allowed") }
}
