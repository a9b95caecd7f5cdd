import HTTPProtocol
import JOSE
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Bearer tokens in the relay")
struct TokenTests {
    private static let now: Int64 = 1_800_000_000
    private let key: SigningKey
    private let verifier: TokenVerifier

    init() throws {
        key = try SigningKey.ephemeral()
        verifier = TokenVerifier(try JSONWebKeySet(parsing: key.publicSet), TokenRequirements(audience: .anyOf(["segue"]), leewaySeconds: 30))
    }

    private func token(_ more: String = "", subject: String = "alice") throws -> String {
        try key.sign(type: "JWT", claims: Array("{\"sub\":\"\(subject)\",\"aud\":\"segue\",\"exp\":\(TokenTests.now + 60)\(more)}".utf8))
    }

    private func room(_ text: String) throws -> RoomName { try #require(RoomName(text, bytesMax: 64)) }

    @Test("a token is an identity by its subject, with the time of its end and its key")
    func identity() throws {
        let verified = try verifier.verify(try token(), now: TokenTests.now)
        #expect(verified.subject == "alice")
        #expect(verified.endsAt == TokenTests.now + 90)
        #expect(verified.rules.isEmpty)
        #expect(verifier.trusts(verified))
        let other = TokenVerifier(
            try JSONWebKeySet(parsing: SigningKey.ephemeral().publicSet), TokenRequirements(audience: .anyOf(["segue"])))
        #expect(!other.trusts(verified))
        let principal = Principal(verified)
        #expect(principal.name == "token:alice")
        #expect(principal.fingerprint == nil)
        #expect(principal.proofs == .token)
    }

    @Test("a token beside a certificate adds a name and a proof, and renewing it adds neither twice")
    func secondFactor() throws {
        var principal = Principal(
            name: "urn:a", names: [PrincipalName(.uri, "urn:a")], fingerprint: String(repeating: "0", count: 64), proofs: .certificate)
        let first = try verifier.verify(
            try token(",\"segue\":{\"rooms\":[{\"room\":\"a\",\"roles\":[\"host\"]}]}"), now: TokenTests.now)
        principal.add(first)
        #expect(principal.name == "urn:a")
        #expect(principal.names.map(\.text) == ["urn:a", "token:alice"])
        #expect(principal.proofs == [.certificate, .token])
        #expect(principal.tokenRules.count == 1)
        principal.add(try verifier.verify(try token(), now: TokenTests.now))
        #expect(principal.names.count == 2)
        #expect(principal.tokenRules.isEmpty, "the rights of the newer token hold")
    }

    @Test("a token's rights decide in the rooms that they name, and nowhere else")
    func rights() throws {
        let rights = """
            ,"segue":{"rooms":[{"room":"ward-*","roles":["speaker","listener"],"publish":["audio"],"later":1},{"room":"*","roles":["listener"]}],"more":{}}
            """
        let principal = Principal(try verifier.verify(try token(rights), now: TokenTests.now))
        let policy = AccessPolicy()
        let ward = try policy.admission(of: principal, to: room("ward-7"), asking: nil)
        #expect(ward.role == .speaker)
        #expect(ward.publish == .audio)
        #expect(try policy.admission(of: principal, to: room("ward-7"), asking: .listener).role == .listener)
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: principal, to: room("ward-7"), asking: .host) }
        let elsewhere = try policy.admission(of: principal, to: room("hall"), asking: nil)
        #expect(elsewhere.role == .listener)
        #expect(elsewhere.publish == .all)
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: principal, to: room("pair:00"), asking: nil) }
        let bare = Principal(try verifier.verify(try token(), now: TokenTests.now))
        #expect(throws: AccessRefusal.notAllowed) { try policy.admission(of: bare, to: room("ward-7"), asking: nil) }
    }

    @Test("administration is not for tokens, whatever they say")
    func administration() throws {
        var policy = AccessPolicy()
        policy.admins = ["*", "token:alice"].compactMap { IdentityPattern($0) }
        #expect(!policy.isAdmin(Principal(try verifier.verify(try token(), now: TokenTests.now))))
    }

    @Test(
        "a subject that looks like another kind of name stays a token's",
        arguments: ["urn:segue:client:bob", "bob@example.org", "spki:00", "token:x", "*"])
    func disguise(subject: String) throws {
        let principal = Principal(try verifier.verify(try token(subject: subject), now: TokenTests.now))
        #expect(principal.name == "token:" + subject)
        let disguises = [subject == "*" ? "x*" : subject, "*@example.org", "urn:*", "spki:*", "*.example.org"].compactMap { IdentityPattern($0) }
        #expect(!disguises.contains { $0.matches(principal) })
        let own = try #require(IdentityPattern("token:*"))
        #expect(own.matches(principal))
    }

    @Test(
        "rights that are not understood make the token void",
        arguments: [
            "null", "[]", "\"*\"", "{\"rooms\":{}}", "{\"rooms\":null}", "{\"rooms\":[1]}", "{\"rooms\":[{}]}", "{\"rooms\":[{\"room\":\"a\"}]}",
            "{\"rooms\":[{\"roles\":[\"host\"]}]}", "{\"rooms\":[{\"room\":\"a\",\"roles\":[]}]}",
            "{\"rooms\":[{\"room\":\"a\",\"roles\":[\"admin\"]}]}",
            "{\"rooms\":[{\"room\":\"a\",\"roles\":[\"host\",7]}]}", "{\"rooms\":[{\"room\":\"a\",\"roles\":\"host\"}]}",
            "{\"rooms\":[{\"room\":\"\",\"roles\":[\"host\"]}]}", "{\"rooms\":[{\"room\":\"a b\",\"roles\":[\"host\"]}]}",
            "{\"rooms\":[{\"room\":7,\"roles\":[\"host\"]}]}", "{\"rooms\":[{\"room\":\"a\",\"roles\":[\"host\"],\"publish\":[\"smell\"]}]}",
            "{\"rooms\":[{\"room\":\"a\",\"roles\":[\"host\"],\"publish\":null}]}",
            "{\"rooms\":[" + repeatElement("{\"room\":\"a\",\"roles\":[\"host\"]}", count: 65).joined(separator: ",") + "]}",
        ])
    func malformedRights(claim: String) throws {
        let token = try token(",\"segue\":\(claim)")
        #expect(throws: TokenRefusal.rights) { try verifier.verify(token, now: TokenTests.now) }
    }

    @Test("a token may forbid to publish anything")
    func publishNothing() throws {
        let rights = ",\"segue\":{\"rooms\":[{\"room\":\"a\",\"roles\":[\"speaker\"],\"publish\":[]}]}"
        #expect(try verifier.verify(try token(rights), now: TokenTests.now).rules.first?.publish == [])
    }

    @Test("RFC 6750 §2.1 the Authorization field is read as a bearer's only when it is one")
    func credentials() {
        let table: [([String], BearerCredentials)] = [
            ([], .absent), (["Basic YTpi"], .absent), (["Bearerx a.b.c"], .absent), ([""], .absent), (["Bearer a.b-_c"], .token("a.b-_c")),
            (["bearer a"], .token("a")), (["BEARER   a"], .token("a")), (["Bearer"], .malformed), (["Bearer "], .malformed),
            (["Bearer a b"], .malformed),
            (["Bearer a,b"], .malformed), (["Bearer \"a\""], .malformed), (["Bearer é"], .malformed), (["Bearer a", "Bearer a"], .malformed),
            (["Basic YTpi", "Bearer a"], .malformed),
        ]
        for (values, expected) in table {
            #expect(BearerCredentials(HTTPFields(values.map { HTTPField("Authorization", $0) })) == expected, "\(values)")
        }
    }

    @Test("no refusal says anything of the token")
    func silence() throws {
        let token = try token(",\"segue\":{\"rooms\":[{\"room\":\"s3cret place\",\"roles\":[\"s3cret\"]}]}", subject: "s3cret")
        let refusals = [token, String(token.dropLast()), token + "s3cret"].map { text -> TokenRefusal? in
            do throws(TokenRefusal) {
                _ = try verifier.verify(text, now: TokenTests.now)
                return nil
            } catch {
                return error
            }
        }
        for refusal in refusals {
            let refusal = try #require(refusal)
            #expect(!(refusal.sentence + refusal.name + "\(refusal)").contains("s3cret"))
        }
    }
}

@Suite("Configuration of tokens")
struct TokenConfigurationTests {
    private func faults(_ text: String) -> [String] {
        do throws(ServerConfiguration.Invalid) {
            _ = try ServerConfiguration(text: Array(text.utf8))
            return []
        } catch {
            return error.faults.map(\.path)
        }
    }

    @Test("without 'tokens' none are in use; with it the keys must be named, the rest has defaults")
    func defaults() throws {
        #expect(try ServerConfiguration(text: Array("{}".utf8)).tokens == nil)
        let settings = try #require(try ServerConfiguration(text: Array("{tokens:{keys:'k'}}".utf8)).tokens)
        #expect(settings.keysFile == "k")
        #expect(settings.issuer == nil)
        #expect(settings.audience == "segue")
        #expect(settings.leewaySeconds == 30)
    }

    @Test(
        "what is wrong is told by its path",
        arguments: [
            ("{tokens:{}}", ["tokens.keys"]), ("{tokens:{keys:''}}", ["tokens.keys"]), ("{tokens:{keys:'k',audience:''}}", ["tokens.audience"]),
            ("{tokens:{keys:'k',issuer:''}}", ["tokens.issuer"]), ("{tokens:{keys:'k',leewaySeconds:601}}", ["tokens.leewaySeconds"]),
            ("{tokens:{keys:'k',secret:'s'}}", ["tokens.secret"]), ("{tokens:[]}", ["tokens"]),
        ])
    func faults(text: String, paths: [String]) {
        #expect(faults(text) == paths)
    }

    @Test("variables set the keys as well")
    func variables() throws {
        let environment = ["SEGUE_TOKENS_KEYS": "7", "SEGUE_TOKENS_LEEWAY_SECONDS": "0", "SEGUE_TOKENS_ISSUER": "true"]
        let settings = try #require(try ServerConfiguration(text: nil, environment: environment).tokens)
        #expect(settings.keysFile == "7")
        #expect(settings.leewaySeconds == 0)
        #expect(settings.issuer == "true")
    }
}
