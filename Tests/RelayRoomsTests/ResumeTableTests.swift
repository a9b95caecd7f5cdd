import RelayRooms
import Testing

@Suite("Protocol §3.18: who may come back to which session")
struct ResumeTableTests {
    private typealias Table = ResumeTable<String>
    private static let ann = ResumeOwner(name: "urn:segue:client:ann", fingerprint: "aa")
    private static let session = Table.Session(address: MemberAddress(loop: 3, token: 7), owner: ann)

    private static func table() -> Table {
        var table = Table()
        table.insert("token", session)
        return table
    }

    /// What a claim answers: its kind, without its number.
    private static func kind(_ claim: Table.Claim) -> String {
        switch claim {
        case .session(let found, _): found == session ? "session" : "another session"
        case .unknown: "unknown"
        case .anothers: "anothers"
        case .claimed: "claimed"
        case .elsewhere: "elsewhere"
        }
    }

    private static func number(_ claim: Table.Claim) -> Table.ClaimNumber? {
        if case .session(_, let number) = claim { number } else { nil }
    }

    @Test("a token is claimed once, by its owner, and ends with what its session says")
    func once() {
        var table = Self.table()
        let claims = [table.claim("token", by: Self.ann), table.claim("token", by: Self.ann)].map(Self.kind)
        #expect(claims == ["session", "claimed"])
        table.remove("token")
        let gone = Self.kind(table.claim("token", by: Self.ann))
        #expect(gone == "unknown")
        #expect(table.count == 0)
    }

    @Test(
        "another identity gets nothing, and takes nothing from the owner",
        arguments: [
            ResumeOwner(name: "urn:segue:client:bob", fingerprint: "aa"), ResumeOwner(name: "urn:segue:client:ann", fingerprint: "ab"),
            ResumeOwner(name: "urn:segue:client:ann", fingerprint: nil), ResumeOwner(name: "token:ann", fingerprint: nil),
        ])
    func anothers(_ other: ResumeOwner) {
        var table = Self.table()
        let claims = [table.claim("token", by: other), table.claim("token", by: Self.ann)].map(Self.kind)
        #expect(claims == ["anothers", "session"])
    }

    @Test("a session of another loop than may be stays to be claimed")
    func elsewhere() {
        var table = Self.table()
        let claims = [
            table.claim("token", by: Self.ann, onlyOn: 2), table.claim("token", by: Self.ann, onlyOn: 3),
            table.claim("token", by: Self.ann, onlyOn: 3),
        ].map(Self.kind)
        #expect(claims == ["elsewhere", "session", "claimed"])
    }

    @Test("a claim that came to nothing is given back, by its number only")
    func givenBack() throws {
        var table = Self.table()
        let first = try #require(Self.number(table.claim("token", by: Self.ann)))
        table.giveBack("token", first)
        let second = table.claim("token", by: Self.ann)
        #expect(Self.kind(second) == "session")
        // Too late: the token is in others' hands now.
        table.giveBack("token", first)
        let third = table.claim("token", by: Self.ann)
        #expect(third == .claimed)
    }

    @Test("a claim given back after the session's end brings nothing back")
    func ended() throws {
        var table = Self.table()
        let number = try #require(Self.number(table.claim("token", by: Self.ann)))
        table.remove("token")
        table.giveBack("token", number)
        let gone = table.claim("token", by: Self.ann)
        #expect(gone == .unknown)
        #expect(table.count == 0)
    }

    @Test("as many sessions of one name are kept as may be, and others' besides")
    func counts() {
        var counts = ParkedCounts(perNameMax: 2)
        let added = ["ann", "ann", "ann", "bob"].map { counts.add($0) }
        #expect(added == [true, true, false, true])
        #expect(counts.total == 3)
        counts.remove("ann")
        let again = counts.add("ann")
        #expect(again)
        for name in ["ann", "ann", "bob", "bob", "nobody"] { counts.remove(name) }
        #expect(counts.total == 0)
    }
}
