/// Which content codings a request accepts (RFC 9110 §12.5.3).
package struct AcceptedCodings: Sendable {
    private let fields: HTTPFields

    package init(_ fields: HTTPFields) {
        self.fields = fields
    }

    /// Whether a coding may be used: it is named with a weight above 0, or, where it is not named, `*` is. Without the field nothing is accepted here:
    /// a client that says nothing mostly cannot decode anything.
    package func accepts(_ coding: String) -> Bool {
        var others = false
        for element in fields.listElements("accept-encoding") {
            let parts = Grammar.split(element, at: UInt8(ascii: ";"))
            let name = Grammar.lowercased(Grammar.trimmed(parts[0]))
            guard name == coding || name == "*" else { continue }
            let isAccepted = !parts.dropFirst().contains { Self.isZeroWeight(Grammar.trimmed($0)) }
            if name == coding { return isAccepted }
            others = isAccepted
        }
        return others
    }

    /// `q=0`, `q=0.000` (RFC 9110 §12.4.2).
    private static func isZeroWeight(_ parameter: Substring) -> Bool {
        let text = Grammar.lowercased(parameter)
        guard text.hasPrefix("q=0") else { return false }
        return text.utf8.dropFirst(3).allSatisfy { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "0") }
    }
}
