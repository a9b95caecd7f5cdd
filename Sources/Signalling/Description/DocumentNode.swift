/// A JSON value of a document that is read by people as well: members keep their order, and what fits stands on one line.
package indirect enum DocumentNode: Sendable, Equatable {
    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: DocumentNode

        package init(_ name: String, _ value: DocumentNode) {
            self.name = name
            self.value = value
        }
    }

    case text(String)
    /// Finite.
    case number(Double)
    case boolean(Bool)
    case list([DocumentNode])
    case object([Member])
    /// JSON as it stands, on one line.
    case verbatim(String)
}

extension DocumentNode: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(stringLiteral text: String) { self = .text(text) }
    package init(integerLiteral number: Int) { self = .number(Double(number)) }
    package init(booleanLiteral flag: Bool) { self = .boolean(flag) }
    package init(arrayLiteral elements: DocumentNode...) { self = .list(elements) }
    package init(dictionaryLiteral members: (String, DocumentNode)...) { self = .object(members.map { Member($0.0, $0.1) }) }

    package static func reference(_ path: String) -> DocumentNode { ["$ref": .text("#/" + path)] }
}

extension DocumentNode {
    private static let columnsMax = 160

    /// The value as JSON text, indented by two blanks, without a line feed at its end.
    package var json: String {
        var text = ""
        write(to: &text, indentation: 0, column: 0)
        return text
    }

    private func write(to text: inout String, indentation: Int, column: Int) {
        let line = compact
        if column + line.utf8.count <= DocumentNode.columnsMax {
            text += line
            return
        }
        switch self {
        case .list(let elements) where !elements.isEmpty:
            DocumentNode.write(elements.map { ("", $0) }, to: &text, indentation: indentation, "[", "]")
        case .object(let members) where !members.isEmpty:
            DocumentNode.write(members.map { (DocumentNode.quoted($0.name) + ": ", $0.value) }, to: &text, indentation: indentation, "{", "}")
        default: text += line
        }
    }

    private static func write(
        _ parts: [(label: String, value: DocumentNode)], to text: inout String, indentation: Int, _ opening: String, _ closing: String
    ) {
        let margin = String(repeating: " ", count: indentation + 2)
        text += opening + "\n"
        for (place, part) in parts.enumerated() {
            text += margin + part.label
            // The comma behind it, too, has to fit.
            part.value.write(to: &text, indentation: indentation + 2, column: margin.utf8.count + part.label.utf8.count + 1)
            text += place + 1 < parts.count ? ",\n" : "\n"
        }
        text += String(repeating: " ", count: indentation) + closing
    }

    private var compact: String {
        switch self {
        case .text(let text): return DocumentNode.quoted(text)
        case .number(let number): return Int(exactly: number).map(String.init) ?? "\(number)"
        case .boolean(let flag): return flag ? "true" : "false"
        case .list(let elements): return "[" + elements.map(\.compact).joined(separator: ", ") + "]"
        case .object(let members):
            return "{" + members.map { DocumentNode.quoted($0.name) + ": " + $0.value.compact }.joined(separator: ", ") + "}"
        case .verbatim(let json): return json
        }
    }

    /// RFC 8259 §7.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
