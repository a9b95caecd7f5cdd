import JOSE
import RelayBase
import Testing

@Suite("RFC 7517: key sets")
struct JSONWebKeySetTests {
    private func fault(_ text: String) -> JSONWebKeySetFault? {
        do throws(JSONWebKeySetFault) {
            _ = try JSONWebKeySet(parsing: bytes(text))
            return nil
        } catch {
            return error
        }
    }

    @Test("RFC 7517 §5 keys for something else are passed over, the others are read in their order")
    func passedOver() throws {
        let set = try keySet(
            "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"kid\":\"r\"}",
            ellipticKey(",\"kid\":\"e\",\"alg\":\"ES256\",\"use\":\"sig\",\"key_ops\":[\"verify\"]"),
            "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}", ellipticKey(",\"use\":\"enc\""), ellipticKey(",\"alg\":\"ECDH-ES\""),
            ellipticKey(",\"alg\":\"EdDSA\""), edwardsKey(",\"alg\":\"ES256\""), edwardsKey(",\"key_ops\":[\"sign\"]"),
            "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"AA\"}", "{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AA\"}",
            "{\"kty\":\"AKP\",\"alg\":\"ML-DSA-44\"}",
            edwardsKey(",\"unknown\":{\"a\":[1]}"))
        #expect(set.keys.map(\.algorithm) == [.es256, .edDSA])
        #expect(set.keys.map(\.keyID) == ["e", nil])
        #expect(set.passedOver == 10)
    }

    @Test("an unusable file is refused, and the fault names the key and the member")
    func faults() throws {
        let table: [(String, JSONWebKeySetFault)] = [
            ("", .notJSON(.syntax(offset: 0))), ("[]", .notAKeySet), ("{}", .notAKeySet), ("{\"keys\":{}}", .notAKeySet),
            ("{\"keys\":[1]}", .key(index: 0, .notAnObject)),
            ("{\"keys\":[]}", .noUsableKey), ("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", .noUsableKey),
            ("{\"keys\":[{\"crv\":\"P-256\"}]}", .key(index: 0, .memberMissing("kty"))),
            ("{\"keys\":[\(edwardsKey()),{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(RFC7515.x)\"}]}", .key(index: 1, .memberMissing("y"))),
            ("{\"keys\":[\(edwardsKey(x: "AA"))]}", .key(index: 0, .memberMalformed("x"))),
            ("{\"keys\":[\(edwardsKey(x: RFC8037.x + "="))]}", .key(index: 0, .memberMalformed("x"))),
            ("{\"keys\":[\(ellipticKey(x: RFC7515.y, y: RFC7515.x))]}", .key(index: 0, .notOnCurve)),
            ("{\"keys\":[\(ellipticKey(",\"kid\":7"))]}", .key(index: 0, .memberMalformed("kid"))),
            ("{\"keys\":[\(ellipticKey(",\"kid\":\"\""))]}", .key(index: 0, .memberMalformed("kid"))),
            ("{\"keys\":[\(ellipticKey(",\"key_ops\":\"verify\""))]}", .key(index: 0, .memberMalformed("key_ops"))),
            ("{\"keys\":[\(ellipticKey(",\"kid\":\"a\"")),\(edwardsKey(",\"kid\":\"a\""))]}", .duplicateKeyID(index: 1)),
            ("{\"keys\":[],\"keys\":[]}", .notJSON(.duplicateMember(offset: 20))),
        ]
        for (text, expected) in table { #expect(fault(text) == expected, "\(text)") }
    }

    @Test("a point at the edge of the field is no point of P-256", arguments: [UInt8(0), 0xFF])
    func notOnCurve(byte: UInt8) {
        let edge = [UInt8](repeating: byte, count: 32)
        #expect(JSONWebKey(p256: edge, edge, keyID: nil) == nil)
    }

    @Test(
        "a file with a secret part is refused, whatever the key",
        arguments: [
            edwardsKey(",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\""),
            ellipticKey(",\"d\":\"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI\",\"use\":\"enc\""),
            "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"d\":\"AQAB\"}", "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"p\":\"AQAB\"}",
            "{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}", "{\"kty\":\"oct\"}", edwardsKey(",\"d\":null"),
        ])
    func secrets(key: String) {
        #expect(fault("{\"keys\":[\(ellipticKey()),\(key)]}") == .key(index: 1, .privateKey))
        let sentence = fault("{\"keys\":[\(ellipticKey()),\(key)]}")?.description ?? ""
        for secret in ["nWGx", "jpsQ", "c2Vj", "AQAB"] { #expect(!sentence.contains(secret)) }
    }

    @Test("64 keys and 256 KiB are the bounds, exactly")
    func bounds() throws {
        let keys = (0..<64).map { edwardsKey(",\"kid\":\"\($0)\"") }
        let text = "{\"keys\":[\(keys.joined(separator: ","))]}"
        #expect(try JSONWebKeySet(parsing: bytes(text)).keys.count == 64)
        #expect(fault("{\"keys\":[\((keys + [edwardsKey()]).joined(separator: ","))]}") == .tooManyKeys(max: 64))
        let padding = String(repeating: " ", count: (256 << 10) - text.utf8.count)
        #expect(fault(text + padding) == nil)
        #expect(fault(text + padding + " ") == .tooLarge(bytesMax: 256 << 10))
    }
}
