package import JOSE

/// Bearer tokens: whose are believed. Off where the configuration has no `tokens`.
package struct TokenSettings: Sendable {
    /// A JWK set of the identity provider's public keys (RFC 7517), read anew when it changes.
    package var keysFile: String
    /// What `iss` must be; `nil`: not looked at.
    package var issuer: String?
    /// What must be in `aud`.
    package var audience = "segue"
    package var leewaySeconds: Int64 = 30

    package init(keysFile: String) {
        self.keysFile = keysFile
    }

    private static let textBytesMax = 512

    /// - Returns: `nil` when the keys are not named; that is told to the reader.
    init?(_ reader: inout ConfigurationReader) {
        self.init(keysFile: reader.string("keys") ?? "")
        if let value = reader.string("issuer") { issuer = value }
        if let value = reader.string("audience") { audience = value }
        if let value = reader.integer("leewaySeconds", in: 0...Int(TokenRequirements.leewaySecondsMax)) { leewaySeconds = Int64(value) }
        for (key, value) in [("issuer", issuer ?? "-"), ("audience", audience)] where value.isEmpty || value.utf8.count > TokenSettings.textBytesMax {
            reader.fault(key, "must have 1 to \(TokenSettings.textBytesMax) bytes")
        }
        guard !keysFile.isEmpty else {
            reader.fault("keys", "must name a file with a JWK set")
            return nil
        }
    }

    /// Reads the keys; blocks on the disk.
    func readKeys() throws(JSONWebKeySetFileFault) -> JSONWebKeySet {
        try JSONWebKeySet.read(path: keysFile)
    }

    /// How many keys of the file are used, and how many are for something else: for who only looks whether all is well.
    package func countKeys() throws(JSONWebKeySetFileFault) -> (used: Int, passedOver: Int) {
        let set = try readKeys()
        return (set.keys.count, set.passedOver)
    }

    var requirements: TokenRequirements {
        TokenRequirements(audience: .anyOf([audience]), issuer: issuer, leewaySeconds: leewaySeconds)
    }
}
