/// Reads the elements of list-valued header fields: tokens, quoted strings, separators, optional white space (RFC 9110 §5.6).
struct FieldScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ field: String) {
        bytes = Array(field.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }

    /// Skips spaces and tabs.
    mutating func skipSpace() {
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
    }

    /// Skips white space and commas: a recipient ignores empty list elements (RFC 9110 §5.6.1.2).
    mutating func skipEmptyElements() {
        skipSpace()
        while take(UInt8(ascii: ",")) { skipSpace() }
    }

    /// Takes `separator` when it comes next.
    mutating func take(_ separator: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == separator else { return false }
        position += 1
        return true
    }

    /// Takes a token (RFC 9110 §5.6.2); `nil` when none comes next.
    mutating func takeToken() -> String? {
        let start = position
        while position < bytes.count, Self.isTokenCharacter(bytes[position]) { position += 1 }
        return start == position ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Takes a quoted string whose content is a token once unescaped, as extension parameters demand (RFC 6455 §9.1); `nil` when it is not.
    mutating func takeQuotedToken() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var content: [UInt8] = []
        while position < bytes.count {
            if take(UInt8(ascii: "\"")) {
                return content.isEmpty ? nil : String(decoding: content, as: UTF8.self)
            }
            _ = take(UInt8(ascii: "\\"))
            guard position < bytes.count, Self.isTokenCharacter(bytes[position]) else { return nil }
            content.append(bytes[position])
            position += 1
        }
        return nil
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default:
            false
        }
    }
}
