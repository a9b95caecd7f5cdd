/// What makes two keys a pair for a while. Signed, it is the grant that clients keep.
package struct PairGrant: Hashable, Sendable {
    /// 32 hexadecimal digits, drawn at random; the same when the grant is renewed.
    package let id: String
    package let basis: PairBasis
    package let low: PairParty
    package let high: PairParty
    /// Seconds since 1970.
    package let issuedAt: Int64
    package let expiresAt: Int64

    /// - Returns: `nil` when the two are not two keys, or the grant ends before it begins.
    package init?(id: String, basis: PairBasis, _ first: PairParty, _ second: PairParty, issuedAt: Int64, expiresAt: Int64) {
        guard PairKeys(first.fingerprint, second.fingerprint) != nil, PairGrant.isID(id), expiresAt > issuedAt, issuedAt >= 0 else { return nil }
        self.id = id
        self.basis = basis
        let isOrdered = first.fingerprint < second.fingerprint
        low = isOrdered ? first : second
        high = isOrdered ? second : first
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy(PairKeys.isHexDigit)
    }

    package func isGood(at moment: PairMoment) -> Bool { expiresAt > moment.unixSeconds }
}

/// Which keys are a pair by grant, and which grants are dead although their time is not up.
///
/// There is one entry for two keys. A revocation kills every grant of theirs that was issued until then, those that this relay has never seen included, and is
/// remembered until the last of them has expired: presenting an old grant revives nothing.
package struct PairLedger: Sendable {
    package struct Entry: Hashable, Sendable {
        package var grant: PairGrant?
        package var revocation: Revocation?

        package init(grant: PairGrant?, revocation: Revocation?) {
            self.grant = grant
            self.revocation = revocation
        }
    }

    package struct Revocation: Hashable, Sendable {
        /// Grants issued until then are dead. Seconds since 1970.
        package let at: Int64
        /// When the last of them has expired.
        package let until: Int64

        package init(at: Int64, until: Int64) {
            self.at = at
            self.until = until
        }
    }

    package private(set) var entries: [PairKeys: Entry] = [:]
    private var keys: [String: Set<PairKeys>] = [:]
    private var ids: [String: PairKeys] = [:]
    private let limits: PairLimits
    /// No entry changes by time alone before then. Seconds since 1970.
    private var nextEnd = Int64.max

    package init(limits: PairLimits = PairLimits()) {
        self.limits = limits
    }

    // MARK: Looking up

    package func grant(_ keys: PairKeys, at moment: PairMoment) -> PairGrant? {
        guard let grant = entries[keys]?.grant, grant.isGood(at: moment) else { return nil }
        return grant
    }

    package func grant(id: String, at moment: PairMoment) -> PairGrant? {
        ids[id].flatMap { grant($0, at: moment) }
    }

    package func grants(of fingerprint: String, at moment: PairMoment) -> [PairGrant] {
        (keys[fingerprint] ?? []).compactMap { grant($0, at: moment) }.sorted { ($0.issuedAt, $0.id) < ($1.issuedAt, $1.id) }
    }

    package func grants(at moment: PairMoment) -> [PairGrant] {
        entries.keys.compactMap { grant($0, at: moment) }.sorted { ($0.issuedAt, $0.id) < ($1.issuedAt, $1.id) }
    }

    package func isRevoked(_ keys: PairKeys, issuedAt: Int64) -> Bool {
        guard let revocation = entries[keys]?.revocation else { return false }
        return issuedAt <= revocation.at
    }

    /// Whether a grant for the two keys can be written down.
    package func hasRoom(for pair: PairKeys) -> Bool {
        if entries[pair] != nil { return true }
        return entries.count < limits.pairsMax && hasRoom(for: pair.low) && hasRoom(for: pair.high)
    }

    package func hasRoom(for fingerprint: String) -> Bool {
        (keys[fingerprint]?.count ?? 0) < limits.pairsPerKeyMax
    }

    // MARK: Changing

    /// Writes a grant down; it takes the place of one for the same keys.
    package mutating func put(_ grant: PairGrant) throws(PairRefusal) {
        guard let pair = PairKeys(grant.low.fingerprint, grant.high.fingerprint), hasRoom(for: pair) else { throw .pairsMax }
        var entry = entries[pair] ?? Entry(grant: nil, revocation: nil)
        entry.grant = grant
        set(pair, entry)
    }

    /// Restores what was stored. The grant is taken as it stands; what has expired goes with the next ``expire(at:)``.
    package mutating func restore(_ pair: PairKeys, _ entry: Entry) throws(PairRefusal) {
        guard hasRoom(for: pair) else { throw .pairsMax }
        set(pair, entry)
    }

    /// - Parameter end: until when the revocation is remembered at least. Seconds since 1970.
    package mutating func revoke(_ grant: PairGrant, at moment: PairMoment, rememberingUntil end: Int64) {
        guard let pair = PairKeys(grant.low.fingerprint, grant.high.fingerprint), var entry = entries[pair], entry.grant?.id == grant.id else {
            return
        }
        let until = max(grant.expiresAt, end, entry.revocation?.until ?? 0)
        entry.grant = nil
        entry.revocation = Revocation(at: max(moment.unixSeconds, grant.issuedAt, entry.revocation?.at ?? 0), until: until)
        set(pair, entry)
    }

    /// Takes out what is over, and tells which grants have expired.
    package mutating func expire(at moment: PairMoment) -> [PairGrant] {
        let now = moment.unixSeconds
        guard now >= nextEnd else { return [] }
        var expired: [PairGrant] = []
        nextEnd = .max
        for (pair, var entry) in entries {
            if let grant = entry.grant, !grant.isGood(at: moment) {
                expired.append(grant)
                entry.grant = nil
            }
            if let revocation = entry.revocation, revocation.until <= now { entry.revocation = nil }
            set(pair, entry)
        }
        return expired.sorted { ($0.expiresAt, $0.id) < ($1.expiresAt, $1.id) }
    }

    private mutating func set(_ pair: PairKeys, _ entry: Entry) {
        if let old = entries[pair]?.grant { ids[old.id] = nil }
        guard entry.grant != nil || entry.revocation != nil else {
            entries[pair] = nil
            for key in [pair.low, pair.high] {
                keys[key]?.remove(pair)
                if keys[key]?.isEmpty == true { keys[key] = nil }
            }
            return
        }
        entries[pair] = entry
        for key in [pair.low, pair.high] { keys[key, default: []].insert(pair) }
        if let grant = entry.grant {
            ids[grant.id] = pair
            nextEnd = min(nextEnd, grant.expiresAt)
        }
        if let revocation = entry.revocation { nextEnd = min(nextEnd, revocation.until) }
    }
}
