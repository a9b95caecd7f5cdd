/// The keys whose tokens are believed: a JWK set (RFC 7517 §5) of public keys.
package struct JSONWebKeySet: Sendable {
    package static let bytesMax = 256 << 10
    package static let keysMax = 64

    package let keys: [JSONWebKey]
    /// Keys of the file that are for something else: another type, curve, algorithm or use.
    package let passedOver: Int

    /// - Parameter bytes: the file's contents.
    package init(parsing bytes: [UInt8]) throws(JSONWebKeySetFault) {
        guard bytes.count <= JSONWebKeySet.bytesMax else { throw .tooLarge(bytesMax: JSONWebKeySet.bytesMax) }
        let document: StrictJSON
        do { document = try StrictJSON(parsing: bytes) } catch { throw .notJSON(error) }
        guard let values = document.object?["keys"]?.array else { throw .notAKeySet }
        guard values.count <= JSONWebKeySet.keysMax else { throw .tooManyKeys(max: JSONWebKeySet.keysMax) }
        var keys: [JSONWebKey] = []
        for (index, value) in values.enumerated() {
            guard let members = value.object else { throw .key(index: index, .notAnObject) }
            let key: JSONWebKey?
            do { key = try JSONWebKey(members) } catch { throw .key(index: index, error) }
            guard let key else { continue }
            if let keyID = key.keyID, keys.contains(where: { $0.isNamed(keyID) }) { throw .duplicateKeyID(index: index) }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw .noUsableKey }
        self.keys = keys
        passedOver = values.count - keys.count
    }

    /// - Parameter keys: at most ``keysMax``.
    package init(_ keys: [JSONWebKey]) {
        precondition(keys.count <= JSONWebKeySet.keysMax, "a set has a bound")
        self.keys = keys
        passedOver = 0
    }

    /// Without a `kid`, how many keys of the token's algorithm are tried: each costs a signature check.
    static let triesMax = 4

    /// The keys that can have made a signature: the one that `keyID` names, or without one the first few of that algorithm.
    func candidates(_ keyID: String?, _ algorithm: SignatureAlgorithm) -> [JSONWebKey] {
        guard let keyID else { return Array(keys.lazy.filter { $0.algorithm == algorithm }.prefix(JSONWebKeySet.triesMax)) }
        return keys.filter { $0.algorithm == algorithm && $0.isNamed(keyID) }
    }
}

extension JSONWebKey {
    func isNamed(_ keyID: String) -> Bool { self.keyID?.utf8.elementsEqual(keyID.utf8) ?? false }
}

/// Why a file is no key set that can be used.
package enum JSONWebKeySetFault: Error, Hashable, Sendable, CustomStringConvertible {
    case tooLarge(bytesMax: Int)
    case notJSON(JSONFault)
    /// There is no object with an array `keys`.
    case notAKeySet
    case tooManyKeys(max: Int)
    /// Keys are counted from 0.
    case key(index: Int, JSONWebKeyFault)
    case duplicateKeyID(index: Int)
    /// Every key is passed over, or there is none: nobody's token could ever be believed.
    case noUsableKey

    package var description: String {
        switch self {
        case .tooLarge(let max): "larger than \(max) bytes"
        case .notJSON(let fault): "\(fault)"
        case .notAKeySet: "not an object with an array 'keys'"
        case .tooManyKeys(let max): "more than \(max) keys"
        case .key(let index, let fault): "keys[\(index)]: \(fault)"
        case .duplicateKeyID(let index): "keys[\(index)]: another key has the same 'kid'"
        case .noUsableKey: "no key for ES256 (EC P-256) or EdDSA (OKP Ed25519) signatures"
        }
    }
}
