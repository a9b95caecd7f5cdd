/// A JWS in compact serialization (RFC 7515 §7.1), taken apart and its header read; nothing of it is believed yet.
struct CompactSignature {
    let algorithm: SignatureAlgorithm
    let keyID: String?
    let type: String?
    let payload: [UInt8]
    let signature: [UInt8]
    /// `header.payload` as it came (RFC 7515 §5.2).
    let signingInput: [UInt8]

    init(_ text: some StringProtocol, bytesMax: Int) throws(TokenFault) {
        guard text.utf8.count <= bytesMax else { throw .tooLarge }
        let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        guard let members = try? StrictJSON(parsing: header).object else { throw .malformed }

        guard let algorithm = members["alg"]?.string.flatMap(SignatureAlgorithm.init(rawValue:)) else { throw .algorithm }
        // Extensions that must be understood are not; `b64` would change what is signed; `cty` says that the payload is a token again. Keys and
        // addresses of keys in the header (`jwk`, `jku`, `x5u`, `x5c`) are never looked at: RFC 8725 §3.10.
        guard members["crit"] == nil, members["b64"] == nil, members["cty"] == nil else { throw .header }
        self.algorithm = algorithm
        keyID = try CompactSignature.text(members, "kid")
        type = try CompactSignature.text(members, "typ")
        self.payload = payload
        self.signature = signature
        signingInput = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        guard signature.count == PublicKey.signatureBytes else { throw .signature }
    }

    private static func text(_ members: JSONObject, _ name: String) throws(TokenFault) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw .malformed }
        return text
    }

    func isSigned(by key: JSONWebKey) -> Bool {
        key.algorithm == algorithm && key.verifies(signature: signature, of: signingInput)
    }
}
