import RelayBase
import Testing

@testable import CertificateAuthority

@Suite("Moments and the index")
struct TimeAndIndexTests {
    @Test(
        "RFC 3339: moments and their text",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (1_800_014_400, "2027-01-15T12:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ])
    func vectors(seconds: Int64, text: String) {
        #expect(UnixTime(seconds: seconds).description == text)
        #expect(UnixTime(text)?.seconds == seconds)
    }

    @Test("Reading what was written is the identity", arguments: UInt64(0)..<8)
    func roundTrip(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let time = UnixTime(seconds: Int64.random(in: 0...UnixTime.secondsMax, using: &generator))
            #expect(UnixTime(time.description) == time)
        }
    }

    @Test(
        "Text that is no moment is refused",
        arguments: [
            "", "2027-01-15", "2027-01-15T12:00:00", "2027-01-15T12:00:00+00:00", "2027-01-15t12:00:00Z", "2027-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2027-06-31T00:00:00Z", "2027-00-01T00:00:00Z", "2027-13-01T00:00:00Z", "2027-01-00T00:00:00Z", "2027-01-15T24:00:00Z",
            "2027-01-15T12:60:00Z",
            "2027-01-15T12:00:60Z", "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "-027-01-15T12:00:00Z", "2027-01-15T12:00:00ZZ",
            "２027-01-15T12:00:00Z",
        ])
    func badText(text: String) {
        #expect(UnixTime(text) == nil)
    }

    @Test("Arithmetic stops at the ends of the calendar")
    func ends() {
        #expect(UnixTime(seconds: -5).seconds == 0)
        #expect((testTime + .seconds(Int64.max)).seconds == UnixTime.secondsMax)
        #expect((testTime - .seconds(Int64.max)).seconds == 0)
        #expect((testTime + .seconds(Int64.min)).seconds == 0)
        #expect((testTime - .seconds(Int64.min)).seconds == UnixTime.secondsMax)
        #expect(testTime + .days(1) - .days(1) == testTime)
    }

    @Test(
        "Serial numbers as people copy them",
        arguments: [
            ("4a0b", "4a0b"), ("4A:0B", "4a0b"), ("", nil), ("4", nil), ("4g", nil), ("00", nil), ("-1", nil),
            (String(repeating: "ab", count: 21), nil),
        ])
    func serials(text: String, expected: String?) {
        #expect(CertificateSerial(text)?.description == expected)
    }

    @Test("Status follows from the clock and from revocation")
    func status() throws {
        let folder = try TemporaryFolder()
        let authority = try folder.authority()
        let entry = try authority.issueClient(name: "alice", validity: .days(2), now: testTime).entry
        let table: [(UnixTime, CertificateStatus)] = [
            (testTime - .seconds(301), .notYetValid), (testTime - .seconds(300), .valid), (testTime + .days(2), .valid),
            (testTime + .days(2) + .seconds(1), .expired),
        ]
        for (now, status) in table { #expect(entry.status(at: now) == status) }
        try authority.revoke(.label("alice"), now: testTime)
        for (now, _) in table { #expect(try authority.list()[0].status(at: now) == .revoked) }
    }

    @Test("Reading the index that was written is the identity")
    func indexRoundTrip() throws {
        let folder = try TemporaryFolder()
        let authority = try folder.authority()
        try authority.issueServer(names: [try .dns("*.example.org"), try .ip("::1")], key: .rsa2048, now: testTime)
        try authority.issueClient(name: "alice", alternativeNames: [try .email("o'hara+x@example.org")], now: testTime)
        try authority.issueClient(name: "bob", now: testTime)
        try authority.revoke(.label("alice"), reason: .keyCompromise, now: testTime)
        let index = try AuthorityTransaction.readIndex(authority.files)
        let text = try index.encoded()
        #expect(try CertificateIndex(parsing: Array(text.utf8), path: "index").entries == index.entries)
        #expect(index.entries.map(\.revocation?.reason) == [nil, .keyCompromise, nil])
        #expect(text.split(separator: "\n").count == 3)
    }

    @Test("A line of the index that is not understood stops everything, and the fault tells which")
    func corruptIndex() throws {
        let folder = try TemporaryFolder()
        let authority = try folder.authority()
        try authority.issueClient(name: "alice", now: testTime)
        let path = authority.files.index
        let good = try AuthorityTransaction.readIndex(authority.files).encoded()
        let bad = [
            "{", "{}", "null", good.replacing("\"valid\"", with: "\"gone\""), good.replacing("\"valid\"", with: "\"revoked\""),
            good.replacing("2027-01-15", with: "2027-02-30"), good.replacing("URI:urn:segue", with: "URI:"),
            good.replacing("\"client\"", with: "\"root\""),
            good.replacing("\"alice\"", with: "\"../alice\""), good.replacing("ecdsa-p256", with: "dsa"),
            good.replacing("\"serial\":\"", with: "\"serial\":\"zz"),
        ]
        for line in bad {
            try Files.write(good + line, to: path, mode: Files.secretMode)
            #expect(throws: CertificateAuthorityFault.indexCorrupt(path: path, line: 2), "\(line)") { try authority.list() }
            #expect(throws: CertificateAuthorityFault.indexCorrupt(path: path, line: 2)) { try authority.refreshCRL(now: testTime) }
        }
    }
}
