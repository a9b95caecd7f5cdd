import JOSE
import RelayBase
import Testing

@Suite("RFC 8725: hostile tokens")
struct HostileTokenTests {
    private static let claims = "{\"sub\":\"mallory\",\"aud\":\"segue\",\"iss\":\"https://id.example\",\"exp\":\(testNow + 300)}"

    @Test(
        "RFC 8725 §3.1, §3.2 the algorithm is one of two and never the sender's choice",
        arguments: [
            ("{\"alg\":\"none\"}", .algorithm), ("{\"alg\":\"None\"}", .algorithm), ("{\"alg\":\"nOnE\"}", .algorithm),
            ("{\"alg\":\"\"}", .algorithm), ("{}", .algorithm),
            ("{\"alg\":null}", .algorithm), ("{\"alg\":[\"EdDSA\"]}", .algorithm), ("{\"alg\":\"HS256\"}", .algorithm),
            ("{\"alg\":\"HS512\"}", .algorithm),
            ("{\"alg\":\"RS256\"}", .algorithm), ("{\"alg\":\"PS256\"}", .algorithm), ("{\"alg\":\"ES384\"}", .algorithm),
            ("{\"alg\":\"ES256K\"}", .algorithm),
            ("{\"alg\":\"es256\"}", .algorithm), ("{\"alg\":\"EdDSA \"}", .algorithm), ("{\"alg\":\"dir\",\"enc\":\"A128GCM\"}", .algorithm),
            // The set has Ed25519 keys alone.
            ("{\"alg\":\"ES256\"}", .unknownKey), ("{\"alg\":\"EdDSA\"}", .signature),
            ("{\"alg\":\"EdDSA\",\"crit\":[\"exp\"],\"exp\":1}", .header), ("{\"alg\":\"EdDSA\",\"crit\":[]}", .header),
            ("{\"alg\":\"EdDSA\",\"b64\":false}", .header),
            ("{\"alg\":\"EdDSA\",\"cty\":\"JWT\"}", .header),
            ("{\"alg\":\"EdDSA\",\"alg\":\"EdDSA\"}", .malformed), ("{\"alg\":\"none\",\"\\u0061lg\":\"EdDSA\"}", .malformed),
            ("{\"alg\":\"EdDSA\",\"kid\":7}", .malformed), ("{\"alg\":\"EdDSA\",\"typ\":[]}", .malformed),
            ("{\"alg\":\"EdDSA\",\"kid\":\"../../etc/passwd\"}", .unknownKey), ("{\"alg\":\"EdDSA\",\"kid\":\"' OR 1=1\"}", .unknownKey),
            ("{\"alg\":\"EdDSA\",\"kid\":\"\"}", .unknownKey), ("[]", .malformed), ("\"EdDSA\"", .malformed), ("", .malformed),
            ("{\"alg\":\"EdDSA\"", .malformed),
        ] as [(String, TokenFault)])
    func header(header: String, expected: TokenFault) throws {
        #expect(try Issuer().fault(of: token(header: header, claims: HostileTokenTests.claims)) == expected)
    }

    @Test("RFC 8725 §3.10 a key that the token brings along is not used", arguments: ["jwk", "jku", "x5u", "x5c"])
    func broughtAlong(member: String) throws {
        let issuer = try Issuer()
        let attacker = try SigningKey.ephemeral()
        let key = String(decoding: attacker.publicSet, as: UTF8.self).dropFirst(9).dropLast(2)
        let value = member == "jwk" ? String(key) : member == "x5c" ? "[\"AAAA\"]" : "\"https://attacker.example/keys\""
        let header = "{\"alg\":\"EdDSA\",\"\(member)\":\(value)}"
        #expect(issuer.fault(of: try signed(by: attacker, header: header, claims: HostileTokenTests.claims)) == .signature)
        // The member alone does no harm: other readers may know what it is for.
        #expect(issuer.fault(of: try signed(by: issuer.key, header: header, claims: HostileTokenTests.claims)) == nil)
        #expect(issuer.fault(of: try attacker.sign(type: "JWT", claims: bytes(HostileTokenTests.claims))) == .unknownKey)
    }

    @Test("RFC 8725 §3.1 the public key's bytes as a MAC key make no token")
    func macWithPublicKey() throws {
        let issuer = try Issuer()
        let forged = token(
            header: "{\"alg\":\"HS256\",\"kid\":\"\(issuer.key.keyID)\"}", claims: HostileTokenTests.claims,
            signature: [UInt8](repeating: 1, count: 32))
        #expect(issuer.fault(of: forged) == .algorithm)
    }

    @Test("RFC 7515 §7.1 text that is not three parts of strict base64url is refused")
    func shape() throws {
        let issuer = try Issuer()
        let good = try issuer.token()
        let parts = good.split(separator: ".").map(String.init)
        let table = [
            "", ".", "..", "...", parts[0], parts[0] + "." + parts[1], good + ".", "." + good, good + ".AAAA", good + ".AAAA.AAAA", good + "=",
            good + " ", " " + good,
            good + "\n", good.replacing(".", with: "\u{3002}"), "Bearer " + good, "{\"payload\":\"\(parts[1])\"}",
            good.replacing("-", with: "+") + "+",
            parts[0] + "=." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + "=." + parts[2],
            parts[0] + ".\u{301}" + parts[1] + "." + parts[2],
        ]
        for text in table { #expect(issuer.fault(of: text) == .malformed, "\(text)") }
        // RFC 7519 §6: an unsecured token is one with an empty signature.
        #expect(issuer.fault(of: parts[0] + "." + parts[1] + ".") == .signature)
        #expect(issuer.fault(of: token(header: "{\"alg\":\"none\"}", claims: HostileTokenTests.claims, signature: [])) == .algorithm)
        for (place, expected) in [(0, TokenFault.malformed), (1, .malformed), (2, .signature)] {
            var empty = parts
            empty[place] = ""
            #expect(issuer.fault(of: empty.joined(separator: ".")) == expected)
        }
    }

    @Test(
        "claims that are no JSON object are refused",
        arguments: ["", "null", "[]", "\"a\"", "{", "{\"sub\":\"a\",\"sub\":\"b\"}", "{\"a\":{\"b\":1,\"b\":2}}", "{\"sub\":\"\\uD800\"}"])
    func claims(text: String) throws {
        #expect(try Issuer().fault(of: token(header: "{\"alg\":\"EdDSA\"}", claims: text)) == .malformed)
    }

    @Test("no cut, no repeated and no changed character of a good token makes another good one")
    func mutations() throws {
        let issuer = try Issuer()
        let good = bytes(try issuer.token())
        #expect(issuer.fault(of: String(decoding: good, as: UTF8.self)) == nil)
        for length in 0..<good.count { #expect(issuer.fault(of: String(decoding: good[..<length], as: UTF8.self)) != nil) }
        var generator = SeededGenerator(seed: 11)
        for index in good.indices {
            var other = good
            other[index] = bytes("ABCxyz019-_.").filter { $0 != good[index] }.randomElement(using: &generator) ?? 0
            #expect(issuer.fault(of: String(decoding: other, as: UTF8.self)) != nil, "character \(index)")
            other = good
            other.insert(good[index], at: index)
            #expect(issuer.fault(of: String(decoding: other, as: UTF8.self)) != nil, "character \(index) twice")
        }
    }

    @Test("arbitrary bytes never trap, as token, key set or JSON")
    func arbitrary() throws {
        let issuer = try Issuer()
        var generator = SeededGenerator(seed: 5)
        let seeds = [bytes(try issuer.token()), issuer.key.publicSet]
        for round in 0..<4_000 {
            var input = seeds[round % 2]
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0..<input.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: input[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: input.removeSubrange(place..<min(input.count, place + 3))
                default: input.insert(contentsOf: input[..<min(place, 9)], at: place)
                }
                if input.isEmpty { input = [0] }
            }
            _ = issuer.fault(of: String(decoding: input, as: UTF8.self))
            _ = try? JSONWebKeySet(parsing: input)
            _ = try? StrictJSON(parsing: input)
        }
    }

    @Test("no sentence about a token holds anything of it")
    func silence() throws {
        let issuer = try Issuer()
        for changes in [["sub": "\"s3cret \""], ["aud": "\"s3cret\""], ["iss": "\"s3cret\""], ["exp": "\"s3cret\""], ["s3cret": "1"]] {
            let fault = issuer.fault(of: try issuer.token(changes))
            #expect(fault?.description.contains("s3cret") != true)
        }
    }
}
