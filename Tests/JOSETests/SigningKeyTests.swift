import Foundation
import JOSE
import RelayBase
import Testing

@Suite("The relay's signing key")
struct SigningKeyTests {
    private static func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-jose-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private static func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private static let claims = "{\"iss\":\"node\",\"exp\":\(testNow + 60),\"pair\":\"00\"}"

    @Test("a key that was made is found again, alone in its folder, with mode 0600")
    func openOrCreate() throws {
        try SigningKeyTests.withFolder { folder in
            let path = folder + "/signing-key.pem"
            let made = try SigningKey.openOrCreate(path: path)
            #expect(try SigningKeyTests.mode(path) == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["signing-key.pem"])
            #expect(try SigningKey.openOrCreate(path: path).keyID == made.keyID)
            #expect(try SigningKey.open(path: path).publicSet == made.publicSet)
            #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
            #expect(try SigningKey.ephemeral().keyID != made.keyID)
        }
    }

    @Test("of many that make the key at once all get the same one")
    func race() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-jose-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let identifiers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 { group.addTask { try SigningKey.openOrCreate(path: folder + "/key.pem").keyID } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(identifiers.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key.pem"])
    }

    @Test("a file that others may read or write is refused", arguments: [0o640, 0o604, 0o644, 0o660, 0o620, 0o601])
    func exposed(mode: Int) throws {
        try SigningKeyTests.withFolder { folder in
            let path = folder + "/key.pem"
            _ = try SigningKey.openOrCreate(path: path)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let expected = SigningKeyFault.exposed(path: path, mode: UInt32(mode))
            #expect(throws: expected) { try SigningKey.open(path: path) }
            #expect(throws: expected) { try SigningKey.openOrCreate(path: path) }
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
            _ = try SigningKey.open(path: path)
        }
    }

    @Test("what is no Ed25519 key in PEM is refused and left alone")
    func malformed() throws {
        try SigningKeyTests.withFolder { folder in
            let path = folder + "/key.pem"
            let elliptic = """
                -----BEGIN PRIVATE KEY-----
                MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
                H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
                7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
                -----END PRIVATE KEY-----

                """
            for text in [
                "", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", elliptic, String(repeating: "x", count: 20_000),
            ] {
                #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
                #expect(throws: SigningKeyFault.malformed(path: path)) { try SigningKey.openOrCreate(path: path) }
                let kept = try String(contentsOfFile: path, encoding: .utf8)
                #expect(kept == text)
            }
            #expect(throws: SigningKeyFault.malformed(path: folder)) { try SigningKey.open(path: folder) }
            #expect(throws: SigningKeyFault.self) { try SigningKey.open(path: folder + "/none.pem") }
            #expect(throws: SigningKeyFault.self) { try SigningKey.openOrCreate(path: folder + "/none/key.pem") }
            #expect(throws: SigningKeyFault.self) { try SigningKey.open(path: path + "\0") }
            #expect(throws: SigningKeyFault.self) { try SigningKey.open(path: "") }
        }
    }

    @Test("RFC 8725 §3.11 a statement is believed as what it is and as nothing else")
    func statements() throws {
        let key = try SigningKey.ephemeral()
        let grant = try key.sign(type: "segue-grant+jwt", claims: bytes(SigningKeyTests.claims))
        let verified = try key.verify(grant, type: "segue-grant+jwt", now: testNow)
        #expect(verified.claims == bytes(SigningKeyTests.claims))
        #expect(verified.issuer == "node")
        #expect(verified.subject == nil)
        #expect(throws: TokenFault.type) { try key.verify(grant, type: "segue-pair+jwt", now: testNow) }
        #expect(throws: TokenFault.type) { try key.verify(grant, type: "SEGUE-GRANT+JWT", now: testNow) }
        #expect(throws: TokenFault.expired) { try key.verify(grant, type: "segue-grant+jwt", now: testNow + 60) }
        let other = try SigningKey.ephemeral()
        #expect(throws: TokenFault.unknownKey) { try other.verify(grant, type: "segue-grant+jwt", now: testNow) }
        let eternal = try key.sign(type: "segue-grant+jwt", claims: bytes("{}"))
        #expect(throws: TokenFault.claimMissing(.expirationTime)) { try key.verify(eternal, type: "segue-grant+jwt", now: testNow) }
        // A token of an identity provider that happens to have the same key is no grant, and a grant is no token.
        let set = try JSONWebKeySet(parsing: key.publicSet)
        let bearer = TokenRequirements(audience: .any, requiresSubject: false)
        #expect(throws: TokenFault.type) { try set.verify(grant, bearer, now: testNow) }
    }

    @Test("the public set has the public half and nothing else, and its kid is the thumbprint")
    func publicSet() throws {
        let key = try SigningKey.ephemeral()
        let set = try JSONWebKeySet(parsing: key.publicSet)
        #expect(set.keys.count == 1)
        #expect(set.keys.first?.keyID == key.keyID)
        #expect(set.keys.first?.thumbprint == key.keyID)
        #expect(set.keys.first?.algorithm == .edDSA)
        let statement = try key.sign(type: "a", claims: bytes(SigningKeyTests.claims))
        let requirements = TokenRequirements(type: .exactly("a"), audience: .any, requiresSubject: false)
        #expect(try set.verify(statement, requirements, now: testNow).issuer == "node")
    }

    @Test("several threads sign and verify at once")
    func threads() async throws {
        let key = try SigningKey.ephemeral()
        let good = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let claims = bytes("{\"exp\":\(testNow + 1),\"n\":\(number),\"r\":\(round)}")
                        guard try key.verify(key.sign(type: "t", claims: claims), type: "t", now: testNow).claims == claims else { return false }
                    }
                    return true
                }
            }
            return try await group.allSatisfy { $0 }
        }
        #expect(good)
    }
}
