/// Cuts a message head into its lines as the bytes arrive (RFC 9112 §2.1, §2.2): CR LF alone ends a line.
///
/// The caller passes the whole buffer each time; the position is remembered, so that the total cost is linear however the bytes are cut.
struct HTTPHeadLines {
    private let bytesMax: Int
    private var lineStart = 0
    private var scanned = 0

    init(bytesMax: Int) {
        precondition(bytesMax > 0, "a head needs room")
        self.bytesMax = bytesMax
    }

    /// How many bytes the lines handed out so far took.
    var consumed: Int { lineStart }

    /// Whether any byte of the head has been seen.
    var hasBegun: Bool { scanned > 0 }

    /// The next whole line without its end; `nil` when it has not ended yet.
    ///
    /// Only the first `bytesMax` bytes are ever looked at: a head that does not end within them is too large, whatever else is wrong beyond.
    mutating func next(in bytes: RawSpan) throws(HTTPFault) -> Range<Int>? {
        let end = min(bytes.byteCount, bytesMax)
        guard let lineFeed = scanned < end ? bytes.index(of: Grammar.lineFeed, in: scanned..<end) : nil else {
            scanned = max(scanned, end)
            if end == bytesMax { throw .headTooLarge }
            return nil
        }
        guard lineFeed > lineStart, bytes.byte(lineFeed - 1) == Grammar.carriageReturn else { throw .bareLineFeed }
        let line = lineStart..<(lineFeed - 1)
        lineStart = lineFeed + 1
        scanned = lineStart
        return line
    }
}

extension HTTPField {
    /// Reads one field line (RFC 9112 §5): `name ":" OWS value OWS`, no folding, no space before the colon, no control character.
    init(line: Range<Int>, of bytes: RawSpan) throws(HTTPFault) {
        precondition(!line.isEmpty, "the empty line ends the head")
        let first = bytes.byte(line.lowerBound)
        guard first != Grammar.space, first != Grammar.tab else { throw .obsoleteFolding }
        guard let colon = bytes.index(of: Grammar.colon, in: line) else { throw .malformedFieldLine }
        var name: [UInt8] = []
        name.reserveCapacity(colon - line.lowerBound)
        for offset in line.lowerBound..<colon {
            let byte = bytes.byte(offset)
            guard Grammar.isTokenCharacter(byte) else {
                let isBeforeColon = byte == Grammar.space || byte == Grammar.tab
                throw isBeforeColon ? .whitespaceBeforeColon : .invalidFieldName
            }
            name.append(Grammar.lowercased(byte))
        }
        guard !name.isEmpty else { throw .invalidFieldName }
        var valueStart = colon + 1
        var valueEnd = line.upperBound
        for offset in valueStart..<valueEnd where !Grammar.isFieldValueCharacter(bytes.byte(offset)) { throw .invalidFieldValue }
        while valueStart < valueEnd, bytes.byte(valueStart) == Grammar.space || bytes.byte(valueStart) == Grammar.tab { valueStart += 1 }
        while valueEnd > valueStart, bytes.byte(valueEnd - 1) == Grammar.space || bytes.byte(valueEnd - 1) == Grammar.tab { valueEnd -= 1 }
        self.init(lowercasedName: String(decoding: name, as: UTF8.self), value: bytes.text(valueStart..<valueEnd))
    }
}
