/// The character classes of RFC 9110 §5.6 and RFC 3986 §2, and the small helpers that the parsers share.
enum Grammar {
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09
    static let colon = UInt8(ascii: ":")
    static let slash = UInt8(ascii: "/")
    static let percent = UInt8(ascii: "%")

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    static func isAlpha(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    /// `tchar` (RFC 9110 §5.6.2).
    static func isTokenCharacter(_ byte: UInt8) -> Bool {
        if isAlpha(byte) || isDigit(byte) { return true }
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// `field-vchar`, SP or HTAB (RFC 9110 §5.5); obs-text passes as opaque bytes, control characters do not.
    static func isFieldValueCharacter(_ byte: UInt8) -> Bool {
        byte == tab || (byte >= 0x20 && byte != 0x7F)
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenCharacter)
    }

    static func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy(isFieldValueCharacter)
    }

    /// `unreserved` (RFC 3986 §2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        if isAlpha(byte) || isDigit(byte) { return true }
        return byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }

    /// `pchar` without the percent sign, and the slash (RFC 3986 §3.3).
    static func isPathCharacter(_ byte: UInt8) -> Bool {
        if isUnreserved(byte) { return true }
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"),
            UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/"):
            return true
        default: return false
        }
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- UInt8(ascii: "0") }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// ASCII lower case; other characters stay as they are.
    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map { lowercased($0) }, as: UTF8.self)
    }

    /// Without SP and HTAB at both ends (`OWS`, RFC 9110 §5.6.3).
    static func trimmed(_ text: Substring) -> Substring {
        var rest = text.utf8
        while let first = rest.first, first == space || first == tab { rest = rest.dropFirst() }
        while let last = rest.last, last == space || last == tab { rest = rest.dropLast() }
        return Substring(rest)
    }

    /// The parts between occurrences of `separator`, by bytes: a combining character cannot hide one. Empty parts are kept.
    static func split(_ text: some StringProtocol, at separator: UInt8) -> [Substring] {
        Substring(text).utf8.split(separator: separator, omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// `1*DIGIT` as a number; `nil` when there is no digit, another character, or no room in `Int`.
    static func decimal(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty else { return nil }
        var value = 0
        for byte in text.utf8 {
            guard isDigit(byte) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(byte &- UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }

    /// A port: digits only, 0…65535, at most five of them.
    static func port(_ text: some StringProtocol) -> UInt16? {
        guard text.utf8.count <= 5, let value = decimal(text) else { return nil }
        return UInt16(exactly: value)
    }
}

extension RawSpan {
    /// The byte at `offset`, bounds-checked.
    func byte(_ offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The bytes of `range` as text; what is not UTF-8 becomes U+FFFD, which no grammar here accepts where ASCII is asked for.
    func text(_ range: Range<Int>) -> String {
        unsafe extracting(range).withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    func index(of byte: UInt8, in range: Range<Int>) -> Int? {
        var offset = range.lowerBound
        while offset < range.upperBound {
            if self.byte(offset) == byte { return offset }
            offset &+= 1
        }
        return nil
    }

    /// Big-endian 16 bits at `offset`.
    func bigEndian16(_ offset: Int) -> UInt16 {
        UInt16(byte(offset)) << 8 | UInt16(byte(offset + 1))
    }

    /// Big-endian 32 bits at `offset`.
    func bigEndian32(_ offset: Int) -> UInt32 {
        UInt32(bigEndian16(offset)) << 16 | UInt32(bigEndian16(offset + 2))
    }

    /// Big-endian 64 bits at `offset`.
    func bigEndian64(_ offset: Int) -> UInt64 {
        UInt64(bigEndian32(offset)) << 32 | UInt64(bigEndian32(offset + 4))
    }
}
