/// Why a request path names no static file. All are answered like a file that is not there, but counted apart.
package enum StaticPathFault: Error, Sendable, Hashable, CaseIterable {
    case notAbsolute
    case invalidPercentEncoding
    case controlCharacter
    case encodedSeparator
    case traversal
    case notUTF8
}

/// A request path as names below a root folder: percent-decoded once (RFC 3986 §2.1), and unable to leave the root.
package struct StaticFilePath: Sendable, Hashable {
    /// Each not empty, not `.` or `..`, without slash, backslash or control character.
    package let components: [String]
    /// Whether the path ended with a slash (or was the root).
    package let isFolder: Bool

    /// - Parameter path: a target's path, still percent-encoded, without its query.
    package init(_ path: String) throws(StaticPathFault) {
        guard path.utf8.first == Grammar.slash else { throw .notAbsolute }
        let segments = Grammar.split(path, at: Grammar.slash)
        var components: [String] = []
        for segment in segments {
            let name = try Self.decode(segment)
            // `.` stands for nothing and `//` for `/`; `..` is refused and not resolved: no client that means well sends it (RFC 3986 §5.2.4).
            guard name != ".." else { throw .traversal }
            if name != ".", !name.isEmpty { components.append(name) }
        }
        self.components = components
        isFolder = components.isEmpty || segments.last?.isEmpty == true
    }

    /// The components with slashes between, relative to the root.
    package var relativePath: String { components.joined(separator: "/") }

    private static func decode(_ segment: Substring) throws(StaticPathFault) -> String {
        var bytes: [UInt8] = []
        var rest = segment.utf8
        while var byte = rest.popFirst() {
            if byte == Grammar.percent {
                guard let high = rest.popFirst().flatMap({ Grammar.hexValue($0) }), let low = rest.popFirst().flatMap({ Grammar.hexValue($0) }) else {
                    throw .invalidPercentEncoding
                }
                byte = high << 4 | low
            }
            guard byte >= 0x20, byte != 0x7F else { throw .controlCharacter }
            guard byte != Grammar.slash, byte != UInt8(ascii: "\\") else { throw .encodedSeparator }
            bytes.append(byte)
        }
        guard let name = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return name
    }
}
