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

    @Test("a token is good once, for its owner")
    func once() {
        var table = Self.table()
        let claims = [table.claim("token", by: Self.ann), table.claim("token", by: Self.ann)]
        #expect(claims == [.session(Self.session), .unknown])
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
        let claims = [table.claim("token", by: other), table.claim("token", by: Self.ann)]
        #expect(claims == [.anothers, .session(Self.session)])
    }

    @Test("a claim that came to nothing is given back; a session that has ended is not")
    func givenBack() {
        var table = Self.table()
        _ = table.claim("token", by: Self.ann)
        table.insert("token", Self.session)
        let again = table.claim("token", by: Self.ann)
        #expect(again == .session(Self.session))
        table.insert("token", Self.session)
        table.remove("token")
        let gone = table.claim("token", by: Self.ann)
        #expect(gone == .unknown)
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
