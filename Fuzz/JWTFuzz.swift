import JOSE

/// Tokens, key sets and the JSON in both: arbitrary bytes never trap, nobody is believed without a signature, and what is a key set stays one.
///
/// Input: the bytes of a token, tried as a key set and as JSON alike; and as the claims of a token with a good header, so that the claims are reached.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJWT(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    fuzzToken(String(decoding: bytes, as: UTF8.self))
    let unsigned = [UInt8](repeating: 1, count: 64)
    fuzzToken([Array("{\"alg\":\"EdDSA\"}".utf8), bytes, unsigned].map { Base64URL.encode($0) }.joined(separator: "."))
    fuzzToken([bytes, Array("{\"sub\":\"a\",\"exp\":2000000000}".utf8), unsigned].map { Base64URL.encode($0) }.joined(separator: "."))
    fuzzClaims(bytes)
    if let set = try? JSONWebKeySet(parsing: bytes) {
        precondition((1...JSONWebKeySet.keysMax).contains(set.keys.count), "a set has keys, and a bound")
        precondition(Set(set.keys.compactMap(\.keyID)).count == set.keys.lazy.compactMap(\.keyID).count, "a kid names one key")
    }
    return 0
}

private let fuzzNow: Int64 = 1_800_000_000

/// Two keys whose private halves no input can have.
private let fuzzKeys: JSONWebKeySet = {
    let text = """
        {"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
        """
    guard let set = try? JSONWebKeySet(parsing: Array(text.utf8)) else { preconditionFailure("the RFCs' keys are keys") }
    return set
}()

private func fuzzToken(_ text: String) {
    for audience in [TokenRequirements.Audience.any, .anyOf(["segue"])] {
        do throws(TokenFault) {
            _ = try fuzzKeys.verify(text, TokenRequirements(audience: audience, requiresSubject: false), now: fuzzNow)
            preconditionFailure("nobody has these keys")
        } catch {
            precondition(!error.name.isEmpty && !error.description.isEmpty, "a fault has a name and a sentence")
        }
    }
}

/// Signed claims: whatever they are, those that are believed are in time and have what is required.
private func fuzzClaims(_ bytes: [UInt8]) {
    guard let key = fuzzSigner, let token = try? key.sign(type: "JWT", claims: bytes) else { return }
    guard let set = try? JSONWebKeySet(parsing: key.publicSet) else { preconditionFailure("a public set is a set") }
    guard let verified = try? set.verify(token, TokenRequirements(audience: .any, leewaySeconds: 30), now: fuzzNow) else { return }
    precondition(verified.expiresAt > fuzzNow - 30 && verified.expiresAt <= JSONWebToken.timeMax, "no expired token is believed")
    precondition((verified.notBefore ?? 0) <= fuzzNow + 30 && (verified.issuedAt ?? 0) <= fuzzNow + 30, "no token of the future is believed")
    let subject = Array((verified.subject ?? "").utf8)
    precondition(
        (1...JSONWebToken.subjectBytesMax).contains(subject.count) && subject.allSatisfy { (0x21...0x7E).contains($0) }, "a subject is printable")
    precondition(verified.claims == bytes, "claims come as they were signed")
}

private let fuzzSigner = try? SigningKey.ephemeral()
