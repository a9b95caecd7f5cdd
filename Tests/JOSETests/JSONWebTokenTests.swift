import JOSE
import RelayBase
import Testing

@Suite("RFC 7519, RFC 8725: tokens")
struct JSONWebTokenTests {
    @Test("a good token is believed, and says what it says")
    func good() throws {
        let issuer = try Issuer()
        let verified = try issuer.set.verify(try issuer.token(["segue": "{\"rooms\":[]}"]), Issuer.requirements, now: testNow)
        #expect(verified.subject == "alice")
        #expect(verified.issuer == "https://id.example")
        #expect(verified.audience == ["segue"])
        #expect(verified.expiresAt == testNow + 300)
        #expect(verified.notBefore == testNow - 5)
        #expect(verified.issuedAt == testNow - 5)
        #expect(verified.tokenID == "1")
        #expect(verified.keyThumbprint == issuer.key.keyID)
        #expect(String(decoding: verified.claims, as: UTF8.self).contains("\"segue\":{\"rooms\":[]}"))
    }

    @Test("RFC 7519 §4.1.4 to §4.1.6 time is held to exactly, with the leeway given")
    func time() throws {
        let issuer = try Issuer()
        let token = try issuer.token(["exp": "\(testNow + 100)", "nbf": "\(testNow)", "iat": "\(testNow)"])
        for leeway: Int64 in [0, 30] {
            var requirements = Issuer.requirements
            requirements.leewaySeconds = leeway
            #expect(issuer.fault(of: token, requirements, now: testNow + 99 + leeway) == nil)
            #expect(issuer.fault(of: token, requirements, now: testNow + 100 + leeway) == .expired)
            #expect(issuer.fault(of: token, requirements, now: testNow - leeway) == nil)
            #expect(issuer.fault(of: token, requirements, now: testNow - leeway - 1) == .notYetValid)
            let early = try issuer.token(["nbf": "", "iat": "\(testNow)"])
            #expect(issuer.fault(of: early, requirements, now: testNow - leeway - 1) == .issuedInFuture)
        }
    }

    @Test(
        "RFC 7519 §4.1 a claim that is missing or wrong is refused by its name",
        arguments: [
            (["exp": ""], .claimMissing(.expirationTime)), (["exp": "\"1800000300\""], .claimMalformed(.expirationTime)),
            (["exp": "null"], .claimMalformed(.expirationTime)), (["exp": "-1"], .claimMalformed(.expirationTime)),
            (["exp": "1e400"], .claimMalformed(.expirationTime)), (["exp": "253402300800"], .claimMalformed(.expirationTime)),
            (["exp": "18446744073709551616"], .claimMalformed(.expirationTime)), (["exp": "[1800000300]"], .claimMalformed(.expirationTime)),
            (["exp": "true"], .claimMalformed(.expirationTime)), (["exp": "0"], .expired), (["exp": "-0"], .expired), (["exp": "1e-400"], .expired),
            (["nbf": "\"now\""], .claimMalformed(.notBefore)), (["nbf": "1e300"], .claimMalformed(.notBefore)),
            (["nbf": "-5"], .claimMalformed(.notBefore)),
            (["iat": "{}"], .claimMalformed(.issuedAt)), (["iat": "-0.5"], .claimMalformed(.issuedAt)),
            (["sub": ""], .claimMissing(.subject)), (["sub": "\"\""], .claimMalformed(.subject)), (["sub": "7"], .claimMalformed(.subject)),
            (["sub": "\"al ice\""], .claimMalformed(.subject)), (["sub": "\"al\\nice\""], .claimMalformed(.subject)),
            (["sub": "\"al\\u0000ice\""], .claimMalformed(.subject)), (["sub": "\"alicé\""], .claimMalformed(.subject)),
            (["sub": "\"" + String(repeating: "a", count: 513) + "\""], .claimMalformed(.subject)),
            (["aud": ""], .claimMissing(.audience)), (["aud": "\"other\""], .audience), (["aud": "[]"], .audience),
            (["aud": "[\"other\",\"Segue\"]"], .audience),
            (["aud": "7"], .claimMalformed(.audience)), (["aud": "[\"segue\",7]"], .claimMalformed(.audience)), (["aud": "\"segue \""], .audience),
            (["aud": "[" + repeatElement("\"segue\"", count: 17).joined(separator: ",") + "]"], .claimMalformed(.audience)),
            (["iss": ""], .claimMissing(.issuer)), (["iss": "\"https://id.example/\""], .issuer), (["iss": "1"], .claimMalformed(.issuer)),
            (["jti": "1"], .claimMalformed(.tokenID)),
        ] as [([String: String], TokenFault)])
    func claims(changes: [String: String], expected: TokenFault) throws {
        let issuer = try Issuer()
        #expect(issuer.fault(of: try issuer.token(changes)) == expected)
    }

    @Test(
        "RFC 7519 §2 numbers of every shape that mean a good time are taken",
        arguments: [
            ["exp": "1800000031.5"], ["exp": "1.8000003e9"], ["exp": "253402300799"], ["nbf": "1799999999.9"], ["aud": "[\"x\",\"segue\"]"],
            ["sub": "\"" + String(repeating: "a", count: 512) + "\""], ["nbf": "", "iat": "", "jti": ""],
        ])
    func shapes(changes: [String: String]) throws {
        let issuer = try Issuer()
        #expect(issuer.fault(of: try issuer.token(changes)) == nil)
    }

    @Test("RFC 8725 §3.11 only tokens of an identity provider pass as one", arguments: ["JWT", "jwt", "at+jwt", "application/at+jwt"])
    func bearerTypes(type: String) throws {
        let issuer = try Issuer()
        let members = "{\"alg\":\"EdDSA\",\"typ\":\"\(type)\"}"
        // Typed before it is verified, so that an unsigned token shows which of the two was found first.
        let unsigned = token(header: members, claims: "{\"sub\":\"a\",\"aud\":\"segue\",\"iss\":\"https://id.example\",\"exp\":\(testNow + 9)}")
        #expect(issuer.fault(of: unsigned) == .signature)
    }

    @Test(
        "RFC 8725 §3.11 a statement of the relay's own is no bearer token",
        arguments: ["segue-grant+jwt", "segue-pair+jwt", "dpop+jwt", "secevent+jwt", "JWE"])
    func otherTypes(type: String) throws {
        let issuer = try Issuer()
        #expect(issuer.fault(of: try issuer.token(type: type)) == .type)
    }

    @Test("what is cheap is looked at before the signature: size, header, claims")
    func order() throws {
        let issuer = try Issuer()
        let good = "{\"alg\":\"EdDSA\"}"
        #expect(issuer.fault(of: token(header: good, claims: "{\"sub\":\"a\",\"exp\":1}")) == .expired)
        #expect(issuer.fault(of: token(header: good, claims: "{}")) == .claimMissing(.expirationTime))
        #expect(issuer.fault(of: try issuer.token(["pad": "\"" + String(repeating: "x", count: 6_000) + "\""])) == .tooLarge)
    }

    @Test("8 KiB is the bound, exactly")
    func bound() throws {
        let issuer = try Issuer()
        // Three bytes of claims make four of the token: pad until it cannot come closer, then look at both sides.
        let empty = try issuer.token(["pad": "\"\""]).utf8.count
        let room = JSONWebToken.bytesMax - empty
        let fits = try issuer.token(["pad": "\"" + String(repeating: "x", count: room * 3 / 4 - 3) + "\""])
        let over = try issuer.token(["pad": "\"" + String(repeating: "x", count: room * 3 / 4 + 3) + "\""])
        #expect(fits.utf8.count <= JSONWebToken.bytesMax && fits.utf8.count > JSONWebToken.bytesMax - 8)
        #expect(issuer.fault(of: fits) == nil)
        #expect(issuer.fault(of: over) == .tooLarge)
    }

    @Test("the key's kid selects; a token without one is tried with the first few keys of its algorithm")
    func keyID() throws {
        let issuers = try (0..<6).map { _ in try Issuer() }
        func set(named: Bool) throws -> JSONWebKeySet {
            let keys = issuers.enumerated().map { place, issuer in
                // Take the kid out of each key where the set is to have none.
                let text = String(String(decoding: issuer.key.publicSet, as: UTF8.self).dropFirst(9).dropLast(2))
                return named ? text : text.replacing("\"kid\":\"\(issuer.key.keyID)\"", with: "\"place\":\(place)")
            }
            return try JSONWebKeySet(parsing: bytes("{\"keys\":[\(keys.joined(separator: ","))]}"))
        }
        let named = try set(named: true)
        let unnamed = try set(named: false)
        for (place, issuer) in issuers.enumerated() {
            let token = try issuer.token()
            #expect(try named.verify(token, Issuer.requirements, now: testNow).keyThumbprint == issuer.key.keyID, "key \(place)")
            // The token names a key, and no key is named so.
            #expect(throws: TokenFault.unknownKey) { try unnamed.verify(token, Issuer.requirements, now: testNow) }
        }
        #expect(throws: TokenFault.unknownKey) { try issuers[0].set.verify(try issuers[1].token(), Issuer.requirements, now: testNow) }
    }

    @Test("RFC 7515 §A.3 a token without kid is verified by a key of its algorithm among others")
    func withoutKeyID() throws {
        let requirements = TokenRequirements(audience: .any, requiresSubject: false)
        let now = RFC7515.expiresAt - 1
        let mixed = try keySet(edwardsKey(), ellipticKey(",\"kid\":\"e\""))
        #expect(try mixed.verify(RFC7515.token, requirements, now: now).keyID == nil)
        #expect(throws: TokenFault.unknownKey) { try keySet(edwardsKey()).verify(RFC7515.token, requirements, now: now) }
    }
}
