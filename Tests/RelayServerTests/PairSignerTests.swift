import Foundation
import JOSE
import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Pairs: statements and grants")
struct PairSignerTests {
    private static let low = PairParty(name: "urn:segue:client:alice", fingerprint: String(repeating: "1", count: 64))
    private static let high = PairParty(name: "urn:segue:client:bob", fingerprint: String(repeating: "e", count: 64))
    private static let id = String(repeating: "ab", count: 16)
    private static let issued: Int64 = 1_800_000_000

    private let signer: PairSigner

    init() throws {
        signer = PairSigner(key: try .ephemeral(), node: "relay")
    }

    private func grant(seconds: Int64 = 3_600) throws -> PairGrant {
        try #require(
            PairGrant(id: Self.id, basis: .code, Self.high, Self.low, issuedAt: Self.issued, expiresAt: Self.issued + seconds))
    }

    private func view(_ grant: PairGrant?) throws -> PairView {
        let room = try #require(RoomName("pair:" + String(repeating: "c", count: 64), bytesMax: 128))
        return PairView(id: Self.id, room: room, basis: grant?.basis ?? .policy, low: Self.low, high: Self.high, grant: grant)
    }

    @Test("protocol §3.14 a grant is read back as it was signed, until it expires")
    func roundTrip() throws {
        let grant = try grant()
        let text = try #require(try signer.sign(view(grant), now: Self.issued).grant)
        #expect(signer.read(grant: text, now: Self.issued) == grant)
        #expect(signer.read(grant: text, now: Self.issued + 3_599) == grant)
        #expect(signer.read(grant: text, now: Self.issued + 3_600) == nil)
    }

    @Test("RFC 8725 §3.11 a statement does not pass for a grant, nor a grant for a statement")
    func types() throws {
        let signed = try signer.sign(view(try grant()), now: Self.issued)
        let text = try #require(signed.grant)
        #expect(signer.read(grant: signed.statement, now: Self.issued) == nil)
        #expect(throws: TokenFault.self) { try signer.key.verify(text, type: PairSigner.statementType, now: Self.issued) }
        _ = try signer.key.verify(signed.statement, type: PairSigner.statementType, now: Self.issued)
    }

    @Test("protocol §3.14 a pair by policy has a statement for a day, and no grant")
    func byPolicy() throws {
        let signed = try signer.sign(view(nil), now: Self.issued)
        #expect(signed.grant == nil && signed.renewAt == Self.issued + 43_200)
        let token = try signer.key.verify(signed.statement, type: PairSigner.statementType, now: Self.issued + 86_399)
        #expect(token.issuer == "relay" && token.expiresAt == Self.issued + 86_400 && token.tokenID == nil)
    }

    @Test("protocol §3.14 the same pair is signed to the same bytes, so that both ends hold the same statement")
    func deterministic() throws {
        let view = try view(try grant())
        #expect(try signer.sign(view, now: Self.issued).statement == signer.sign(view, now: Self.issued + 100).statement)
    }

    @Test("protocol §3.4 a grant that another key has signed, or that was changed, is none")
    func forged() throws {
        let other = PairSigner(key: try .ephemeral(), node: "relay")
        let foreign = try #require(try other.sign(view(try grant()), now: Self.issued).grant)
        #expect(signer.read(grant: foreign, now: Self.issued) == nil)
        let own = try #require(try signer.sign(view(try grant()), now: Self.issued).grant)
        for place in stride(from: 0, to: own.utf8.count, by: 7) {
            var bytes = Array(own.utf8)
            bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let changed = String(decoding: bytes, as: UTF8.self)
            #expect(signer.read(grant: changed, now: Self.issued) == nil, "byte \(place)")
        }
    }

    @Test(
        "protocol §3.4 what this key has signed under a grant's type, and is no whole grant, is none",
        arguments: [
            #"{"exp":1800003600}"#,
            #"{"basis":"policy","exp":1800003600,"iat":1800000000,"iss":"x","jti":"ID","members":[LOW,HIGH],"pair":"ID","room":"r"}"#,
            #"{"basis":"code","exp":1800003600,"iat":1800000000,"iss":"x","members":[LOW,HIGH],"pair":"ID","room":"r"}"#,
            #"{"basis":"code","exp":1800003600,"iat":1800000000,"iss":"x","jti":"ID","members":[LOW],"pair":"ID","room":"r"}"#,
            #"{"basis":"code","exp":1800003600,"iat":1800000000,"iss":"x","jti":"ID","members":[LOW,LOW],"pair":"ID","room":"r"}"#,
            #"{"basis":"code","exp":1800003600,"iat":1800000000,"iss":"x","jti":"short","members":[LOW,HIGH],"pair":"short","room":"r"}"#,
        ])
    func malformed(claims: String) throws {
        let filled = claims.replacing("ID", with: Self.id)
            .replacing("LOW", with: #"{"fingerprint":"\#(Self.low.fingerprint)","name":"a"}"#)
            .replacing("HIGH", with: #"{"fingerprint":"\#(Self.high.fingerprint)","name":"b"}"#)
        let text = try signer.key.sign(type: PairSigner.grantType, claims: Array(filled.utf8))
        #expect(signer.read(grant: text, now: Self.issued) == nil)
    }
}

@Suite("Pairs: the file of grants")
struct GrantFileTests {
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-grants-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return folder
    }

    private static func key(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    @Test("protocol §3.14 grants and revocations come back as they were written, in a file for its owner alone")
    func roundTrip() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "grants.json").path
        var ledger = PairLedger()
        let moment = PairMoment(now: .zero, unixMilliseconds: 1_800_000_000_000)
        for (digit, isForwarded) in [("1" as Character, false), ("2", true), ("3", false)] {
            let grant = try #require(
                PairGrant(
                    id: String(repeating: "0\(digit)", count: 16), basis: digit == "1" ? .grant : .code,
                    PairParty(name: "urn:a\"\\", fingerprint: Self.key("a"), isForwarded: isForwarded),
                    PairParty(name: "urn:\(digit)", fingerprint: Self.key(digit)), issuedAt: 1_800_000_000, expiresAt: 1_800_000_100))
            try ledger.put(grant)
            if digit == "3" { ledger.revoke(grant, at: moment, rememberingUntil: 0) }
        }
        try GrantFile.write(ledger.entries, to: path)
        let read = try GrantFile.read(path, limits: PairLimits())
        #expect(read.entries == ledger.entries && read.entries.count == 3)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left == ["grants.json"])
        // A restored revocation is as deadly as before.
        let keys = try #require(PairKeys(Self.key("a"), Self.key("3")))
        #expect(read.isRevoked(keys, issuedAt: 1_800_000_000) && read.grant(keys, at: moment) == nil)
    }

    @Test("protocol §3.14 no file is an empty ledger")
    func missing() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try GrantFile.read(folder.appending(path: "grants.json").path, limits: PairLimits()).entries.isEmpty)
    }

    @Test(
        "protocol §3.14 a file that is not whole is a fault, not an empty ledger",
        arguments: [
            "", "{", "[]", #"{"version":2,"pairs":[]}"#, #"{"version":1}"#, #"{"version":1,"pairs":[{}]}"#,
            #"{"version":1,"pairs":[{"low":{"fingerprint":"1"},"high":{"fingerprint":"2"},"revoked":{"at":1,"until":2}}]}"#,
            #"{"version":1,"pairs":[{"low":{"fingerprint":"A"},"high":{"fingerprint":"B"}}]}"#,
            #"{"version":1,"pairs":[{"low":{"fingerprint":"A"},"high":{"fingerprint":"B"},"grant":{"id":"x","basis":"code","issued":1,"expires":2}}]}"#,
        ])
    func damaged(text: String) throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "grants.json").path
        let filled = text.replacing(#""A""#, with: "\"\(Self.key("a"))\"").replacing(#""B""#, with: "\"\(Self.key("b"))\"")
        try Data(filled.utf8).write(to: URL(filePath: path))
        #expect(throws: StateFault.self) { try GrantFile.read(path, limits: PairLimits()) }
    }

    @Test("protocol §3.14 a state folder that others can write to is refused, and a missing one is made")
    func folders() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try StateFolder.prepare(folder.path)
        try StateFolder.prepare(folder.appending(path: "new").path)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.appending(path: "new").path)[.posixPermissions] as? Int == 0o700)
        try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: folder.path)
        #expect(throws: StateFault.self) { try StateFolder.prepare(folder.path) }
        #expect(throws: StateFault.self) { try StateFolder.prepare(folder.path + "/none/below") }
        #expect(throws: StateFault.self) { try StateFolder.prepare("") }
    }
}
