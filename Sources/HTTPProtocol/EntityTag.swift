/// An entity tag (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// Without its quotation marks.
    package let opaque: String
    package let isWeak: Bool

    /// - Parameter opaque: visible ASCII without quotation marks, made by the server.
    package init(opaque: String, isWeak: Bool = false) {
        precondition(opaque.utf8.allSatisfy(Self.isTagCharacter), "an entity tag of our own is well formed")
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Reads `"…"` or `W/"…"`.
    package init?(_ text: some StringProtocol) {
        var rest = Substring(text).utf8
        var isWeak = false
        if rest.starts(with: "W/".utf8) {
            isWeak = true
            rest = rest.dropFirst(2)
        }
        guard rest.popFirst() == UInt8(ascii: "\""), rest.popLast() == UInt8(ascii: "\""), rest.allSatisfy(Self.isTagCharacter) else { return nil }
        opaque = String(Substring(rest))
        self.isWeak = isWeak
    }

    /// As the ETag field has it.
    package var description: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// RFC 9110 §8.8.3.2: the opaque parts are equal, whether weak or not.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// RFC 9110 §8.8.3.2: the opaque parts are equal and neither is weak.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    private static func isTagCharacter(_ byte: UInt8) -> Bool { byte > 0x20 && byte != UInt8(ascii: "\"") && byte != 0x7F }
}

/// What the conditional fields of a GET or HEAD request come to, for a representation that exists (RFC 9110 §13.2.2).
package enum ConditionalDecision: Sendable, Hashable {
    case perform
    /// 304.
    case notModified
    /// 412.
    case preconditionFailed

    package init(fields: HTTPFields, current: EntityTag) {
        if fields.contains("if-match"), !Self.anyMatches(fields.all("if-match"), { current.matchesStrongly($0) }) {
            self = .preconditionFailed
        } else if fields.contains("if-none-match"), Self.anyMatches(fields.all("if-none-match"), { current.matchesWeakly($0) }) {
            self = .notModified
        } else {
            self = .perform
        }
    }

    /// Whether the Range field counts (RFC 9110 §13.1.5): without If-Range it does, with one only when that is the current tag, strongly.
    package static func rangeApplies(fields: HTTPFields, current: EntityTag) -> Bool {
        guard fields.contains("if-range") else { return true }
        guard let value = fields.single("if-range"), let tag = EntityTag(value) else { return false }
        return current.matchesStrongly(tag)
    }

    /// `*` or a list of tags. A tag may hold a comma, so the list is cut outside quotation marks.
    private static func anyMatches(_ values: [String], _ matches: (EntityTag) -> Bool) -> Bool {
        for value in values {
            if value == "*" { return true }
            var isQuoted = false
            let parts = Substring(value).utf8.split(omittingEmptySubsequences: true) { byte in
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                return byte == UInt8(ascii: ",") && !isQuoted
            }
            for part in parts {
                if let tag = EntityTag(Grammar.trimmed(Substring(part))), matches(tag) { return true }
            }
        }
        return false
    }
}
