/// What a room's hosts have imposed on identities, as long as the room lives: whoever leaves and comes again, or comes with another device, does not shed it.
///
/// Only hosts make entries. The newest ``identitiesMax`` are kept.
struct RoomRestrictions: Sendable, Codable {
    private struct Entry: Codable {
        let identity: String
        var muted: PublishKinds = []
        var roleMax: Role?
    }

    static let identitiesMax = 256

    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// The kinds that an identity comes in muted.
    func muted(_ identity: String) -> PublishKinds {
        entries.first { $0.identity == identity }?.muted ?? []
    }

    /// The role that an identity gets where the policy gives it `role`.
    func role(_ identity: String, _ role: Role) -> Role {
        guard let most = entries.first(where: { $0.identity == identity })?.roleMax, role.power > most.power else { return role }
        return most
    }

    mutating func note(_ identity: String, _ kinds: PublishKinds, isMuted: Bool) {
        change(identity) { entry in
            if isMuted { entry.muted.formUnion(kinds) } else { entry.muted.subtract(kinds) }
        }
    }

    /// A host gave a role: a lower one stays the highest that the identity gets, a higher one lifts what was imposed before.
    mutating func note(_ identity: String, role: Role, before: Role) {
        change(identity) { entry in
            if role.power < before.power {
                entry.roleMax = role
            } else if let most = entry.roleMax, role.power > most.power {
                entry.roleMax = role == .host ? nil : role
            }
        }
    }

    private mutating func change(_ identity: String, _ change: (inout Entry) -> Void) {
        let place = entries.firstIndex { $0.identity == identity }
        var entry = place.map { entries.remove(at: $0) } ?? Entry(identity: identity)
        change(&entry)
        guard !entry.muted.isEmpty || entry.roleMax != nil else { return }
        if entries.count == RoomRestrictions.identitiesMax { entries.removeFirst() }
        entries.append(entry)
    }
}

extension Role {
    /// Of two roles the one with more may do everything that the other may.
    fileprivate var power: Int {
        switch self {
        case .host: 2
        case .speaker: 1
        case .listener, .recorder: 0
        }
    }
}
