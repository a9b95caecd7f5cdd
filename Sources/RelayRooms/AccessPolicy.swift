/// Who may do what: rules over patterns of identities and rooms. What no rule allows is denied.
///
/// A value without state: every loop has its own copy, and a reload replaces it whole.
package struct AccessPolicy: Hashable, Sendable {
    /// Allows some identities some roles in some rooms.
    package struct AccessRule: Hashable, Sendable {
        package var identities: [IdentityPattern]
        package var rooms: [RoomPattern]
        /// The first is what one gets, the others may be asked for.
        package var roles: [Role]
        package var publish: PublishKinds

        package init(identities: [IdentityPattern], rooms: [RoomPattern], roles: [Role], publish: PublishKinds = .all) {
            self.identities = identities
            self.rooms = rooms
            self.roles = roles
            self.publish = publish
        }
    }

    /// What holds in some rooms for everybody.
    package struct RoomRule: Hashable, Sendable {
        package var rooms: [RoomPattern]
        package var settings: RoomSettings

        package init(rooms: [RoomPattern], settings: RoomSettings) {
            self.rooms = rooms
            self.settings = settings
        }
    }

    /// Two sets of identities, each of which may pair with each of the other.
    package struct PairRule: Hashable, Sendable {
        package var a: [IdentityPattern]
        package var b: [IdentityPattern]

        package init(a: [IdentityPattern], b: [IdentityPattern]) {
            self.a = a
            self.b = b
        }
    }

    package var admins: [IdentityPattern] = []
    package var access: [AccessRule] = []
    package var rooms: [RoomRule] = []
    /// Pairs that need nobody's consent.
    package var pairs: [PairRule] = []
    /// `a` may ask `b` for a pair.
    package var pairRequests: [PairRule] = []
    /// Who may pair by one-time code.
    package var pairCodes: [IdentityPattern] = []
    /// How long a grant lasts.
    package var grantSeconds: Int64 = 30 * 86_400

    /// Denies everything.
    package init() {}
}

/// What a room is like, where the operator says more than the relay's limits do.
package struct RoomSettings: Hashable, Sendable, Codable {
    package var hasLobby = false
    /// Kinds of proof that each participant must have given.
    package var requires: ProofSet = []
    package var participantsMax: Int?
    package var publishersMax: Int?
    /// Bits a second that one participant may publish.
    package var bitRateMax: Int?
    /// For how long a busy loop may hold the room's frames so that others join them.
    package var flushHoldMicroseconds: Int?

    package init() {}

    /// The proofs that are asked for and not given. A certificate counts whoever took it.
    package func missing(_ proofs: ProofSet) -> ProofSet {
        requires.subtracting(proofs.hasCertificate ? proofs.union(.certificate) : proofs)
    }
}

/// How somebody may be in a room.
package struct RoomAdmission: Hashable, Sendable, Codable {
    package var role: Role
    package var publish: PublishKinds
    package var settings: RoomSettings

    package init(role: Role, publish: PublishKinds, settings: RoomSettings) {
        self.role = role
        self.publish = publish
        self.settings = settings
    }
}

/// Why somebody may not be in a room.
package enum AccessRefusal: Error, Hashable, Sendable {
    /// No rule allows it, or none with that role.
    case notAllowed
    /// A rule allows it, but these proofs are missing.
    case missingProof(ProofSet)
}

extension AccessPolicy {
    /// Whether and how a client may be in a room that is no pair's.
    ///
    /// - Parameter role: the role that was asked for, if any.
    package func admission(of principal: Principal, to room: RoomName, asking role: Role?) throws(AccessRefusal) -> RoomAdmission {
        guard !room.isPair, let rule = rule(for: principal, room) else { throw .notAllowed }
        guard let given = role ?? rule.roles.first, rule.roles.contains(given) else { throw .notAllowed }
        let settings = settings(of: room)
        let missing = settings.missing(principal.proofs)
        guard missing.isEmpty else { throw .missingProof(missing) }
        return RoomAdmission(role: given, publish: rule.publish, settings: settings)
    }

    /// What a token says of a room goes before the operator's rules; of two rules the earlier.
    private func rule(for principal: Principal, _ room: RoomName) -> (roles: [Role], publish: PublishKinds)? {
        let room = Array(room.text.utf8)
        if let claim = principal.tokenRules.first(where: { $0.rooms.matches(room) }) { return (claim.roles, claim.publish) }
        guard
            let rule = access.first(where: { rule in
                rule.rooms.contains { $0.matches(room) } && rule.identities.contains { $0.matches(principal) }
            })
        else { return nil }
        return (rule.roles, rule.publish)
    }

    package func settings(of room: RoomName) -> RoomSettings {
        let room = Array(room.text.utf8)
        return rooms.first { rule in rule.rooms.contains { $0.matches(room) } }?.settings ?? RoomSettings()
    }

    /// Administration is for certificates: a token can be carried off.
    package func isAdmin(_ principal: Principal) -> Bool {
        principal.proofs.hasCertificate && admins.contains { $0.matches(principal) }
    }

    /// Whether the two are a pair without asking.
    package func pairs(_ first: Principal, _ second: Principal) -> Bool {
        pairs.contains { $0.matches(first, second) || $0.matches(second, first) }
    }

    package func mayRequestPair(_ from: Principal, of to: Principal) -> Bool {
        pairRequests.contains { $0.matches(from, to) }
    }

    package func mayUsePairCodes(_ principal: Principal) -> Bool {
        pairCodes.contains { $0.matches(principal) }
    }
}

extension AccessPolicy.PairRule {
    fileprivate func matches(_ first: Principal, _ second: Principal) -> Bool {
        a.contains { $0.matches(first) } && b.contains { $0.matches(second) }
    }
}
