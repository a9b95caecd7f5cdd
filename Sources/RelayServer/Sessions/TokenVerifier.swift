import JOSE
import RelayRooms
import Signalling

/// Verifies bearer tokens. A value: every loop has its own copy, and a reload replaces it whole.
struct TokenVerifier: Sendable {
    private let keys: JSONWebKeySet
    private let requirements: TokenRequirements

    /// Reads the keys; blocks on the disk.
    init(_ settings: TokenSettings) throws(JSONWebKeySetFileFault) {
        self.init(try settings.readKeys(), settings.requirements)
    }

    init(_ keys: JSONWebKeySet, _ requirements: TokenRequirements) {
        self.keys = keys
        self.requirements = requirements
    }

    /// - Parameter seconds: now, since 1970.
    func verify(_ token: String, now seconds: Int64) throws(TokenRefusal) -> VerifiedToken {
        let verified: JSONWebToken
        do {
            verified = try keys.verify(token, requirements, now: seconds)
        } catch {
            throw .token(error)
        }
        guard let subject = verified.subject else { throw .token(.claimMissing(.subject)) }
        return VerifiedToken(
            subject: subject, endsAt: verified.expiresAt + requirements.leewaySeconds, keyThumbprint: verified.keyThumbprint,
            rules: try TokenRights.rules(in: verified.claims))
    }

    /// Whether the key that a token was signed with is still one of those that are believed.
    func trusts(_ token: VerifiedToken) -> Bool {
        keys.keys.contains { $0.thumbprint == token.keyThumbprint }
    }
}

/// What a bearer token has proven.
struct VerifiedToken: Sendable {
    let subject: String
    /// When it is not accepted any more, and its session ends: `exp` and the leeway, in seconds since 1970.
    let endsAt: Int64
    let keyThumbprint: String
    let rules: [Principal.TokenRule]
}

/// Why a token is not taken. Never holds anything of it.
enum TokenRefusal: Error, Equatable {
    case token(TokenFault)
    /// The claim `segue` is not what it is to be. A right that is not understood is not passed over: the issuer meant something by it.
    case rights
    /// Another subject than the one that the session is known by.
    case subject
    case notInUse
    case tooManyTries

    /// A sentence for the client.
    var sentence: String {
        switch self {
        case .token(let fault): fault.description
        case .rights: "its claim 'segue' is malformed"
        case .subject: "it is for another subject than the session's"
        case .notInUse: "tokens are not in use here"
        case .tooManyTries: "too many were tried; wait"
        }
    }

    /// For metrics and the audit log.
    var name: String {
        switch self {
        case .token(let fault): fault.name
        case .rights: "rights"
        case .subject: "subject"
        case .notInUse: "not_in_use"
        case .tooManyTries: "rate"
        }
    }
}

extension Principal {
    /// Who a client is by its token alone.
    init(_ token: VerifiedToken) {
        let name = PrincipalName.Kind.tokenPrefix + token.subject
        self.init(name: name, names: [PrincipalName(.token, name)], fingerprint: nil, proofs: .token, tokenRules: token.rules)
    }

    /// Adds a token as a further proof, or renews the one that is there already, which has the same subject.
    mutating func add(_ token: VerifiedToken) {
        let name = PrincipalName(.token, PrincipalName.Kind.tokenPrefix + token.subject)
        if !names.contains(name) { names.append(name) }
        proofs.insert(.token)
        tokenRules = token.rules
    }
}
