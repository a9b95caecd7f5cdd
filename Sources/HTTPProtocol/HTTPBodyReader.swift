/// What one call of ``HTTPBodyReader/read(_:)`` came to.
package struct HTTPBodyStep: Sendable, Hashable {
    /// How many bytes from the front of the input are done with, content and framing together.
    package let consumed: Int
    /// Where in the input the content lies; empty when there was none.
    package let content: Range<Int>
    /// Whether the body has ended. What follows `consumed` is then the next message.
    package let isComplete: Bool
}

/// Takes the framing off a message body as it arrives (RFC 9112 §6, §7), strictly and within bounds.
///
/// Each call hands out at most one run of content and never needs bytes it has consumed: call again with the rest until `isComplete`, or until nothing is left.
/// Chunk extensions and trailer fields are checked, bounded (``framingBytesMax``) and thrown away.
package struct HTTPBodyReader: Sendable {
    /// Bound on all chunk extensions and all trailer lines of one body.
    package static let framingBytesMax = 4 << 10

    private enum State {
        case counted(remaining: Int)
        case untilClose
        case chunkSize(digits: Int)
        case chunkExtension
        case chunkSizeLineFeed
        case chunkContent(remaining: Int)
        case chunkEndCarriageReturn
        case chunkEndLineFeed
        case trailerLine
        case trailerLineFeed
        case complete
    }

    private var state: State
    private let bodyBytesMax: Int
    private var total = 0
    private var chunkSize = 0
    private var framingBytes = 0
    private var trailer: [UInt8] = []
    private var fault: HTTPFault?

    /// - Parameter bodyBytesMax: bound on the content.
    /// - Throws: ``HTTPFault/contentTooLarge`` when the declared length is beyond the bound already.
    package init(framing: HTTPFraming, bodyBytesMax: Int) throws(HTTPFault) {
        self.bodyBytesMax = bodyBytesMax
        switch framing {
        case .none: state = .complete
        case .contentLength(let length):
            guard length <= bodyBytesMax else { throw .contentTooLarge }
            state = length > 0 ? .counted(remaining: length) : .complete
        case .chunked: state = .chunkSize(digits: 0)
        case .untilClose: state = .untilClose
        }
    }

    package var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// Whether the peer may end the connection here without the body being cut off.
    package var mayEndHere: Bool {
        switch state {
        case .complete, .untilClose: true
        case .counted, .chunkSize, .chunkExtension, .chunkSizeLineFeed, .chunkContent, .chunkEndCarriageReturn, .chunkEndLineFeed, .trailerLine,
            .trailerLineFeed:
            false
        }
    }

    /// After a fault the reader only repeats the fault.
    package mutating func read(_ bytes: RawSpan) throws(HTTPFault) -> HTTPBodyStep {
        if let fault { throw fault }
        do {
            return try advance(over: bytes)
        } catch {
            fault = error
            throw error
        }
    }

    private mutating func advance(over bytes: RawSpan) throws(HTTPFault) -> HTTPBodyStep {
        var offset = 0
        while offset < bytes.byteCount {
            switch state {
            case .complete:
                return step(consumed: offset)
            case .counted(let remaining):
                let content = offset..<(offset + min(remaining, bytes.byteCount - offset))
                state = content.count == remaining ? .complete : .counted(remaining: remaining - content.count)
                return step(consumed: content.upperBound, content: content)
            case .untilClose:
                let content = offset..<bytes.byteCount
                guard content.count <= bodyBytesMax - total else { throw .contentTooLarge }
                total += content.count
                return step(consumed: content.upperBound, content: content)
            case .chunkContent(let remaining):
                let content = offset..<(offset + min(remaining, bytes.byteCount - offset))
                state = content.count == remaining ? .chunkEndCarriageReturn : .chunkContent(remaining: remaining - content.count)
                return step(consumed: content.upperBound, content: content)
            case .chunkSize, .chunkExtension, .chunkSizeLineFeed, .chunkEndCarriageReturn, .chunkEndLineFeed, .trailerLine, .trailerLineFeed:
                try readFraming(bytes.byte(offset))
                offset += 1
            }
        }
        return step(consumed: offset)
    }

    private func step(consumed: Int, content: Range<Int> = 0..<0) -> HTTPBodyStep {
        HTTPBodyStep(consumed: consumed, content: content, isComplete: isComplete)
    }

    private mutating func readFraming(_ byte: UInt8) throws(HTTPFault) {
        switch state {
        case .chunkSize(let digits):
            try readChunkSize(byte, digits: digits)
        case .chunkExtension:
            if byte == Grammar.carriageReturn {
                state = .chunkSizeLineFeed
            } else {
                guard Grammar.isFieldValueCharacter(byte) else { throw .malformedChunk }
                try countFraming(fault: .malformedChunk)
            }
        case .chunkSizeLineFeed:
            guard byte == Grammar.lineFeed else { throw .malformedChunk }
            guard chunkSize <= bodyBytesMax - total else { throw .contentTooLarge }
            total += chunkSize
            state = chunkSize > 0 ? .chunkContent(remaining: chunkSize) : .trailerLine
        case .chunkEndCarriageReturn:
            guard byte == Grammar.carriageReturn else { throw .malformedChunk }
            state = .chunkEndLineFeed
        case .chunkEndLineFeed:
            guard byte == Grammar.lineFeed else { throw .malformedChunk }
            chunkSize = 0
            state = .chunkSize(digits: 0)
        case .trailerLine:
            if byte == Grammar.carriageReturn {
                state = .trailerLineFeed
            } else {
                guard byte != Grammar.lineFeed else { throw .bareLineFeed }
                try countFraming(fault: .trailersTooLarge)
                trailer.append(byte)
            }
        case .trailerLineFeed:
            guard byte == Grammar.lineFeed else { throw .malformedChunk }
            state = trailer.isEmpty ? .complete : .trailerLine
            if !trailer.isEmpty { _ = unsafe try HTTPField(line: 0..<trailer.count, of: trailer.span.bytes) }
            trailer.removeAll(keepingCapacity: true)
        case .counted, .untilClose, .chunkContent, .complete:
            preconditionFailure("content is not framing")
        }
    }

    /// `1*HEXDIG` (RFC 9112 §7.1), at most 16 digits, no sign, prefix or white space.
    private mutating func readChunkSize(_ byte: UInt8, digits: Int) throws(HTTPFault) {
        if let value = Grammar.hexValue(byte) {
            guard digits < 16 else { throw .malformedChunk }
            let (product, overflow) = chunkSize.multipliedReportingOverflow(by: 16)
            guard !overflow else { throw .contentTooLarge }
            chunkSize = product | Int(value)
            state = .chunkSize(digits: digits + 1)
            return
        }
        guard digits > 0 else { throw .malformedChunk }
        switch byte {
        case Grammar.carriageReturn: state = .chunkSizeLineFeed
        case UInt8(ascii: ";"): state = .chunkExtension
        default: throw .malformedChunk
        }
    }

    private mutating func countFraming(fault: HTTPFault) throws(HTTPFault) {
        framingBytes += 1
        guard framingBytes <= Self.framingBytesMax else { throw fault }
    }
}
