internal import COpenSSL

/// A public key that signatures are verified with (RFC 7517; P-256 of RFC 7518 §6.2, Ed25519 of RFC 8037 §2).
package struct JSONWebKey: Sendable {
    package static let keyIDBytesMax = 256

    package let keyID: String?
    /// RFC 7638: the base64url of a SHA-256 over the key's required members. Two keys with the same one are the same key.
    package let thumbprint: String
    let key: PublicKey

    package var algorithm: SignatureAlgorithm { key.algorithm }

    package init?(p256 x: [UInt8], _ y: [UInt8], keyID: String?) {
        guard let key = PublicKey(p256: x, y) else { return nil }
        self.key = key
        self.keyID = keyID
        thumbprint = JSONWebKey.thumbprint(
            of: "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(Base64URL.encode(x))\",\"y\":\"\(Base64URL.encode(y))\"}")
    }

    /// - Parameter keyID: the thumbprint when `nil`.
    package init?(ed25519 x: [UInt8], keyID: String?) {
        guard let key = PublicKey(ed25519: x) else { return nil }
        self.key = key
        self.keyID = keyID
        thumbprint = JSONWebKey.ed25519Thumbprint(x)
    }

    /// Whether `signature` is this key's over `message` (RFC 7515 §5.2).
    package func verifies(signature: [UInt8], of message: [UInt8]) -> Bool {
        key.verifies(signature: signature, of: message)
    }

    static func ed25519Thumbprint(_ x: [UInt8]) -> String {
        thumbprint(of: "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"\(Base64URL.encode(x))\"}")
    }

    /// - Parameter members: the required members in the order of their names, without blanks (RFC 7638 §3.3).
    private static func thumbprint(of members: String) -> String {
        let bytes = Array(members.utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = unsafe SHA256(bytes, bytes.count, &digest)
        return Base64URL.encode(digest)
    }
}

extension JSONWebKey {
    /// One member of `keys`.
    ///
    /// - Returns: `nil` for a key that is good for something else (RFC 7517 §5: such keys are passed over).
    init?(_ members: JSONObject) throws(JSONWebKeyFault) {
        guard let type = members["kty"]?.string else { throw .memberMissing("kty") }
        // Whatever the type: what stands here is for everybody to read.
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth"] where members[name] != nil { throw .privateKey }
        if type == "oct" || members["k"] != nil { throw .privateKey }

        let keyID = try JSONWebKey.text(members, "kid")
        if let keyID, keyID.isEmpty || keyID.utf8.count > JSONWebKey.keyIDBytesMax { throw .memberMalformed("kid") }
        if let use = try JSONWebKey.text(members, "use"), use != "sig" { return nil }
        if let operations = members["key_ops"] {
            guard let operations = operations.array else { throw .memberMalformed("key_ops") }
            guard operations.contains(where: { $0.string == "verify" }) else { return nil }
        }
        let algorithm = try JSONWebKey.text(members, "alg")
        let curve = try JSONWebKey.text(members, "crv")
        switch (type, curve) {
        case ("EC", "P-256"):
            if let algorithm, algorithm != SignatureAlgorithm.es256.rawValue { return nil }
            guard let key = JSONWebKey(p256: try JSONWebKey.coordinate(members, "x"), try JSONWebKey.coordinate(members, "y"), keyID: keyID) else {
                throw .notOnCurve
            }
            self = key
        case ("OKP", "Ed25519"):
            if let algorithm, algorithm != SignatureAlgorithm.edDSA.rawValue { return nil }
            guard let key = JSONWebKey(ed25519: try JSONWebKey.coordinate(members, "x"), keyID: keyID) else { throw .memberMalformed("x") }
            self = key
        default: return nil
        }
    }

    /// - Returns: `nil` when the member is absent.
    private static func text(_ members: JSONObject, _ name: String) throws(JSONWebKeyFault) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw .memberMalformed(name) }
        return text
    }

    private static func coordinate(_ members: JSONObject, _ name: String) throws(JSONWebKeyFault) -> [UInt8] {
        guard let text = try text(members, name) else { throw .memberMissing(name) }
        guard let bytes = Base64URL.decode(text), bytes.count == PublicKey.coordinateBytes else { throw .memberMalformed(name) }
        return bytes
    }
}

/// What is wrong with one key of a set. Never holds anything of the key itself.
package enum JSONWebKeyFault: Error, Hashable, Sendable, CustomStringConvertible {
    case notAnObject
    case memberMissing(String)
    case memberMalformed(String)
    /// It has a private or a symmetric part: a secret in a file that is made to be handed round.
    case privateKey
    /// x and y are no point of P-256.
    case notOnCurve

    package var description: String {
        switch self {
        case .notAnObject: "it is not an object"
        case .memberMissing(let name): "its member '\(name)' is missing"
        case .memberMalformed(let name): "its member '\(name)' has a wrong value"
        case .privateKey: "it holds a secret part; only public keys belong here"
        case .notOnCurve: "its x and y are not a point of P-256"
        }
    }
}
