import Testing

@testable import RelayRooms

@Suite("What in a policy surely is a mistake")
struct PolicyDoubtTests {
    private static func identities(_ texts: [String]) throws -> [IdentityPattern] { try texts.map { try #require(IdentityPattern($0)) } }
    private static func rooms(_ texts: [String]) throws -> [RoomPattern] { try texts.map { try #require(RoomPattern($0)) } }
    private static func access(_ rules: [([String], [String])]) throws -> [AccessPolicy.AccessRule] {
        try rules.map { .init(identities: try identities($0.0), rooms: try rooms($0.1), roles: [.host]) }
    }

    private static let digits = String(repeating: "9d3e", count: 16)

    @Test(
        "patterns that match nobody, or everybody",
        arguments: [
            ("urn:segue:client:operator", true), ("root.example.org", true), ("*.example.org", true), ("ann@example.org", true),
            ("spki:\(digits)", true), ("spki:9d3e*", true), ("operator", false), ("alice*", false), ("token:root", false), ("token:*", false),
            ("*", false),
            ("spki:abcd", false), ("spki:\(digits)0", false), ("spki:\(digits.uppercased())", false), ("spki:\(digits)0*", false),
            ("spki:*x*", false),
            ("spki:", false),
        ])
    func admins(pattern: String, isGood: Bool) throws {
        var policy = AccessPolicy()
        policy.admins = try Self.identities(["urn:a", pattern])
        #expect(policy.doubts.map(\.path) == (isGood ? [] : ["admins[1]"]))
    }

    @Test("outside of administration a token's subject and everybody are well meant")
    func others() throws {
        var policy = AccessPolicy()
        policy.access = try Self.access([(["token:*", "*"], ["a"])])
        policy.pairCodes = try Self.identities(["*"])
        #expect(policy.doubts.isEmpty)
    }

    @Test("each list of the policy is looked at")
    func paths() throws {
        let bad = try Self.identities(["bad"])
        let pairRooms = try Self.rooms(["a", "pair:*"])
        var policy = AccessPolicy()
        policy.admins = bad
        policy.access = [.init(identities: bad, rooms: pairRooms, roles: [.host])]
        policy.rooms = [.init(rooms: pairRooms, settings: RoomSettings())]
        policy.pairs = [.init(a: bad, b: bad)]
        policy.pairRequests = [.init(a: bad, b: bad)]
        policy.pairCodes = bad
        #expect(
            policy.doubts.map(\.path) == [
                "admins[0]", "access[0].identities[0]", "access[0].rooms[1]", "rooms[0].rooms[1]", "pairing.pairs[0].a[0]", "pairing.pairs[0].b[0]",
                "pairing.requests[0].from[0]", "pairing.requests[0].to[0]", "pairing.codes[0]",
            ])
    }

    @Test(
        "a rule behind one that matches all that it does is never reached",
        arguments: [
            ([(["*"], ["*"]), (["urn:a"], ["a"])], [1]), ([(["urn:a"], ["a"]), (["*"], ["*"])], []), ([(["urn:*"], ["*"]), (["urn:a"], ["a"])], [1]),
            ([(["urn:*"], ["*"]), (["a.b"], ["a"])], []), ([(["*"], ["team-*"]), (["*"], ["team*"])], []),
            ([(["*"], ["team*"]), (["*"], ["team-*", "teams"])], [1]), ([(["urn:a", "urn:b"], ["a"]), (["urn:b"], ["a"])], [1]),
            ([(["urn:a"], ["a"]), (["urn:a", "urn:b"], ["a"])], []), ([(["*@Example.org"], ["a"]), (["ann@EXAMPLE.org"], ["a"])], [1]),
            ([(["urn:a"], ["a"]), (["urn:b"], ["a"]), (["urn:a"], ["a"])], [2]),
        ] as [([([String], [String])], [Int])])
    func unreached(rules: [([String], [String])], places: [Int]) throws {
        var policy = AccessPolicy()
        policy.access = try Self.access(rules)
        #expect(policy.doubts.map(\.path) == places.map { "access[\($0)]" })
        // What is said to be never reached is never reached.
        let rooms = try ["a", "team", "teams", "team-a"].map { try #require(RoomName($0, bytesMax: 128)) }
        let names: [PrincipalName] = [
            .init(.uri, "urn:a"), .init(.uri, "urn:b"), .init(.dns, "a.b"), .init(.email, "ann@example.org"), .init(.token, "token:x"),
        ]
        for place in places {
            for (room, name) in rooms.flatMap({ room in names.map { (room, $0) } }) {
                let first = policy.access.firstIndex { rule in
                    rule.rooms.contains { $0.matches(room) } && rule.identities.contains { $0.matches(name) }
                }
                #expect(first != place)
            }
        }
    }

    @Test("settings of rooms are told alike")
    func rooms() throws {
        var policy = AccessPolicy()
        policy.rooms = try [["*"], ["a"]].map { .init(rooms: try Self.rooms($0), settings: RoomSettings()) }
        #expect(policy.doubts.map(\.path) == ["rooms[1]"])
    }

    @Test("the work is bounded, and what was not looked at is told")
    func bounds() throws {
        var policy = AccessPolicy()
        policy.access = try Self.access((0..<4_000).map { (["urn:\($0)"], ["a"]) })
        #expect(policy.doubts.map(\.path) == ["access"])
    }
}
