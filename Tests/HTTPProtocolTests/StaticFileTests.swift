import HTTPProtocol
import Testing

@Suite("Static files: paths, ranges, conditions")
struct StaticFileTests {
    @Test(
        "§2.1 (RFC 3986) a path is decoded once and cleaned",
        arguments: [
            ("/", [], true), ("/a", ["a"], false), ("/a/b.js", ["a", "b.js"], false), ("/a/", ["a"], true), ("//a///b", ["a", "b"], false),
            ("/./a/.", ["a"], false),
            ("/a%20b", ["a b"], false), ("/%61", ["a"], false), ("/%C3%A9", ["é"], false), ("/%2561", ["%61"], false), ("/...", ["..."], false),
            ("/a..b", ["a..b"], false), ("/%252e%252e/x", ["%2e%2e", "x"], false), ("/.", [], true),
        ] as [(String, [String], Bool)])
    func goodPaths(path: String, components: [String], isFolder: Bool) throws {
        let file = try StaticFilePath(path)
        #expect(file.components == components)
        #expect(file.isFolder == isFolder)
        #expect(file.relativePath == components.joined(separator: "/"))
    }

    @Test(
        "a path that could leave the root, or mean two things, is refused",
        arguments: [
            ("/..", StaticPathFault.traversal), ("/a/../b", .traversal), ("/%2e%2e/etc", .traversal), ("/.%2E/etc", .traversal),
            ("/a/..", .traversal),
            ("/a%2fb", .encodedSeparator), ("/..%2f..%2fetc", .encodedSeparator), ("/a%5Cb", .encodedSeparator), ("/a\\b", .encodedSeparator),
            ("/%00", .controlCharacter), ("/a%00.js", .controlCharacter), ("/a%0a", .controlCharacter), ("/%7f", .controlCharacter),
            ("/%", .invalidPercentEncoding), ("/%2", .invalidPercentEncoding), ("/%zz", .invalidPercentEncoding), ("/%2/a", .invalidPercentEncoding),
            ("/%C3", .notUTF8), ("/%C0%AE%C0%AE", .notUTF8), ("/%FF", .notUTF8), ("/%ED%A0%80", .notUTF8), ("", .notAbsolute), ("a", .notAbsolute),
            ("*", .notAbsolute),
        ])
    func badPaths(path: String, fault: StaticPathFault) {
        #expect(throws: fault) { try StaticFilePath(path) }
    }

    @Test(
        "§14.2 (RFC 9110) one range of bytes, inclusive ends, cut at the size",
        arguments: [
            ("bytes=0-100", RangeDecision.partial(0..<101)), ("bytes=0-0", .partial(0..<1)), ("bytes=999-999", .partial(999..<1_000)),
            ("bytes=500-", .partial(500..<1_000)), ("bytes=500-5000", .partial(500..<1_000)), ("bytes=-1", .partial(999..<1_000)),
            ("bytes=-5000", .partial(0..<1_000)), ("BYTES=0-1", .partial(0..<2)), ("bytes= 0-1 ", .partial(0..<2)), ("bytes=,0-1,", .partial(0..<2)),
            ("bytes=0-99999999999999999999999", .partial(0..<1_000)), ("bytes=-99999999999999999999999", .partial(0..<1_000)),
            ("bytes=0-9223372036854775807", .partial(0..<1_000)), ("bytes=1000-", .unsatisfiable), ("bytes=1000-2000", .unsatisfiable),
            ("bytes=-0", .unsatisfiable), ("bytes=99999999999999999999999-", .unsatisfiable), ("bytes=0-1,5-6", .whole), ("bytes=5-1", .whole),
            ("bytes=-", .whole), ("bytes=", .whole), ("bytes", .whole), ("bytes=a-b", .whole), ("bytes=1", .whole), ("bytes=--1", .whole),
            ("bytes=1--2", .whole),
            ("bytes=+1-2", .whole), ("bytes=0x1-2", .whole), ("items=0-1", .whole), ("bytes 0-1", .whole), ("bytes=0 - 1", .whole),
            ("bytes=1-2\u{301}", .whole),
        ])
    func ranges(field: String, decision: RangeDecision) {
        #expect(RangeDecision(field: field, size: 1_000) == decision)
    }

    @Test("§14.4 (RFC 9110) Content-Range says what is sent; without Range, and of nothing, there is none")
    func contentRange() {
        #expect(RangeDecision(field: nil, size: 10) == .whole)
        #expect(RangeDecision.partial(0..<101).contentRange(size: 1_234) == "bytes 0-100/1234")
        #expect(RangeDecision.unsatisfiable.contentRange(size: 1_234) == "bytes */1234")
        #expect(RangeDecision.whole.contentRange(size: 1_234) == nil)
        #expect(RangeDecision(field: "bytes=0-", size: 0) == .unsatisfiable)
        #expect(RangeDecision(field: "bytes=-5", size: 0) == .whole)
    }

    @Test(
        "§13.1 (RFC 9110) If-None-Match compares weakly, If-Match strongly and first",
        arguments: [
            ([("if-none-match", "\"v1\"")], ConditionalDecision.notModified), ([("if-none-match", "W/\"v1\"")], .notModified),
            ([("if-none-match", "*")], .notModified),
            ([("if-none-match", "\"v0\", \"v1\"")], .notModified), ([("if-none-match", "\"a,b\" , \"v1\"")], .notModified),
            ([("if-none-match", "\"v0\""), ("if-none-match", "\"v1\"")], .notModified), ([("if-none-match", "\"v0\"")], .perform),
            ([("if-none-match", "\"x,\\\"v1\\\"\"")], .perform), ([("if-none-match", "v1")], .perform), ([("if-none-match", "w/\"v1\"")], .perform),
            ([], .perform),
            ([("if-match", "\"v1\"")], .perform), ([("if-match", "*")], .perform), ([("if-match", "W/\"v1\"")], .preconditionFailed),
            ([("if-match", "\"v0\"")], .preconditionFailed), ([("if-match", "\"v0\""), ("if-none-match", "\"v1\"")], .preconditionFailed),
            ([("if-match", "\"v1\""), ("if-none-match", "\"v1\"")], .notModified),
        ] as [([(String, String)], ConditionalDecision)])
    func conditions(lines: [(String, String)], decision: ConditionalDecision) {
        let fields = HTTPFields(lines.map { HTTPField($0.0, $0.1) })
        #expect(ConditionalDecision(fields: fields, current: EntityTag(opaque: "v1")) == decision)
    }

    @Test("§13.1.5 (RFC 9110) a range counts without If-Range, or when that is the current strong tag")
    func ifRange() {
        let current = EntityTag(opaque: "v1")
        #expect(ConditionalDecision.rangeApplies(fields: [], current: current))
        #expect(ConditionalDecision.rangeApplies(fields: [HTTPField("if-range", "\"v1\"")], current: current))
        #expect(!ConditionalDecision.rangeApplies(fields: [HTTPField("if-range", "\"v0\"")], current: current))
        #expect(!ConditionalDecision.rangeApplies(fields: [HTTPField("if-range", "W/\"v1\"")], current: current))
        #expect(!ConditionalDecision.rangeApplies(fields: [HTTPField("if-range", "Sun, 06 Nov 1994 08:49:37 GMT")], current: current))
        #expect(!ConditionalDecision.rangeApplies(fields: [HTTPField("if-range", "\"v1\"")], current: EntityTag(opaque: "v1", isWeak: true)))
    }

    @Test("§8.8.3 (RFC 9110) entity tags are read and written")
    func entityTags() {
        #expect(EntityTag("\"a\"")?.description == "\"a\"")
        #expect(EntityTag("W/\"a\"") == EntityTag(opaque: "a", isWeak: true))
        #expect(EntityTag(opaque: "a", isWeak: true).description == "W/\"a\"")
        #expect(EntityTag("\"\"")?.opaque == "")
        for text in ["", "\"", "a", "\"a", "a\"", "\"a\"b\"", "\"a b\"", "W/a", "w/\"a\""] { #expect(EntityTag(text) == nil) }
    }
}
