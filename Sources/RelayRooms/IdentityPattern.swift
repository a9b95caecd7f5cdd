/// Bytes in which `*` stands for any run of bytes, the empty one included; every other byte for itself.
struct Glob: Hashable, Sendable {
    private let pattern: [UInt8]

    init(_ text: String) {
        pattern = Array(text.utf8)
    }

    /// Takes at most `pattern.count × text.count` steps.
    func matches(_ text: Span<UInt8>) -> Bool {
        var place = 0
        var at = 0
        var star: (place: Int, at: Int)?
        while at < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, at)
                place += 1
            } else if place < pattern.count, pattern[place] == text[at] {
                place += 1
                at += 1
            } else if let last = star {
                // The star takes one more byte, and what follows it is tried again.
                star = (last.place, last.at + 1)
                place = last.place + 1
                at = last.at + 1
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// Which identities an operator means: a name in which `*` stands for any run of characters.
///
/// The pattern's shape says which kind of name it is compared with, so that no pattern for one kind can match a name of another: with `@` email
/// addresses, `token:` token subjects, `spki:` key fingerprints, with any other `:` URIs, otherwise DNS names. A lone `*` means everybody. DNS names and
/// the domains of email addresses are compared without regard to case (RFC 5280 §7.2, §7.5).
package struct IdentityPattern: Hashable, Sendable, CustomStringConvertible {
    package static let bytesMax = 512

    package let text: String
    /// `nil` for everybody.
    let kind: PrincipalName.Kind?
    private let glob: Glob

    /// - Returns: `nil` when the pattern is empty, longer than 512 bytes, or holds a byte that no name has.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= IdentityPattern.bytesMax, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        self.text = text
        kind = text == "*" ? nil : PrincipalName.Kind(shapeOf: text)
        glob = Glob(kind?.folded(text) ?? text)
    }

    package var description: String { text }

    package func matches(_ name: PrincipalName) -> Bool {
        guard let kind else { return true }
        return kind == name.kind && glob.matches(name.folded.utf8.span)
    }

    /// Whether it means everything that `other` means. A star of `other` can only be taken by a star of this one.
    func covers(_ other: IdentityPattern) -> Bool {
        guard let kind else { return true }
        return kind == other.kind && glob.matches(kind.folded(other.text).utf8.span)
    }

    /// Whether any of the principal's names is meant.
    package func matches(_ principal: Principal) -> Bool {
        principal.names.contains(where: matches)
    }
}

/// Which rooms an operator means: a room's name in which `*` stands for any run of characters.
package struct RoomPattern: Hashable, Sendable, CustomStringConvertible {
    package let text: String
    private let glob: Glob

    /// - Returns: `nil` when the pattern is empty, longer than 512 bytes, or could match no room's name.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= IdentityPattern.bytesMax, text.utf8.allSatisfy({ $0 == UInt8(ascii: "*") || RoomName.isAllowed($0) })
        else { return nil }
        self.text = text
        glob = Glob(text)
    }

    package var description: String { text }

    package func matches(_ room: RoomName) -> Bool { matches(Array(room.text.utf8)) }

    /// Whether it means everything that `other` means.
    func covers(_ other: RoomPattern) -> Bool { glob.matches(other.text.utf8.span) }

    /// The same of a name's bytes: for whoever asks many patterns about one room.
    func matches(_ room: [UInt8]) -> Bool { glob.matches(room.span) }
}
