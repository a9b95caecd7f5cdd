/// One field line: the name in lower case, the value without white space at its ends.
package struct HTTPField: Sendable, Hashable {
    package let name: String
    package let value: String

    /// - Parameter name: any case; it is stored in lower case, which is what HTTP/2 sends and HTTP/1.1 does not mind.
    package init(_ name: String, _ value: String) {
        self.name = Grammar.lowercased(name)
        self.value = value
    }

    init(lowercasedName: String, value: String) {
        name = lowercasedName
        self.value = value
    }
}

/// The fields of a message head in the order they came (RFC 9110 §5). Names are looked up in lower case.
package struct HTTPFields: Sendable, Hashable, ExpressibleByArrayLiteral {
    package private(set) var lines: [HTTPField]

    package init(_ lines: [HTTPField] = []) {
        self.lines = lines
    }

    package init(arrayLiteral elements: HTTPField...) {
        lines = elements
    }

    package var count: Int { lines.count }

    package mutating func append(_ field: HTTPField) {
        lines.append(field)
    }

    package mutating func append(_ name: String, _ value: String) {
        lines.append(HTTPField(name, value))
    }

    /// The value of the first line called `name` (lower case).
    package func first(_ name: String) -> String? {
        lines.first { $0.name == name }?.value
    }

    /// The values of all lines called `name` (lower case), in order.
    package func all(_ name: String) -> [String] {
        lines.filter { $0.name == name }.map(\.value)
    }

    package func contains(_ name: String) -> Bool {
        lines.contains { $0.name == name }
    }

    /// The value when exactly one line is called `name` (lower case).
    package func single(_ name: String) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }

    /// The elements of a comma-separated list over all lines called `name` (RFC 9110 §5.6.1), without empty ones.
    /// For lists of tokens only: a comma inside a quoted string separates here too.
    package func listElements(_ name: String) -> [String] {
        var elements: [String] = []
        for line in lines where line.name == name {
            for part in Grammar.split(line.value, at: UInt8(ascii: ",")) {
                let element = Grammar.trimmed(part)
                if !element.isEmpty { elements.append(String(element)) }
            }
        }
        return elements
    }

    /// Whether the list `name` has `token`; both are compared without case (`Connection`, `Upgrade`).
    package func hasToken(_ token: String, in name: String) -> Bool {
        let wanted = Grammar.lowercased(token)
        return listElements(name).contains { Grammar.lowercased($0) == wanted }
    }
}
