import RelayBase
import Testing

@testable import RelayRooms

@Suite("Patterns of identities and rooms")
struct PatternTests {
    /// Obviously right: tries every split.
    private func naive(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == UInt8(ascii: "*") {
            return (text.startIndex...text.endIndex).contains { naive(pattern.dropFirst(), text[$0...]) }
        }
        return text.first == first && naive(pattern.dropFirst(), text.dropFirst())
    }

    @Test("a glob matches what trying every split matches", arguments: 0..<200 as Range<UInt64>)
    func globAgainstNaive(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let pattern = (0..<Int.random(in: 0...8, using: &random)).map { _ in "ab*".utf8.randomElement(using: &random) ?? 0 }
            let text = (0..<Int.random(in: 0...10, using: &random)).map { _ in "ab".utf8.randomElement(using: &random) ?? 0 }
            let glob = Glob(String(decoding: pattern, as: UTF8.self))
            let matches = glob.matches(text.span)
            #expect(matches == naive(pattern[...], text[...]), "\(pattern) on \(text)")
        }
    }

    @Test("a glob of nothing but stars and near misses takes no longer than pattern times text")
    func hostileGlob() {
        let glob = Glob(String(repeating: "*a", count: 255) + "b")
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 100_000)
        // With a step for every split this would not end while anybody waits for it.
        let matches = glob.matches(text.span)
        #expect(!matches)
    }

    private struct Match: Sendable, CustomTestStringConvertible {
        let pattern: String
        let name: PrincipalName
        let isMatch: Bool
        var testDescription: String { "\(pattern) \(isMatch ? "matches" : "does not match") \(name.kind) \(name.text)" }

        init(_ pattern: String, _ kind: PrincipalName.Kind, _ name: String, _ isMatch: Bool) {
            self.pattern = pattern
            self.name = PrincipalName(kind, name)
            self.isMatch = isMatch
        }
    }

    private static let key = String(repeating: "ab", count: 32)

    private static let matches: [Match] = [
        // Each kind with its own.
        Match("urn:segue:client:alice", .uri, "urn:segue:client:alice", true),
        Match("urn:segue:client:*", .uri, "urn:segue:client:alice", true),
        Match("urn:segue:client:*", .uri, "urn:segue:client:", true),
        Match("*.example.org", .dns, "a.b.example.org", true),
        Match("*.example.org", .dns, "example.org", false),
        Match("*@example.org", .email, "alice@example.org", true),
        Match("alice@*", .email, "alice@example.org", true),
        Match("token:alice", .token, "token:alice", true),
        Match("token:*", .token, "token:https://issuer/1", true),
        Match("spki:" + key, .key, "spki:" + key, true),
        Match("spki:ab*", .key, "spki:" + key, true),
        // Everybody.
        Match("*", .uri, "urn:x", true), Match("*", .dns, "x", true), Match("*", .email, "x@y", true), Match("*", .token, "token:x", true),
        Match("*", .key, "spki:" + key, true),
        // Never across kinds, however alike the texts are.
        Match("*.example.org", .uri, "https://a.example.org", false),
        Match("*.example.org", .email, "alice@a.example.org", false),
        Match("*example.org", .token, "token:example.org", false),
        Match("*@example.org", .uri, "mailto:alice@example.org", false),
        Match("*@example.org", .token, "token:alice@example.org", false),
        Match("*:*", .token, "token:x", false), Match("*:*", .key, "spki:" + key, false), Match("*:*", .uri, "urn:x", true),
        Match("token:*", .uri, "token:x", false), Match("spki:*", .uri, "spki:x", false),
        Match("**", .uri, "urn:x", false), Match("**", .dns, "x", true),
        Match("tok*", .token, "token:x", false), Match("spki*", .key, "spki:" + key, false),
        // Case: RFC 5280 §7.2 and §7.5, and nowhere else.
        Match("*.Example.ORG", .dns, "A.exaMple.org", true),
        Match("Alice@Example.org", .email, "Alice@EXAMPLE.org", true),
        Match("alice@example.org", .email, "Alice@example.org", false),
        Match("URN:segue:client:alice", .uri, "urn:segue:client:alice", false),
        Match("urn:segue:client:Alice", .uri, "urn:segue:client:alice", false),
        Match("token:Alice", .token, "token:alice", false),
        // A part of a name is not the name.
        Match("urn:segue:client:al", .uri, "urn:segue:client:alice", false),
        Match("example.org", .dns, "example.org.evil", false),
        Match("alice@example.org", .email, "alice@example.org@evil", false),
    ]

    @Test("a pattern is compared with names of its own kind only", arguments: matches)
    private func identities(_ match: Match) throws {
        let pattern = try #require(IdentityPattern(match.pattern))
        #expect(pattern.matches(match.name) == match.isMatch)
    }

    @Test(
        "a pattern that no name could match is refused",
        arguments: ["", " ", "a b", "a\n", "a\u{0}", "ä", "\u{7F}", String(repeating: "*", count: 513)])
    func badPatterns(text: String) {
        #expect(IdentityPattern(text) == nil)
        #expect(RoomPattern(text) == nil)
    }

    @Test("room patterns hold what room names hold, and the star", arguments: ["a/b", "a?b", "a{b}", "a%b", "a\\b", "a,b"])
    func badRoomPatterns(text: String) {
        #expect(RoomPattern(text) == nil)
    }

    @Test(
        "a room pattern matches the whole name, with regard to case",
        arguments: [
            ("ward-*", "ward-7", true), ("ward-*", "ward-", true), ("ward-*", "Ward-7", false), ("ward-*", "a-ward-7", false), ("*", "x", true),
            ("a*b*c", "abc", true), ("a*b*c", "a-c-b", false), ("pair:*", "pair:00", true), ("demo", "demo2", false),
        ])
    func rooms(pattern: String, room: String, isMatch: Bool) throws {
        let pattern = try #require(RoomPattern(pattern))
        #expect(try pattern.matches(#require(RoomName(room, bytesMax: 128))) == isMatch)
    }
}
