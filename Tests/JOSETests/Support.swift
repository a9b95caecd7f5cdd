import RelayBase
import Testing

@testable import JOSE

/// A moment of the tests: 2027-01-15T08:00:00Z.
let testNow: Int64 = 1_800_000_000

enum RFC7515 {
    /// A.3.1
    static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    static let header = "eyJhbGciOiJFUzI1NiJ9"
    static let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    static let token = "\(header).\(payload).\(signature)"
    static let expiresAt: Int64 = 1_300_819_380
}

enum RFC8037 {
    /// A.1 to A.4
    static let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    static let thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    static let input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    static let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func decoded(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

/// A key set as an operator writes it, of the RFCs' two keys.
func keySet(_ keys: String...) throws -> JSONWebKeySet {
    try JSONWebKeySet(parsing: bytes("{\"keys\":[\(keys.joined(separator: ","))]}"))
}

func ellipticKey(_ more: String = "", x: String = RFC7515.x, y: String = RFC7515.y) -> String {
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x)\",\"y\":\"\(y)\"\(more)}"
}

func edwardsKey(_ more: String = "", x: String = RFC8037.x) -> String {
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"\(x)\"\(more)}"
}

/// Assembles a compact JWS from raw parts, for tokens that no library would make.
func token(header: String, claims: String, signature: [UInt8] = [UInt8](repeating: 7, count: 64)) -> String {
    [bytes(header), bytes(claims), signature].map(Base64URL.encode).joined(separator: ".")
}

/// Any header and any claims with a good signature over them.
func signed(by key: SigningKey, header: String, claims: String) throws -> String {
    let input = Base64URL.encode(bytes(header)) + "." + Base64URL.encode(bytes(claims))
    return input + "." + Base64URL.encode(try key.signature(over: bytes(input)))
}

/// An identity provider: a key, and tokens of it whose claims are as good as can be but for what a test changes.
struct Issuer {
    let key: SigningKey
    let set: JSONWebKeySet

    init() throws {
        key = try SigningKey.ephemeral()
        set = try JSONWebKeySet(parsing: key.publicSet)
    }

    static let requirements = TokenRequirements(audience: .anyOf(["segue"]), issuer: "https://id.example")

    /// - Parameter changes: members by their JSON text; an empty text takes the member out.
    func token(_ changes: [String: String] = [:], type: String = "JWT") throws -> String {
        var members = [
            "sub": "\"alice\"", "aud": "\"segue\"", "iss": "\"https://id.example\"", "exp": "\(testNow + 300)", "nbf": "\(testNow - 5)",
            "iat": "\(testNow - 5)", "jti": "\"1\"",
        ]
        for (name, text) in changes { members[name] = text.isEmpty ? nil : text }
        let claims = "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        return try key.sign(type: type, claims: bytes(claims))
    }

    func fault(of token: String, _ requirements: TokenRequirements = Issuer.requirements, now: Int64 = testNow) -> TokenFault? {
        do throws(TokenFault) {
            _ = try set.verify(token, requirements, now: now)
            return nil
        } catch {
            return error
        }
    }
}
