import FoundationEssentials
import JOSE
import RelayRooms
import Signalling

/// Signs what the relay vouches for about a pair, and believes what it has signed.
///
/// Two kinds of JWS (RFC 7515) with the same claims and different `typ` (RFC 8725 §3.11), so that neither passes for the other: a *statement* on who the two
/// are, and for pairs by grant the *grant*, which another relay with the same key takes too.
struct PairSigner: Sendable {
    static let statementType = "segue-pair+jwt"
    static let grantType = "segue-grant+jwt"
    /// How long a statement on a pair by policy is good for; one on a grant, as long as the grant.
    static let statementSeconds: Int64 = 86_400

    struct Signed: Sendable {
        let statement: String
        let grant: String?
        /// When to sign anew, in seconds since 1970: half way through, so that what is handed out lasts a while. A grant's never changes.
        let renewAt: Int64
        /// What it was made of.
        let view: PairView
    }

    private struct Claims: Codable {
        struct Member: Codable {
            var name: String
            var fingerprint: String
        }

        var iss: String
        var iat: Int64
        var exp: Int64
        var jti: String?
        var pair: String
        var room: String
        var basis: RelayMessage.PairBasis
        var members: [Member]
    }

    let key: SigningKey
    /// The relay's name.
    let node: String

    /// - Parameter now: seconds since 1970.
    func sign(_ view: PairView, now: Int64) throws(SigningKeyFault) -> Signed {
        let issued = view.grant?.issuedAt ?? now
        let expires = view.grant?.expiresAt ?? now + PairSigner.statementSeconds
        var claims = Claims(
            iss: node, iat: issued, exp: expires, jti: nil, pair: view.id, room: view.room.text, basis: .init(view.basis),
            members: [view.low, view.high].map { .init(name: $0.name, fingerprint: $0.fingerprint) })
        let statement = try key.sign(type: PairSigner.statementType, claims: PairSigner.encode(claims))
        guard view.grant != nil else {
            return Signed(statement: statement, grant: nil, renewAt: now + PairSigner.statementSeconds / 2, view: view)
        }
        claims.jti = view.id
        let grant = try key.sign(type: PairSigner.grantType, claims: PairSigner.encode(claims))
        return Signed(statement: statement, grant: grant, renewAt: .max, view: view)
    }

    private static func encode(_ claims: Claims) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(claims) else { preconditionFailure("plain values always encode") }
        return Array(data)
    }

    /// What a grant says that a client presents; `nil` unless this key has signed it, it has not expired, and it is whole.
    func read(grant text: String, now: Int64) -> PairGrant? {
        guard let token = try? key.verify(text, type: PairSigner.grantType, now: now),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(token.claims)), claims.jti == claims.pair, claims.members.count == 2,
            let basis = PairBasis(claims.basis)
        else { return nil }
        let parties = claims.members.map { PairParty(name: $0.name, fingerprint: $0.fingerprint) }
        return PairGrant(id: claims.pair, basis: basis, parties[0], parties[1], issuedAt: claims.iat, expiresAt: claims.exp)
    }
}

extension RelayMessage.PairBasis {
    init(_ basis: PairBasis) {
        switch basis {
        case .policy: self = .policy
        case .grant: self = .grant
        case .code: self = .code
        }
    }
}

extension PairBasis {
    /// `nil` for what is no grant's.
    init?(_ basis: RelayMessage.PairBasis) {
        switch basis {
        case .policy: return nil
        case .grant: self = .grant
        case .code: self = .code
        }
    }
}
