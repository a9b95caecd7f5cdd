/// What a Range field asks of a representation (RFC 9110 §14).
package enum RangeDecision: Sendable, Hashable {
    /// 200 with everything: no Range, another unit, malformed, or several ranges (a server may ignore the field, RFC 9110 §14.2).
    case whole
    /// 206 with these offsets, half open: `bytes=0-100` is `0..<101`.
    case partial(Range<Int>)
    /// 416.
    case unsatisfiable

    /// - Parameters:
    ///   - field: the Range field's value, of a GET request; `nil` without one.
    ///   - size: bytes of the representation.
    package init(field: String?, size: Int) {
        precondition(size >= 0, "a representation has a size")
        guard let field, let spec = Self.singleSpec(field), let dash = spec.firstIndex(of: "-") else {
            self = .whole
            return
        }
        let first = spec[..<dash]
        let last = spec[spec.index(after: dash)...]
        if first.isEmpty {
            self = Self.suffix(last, size: size)
            return
        }
        guard let start = Self.offset(first), let end = last.isEmpty ? Int.max : Self.offset(last), start <= end else {
            self = .whole
            return
        }
        self = start < size ? .partial(start..<(min(end, size - 1) + 1)) : .unsatisfiable
    }

    /// The Content-Range field's value for 206 and 416 (RFC 9110 §14.4); `nil` for `.whole`.
    package func contentRange(size: Int) -> String? {
        switch self {
        case .whole: nil
        case .partial(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        case .unsatisfiable: "bytes */\(size)"
        }
    }

    /// `-N`, the last N bytes (RFC 9110 §14.1.2). Of an empty representation no 206 can be made, so that one is sent whole.
    private static func suffix(_ text: Substring, size: Int) -> RangeDecision {
        guard let length = offset(text) else { return .whole }
        guard length > 0 else { return .unsatisfiable }
        return size == 0 ? .whole : .partial((size - min(length, size))..<size)
    }

    /// The one range-spec of a `bytes` range set, `nil` for anything else.
    private static func singleSpec(_ field: String) -> Substring? {
        guard field.utf8.allSatisfy({ $0 < 0x80 }), let equals = field.firstIndex(of: "="), Grammar.lowercased(field[..<equals]) == "bytes" else {
            return nil
        }
        let specs = Grammar.split(field[field.index(after: equals)...], at: UInt8(ascii: ",")).map { Grammar.trimmed($0) }.filter { !$0.isEmpty }
        return specs.count == 1 ? specs[0] : nil
    }

    /// `1*DIGIT`; a number beyond `Int` counts as `Int.max`, which is beyond every size as well.
    private static func offset(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return Grammar.decimal(text) ?? .max
    }
}
