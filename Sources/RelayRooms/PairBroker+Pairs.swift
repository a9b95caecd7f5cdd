import RelayBase

/// The pairs that there are: who may enter their rooms, and how they end.
extension PairBroker {
    // MARK: Rooms

    /// Whether a key may enter a pair's room now.
    ///
    /// - Parameters:
    ///   - fingerprint: of a key that the client has proven to have by a certificate.
    ///   - presented: what a grant says that the client shows and this relay, or one with the same key, has signed. It is needed where the relay does not know
    ///     the pair any more, and is no help when the pair was revoked or the grant has expired.
    package mutating func admit(_ fingerprint: String, to room: RoomName, presenting presented: PairGrant?, at moment: PairMoment) throws(PairRefusal)
    {
        if let keys = rooms[room], keys.contains(fingerprint), isPair(keys, at: moment) { return }
        guard let presented, let keys = PairKeys(presented.low.fingerprint, presented.high.fingerprint), keys.contains(fingerprint),
            self.room(of: keys) == room, presented.isGood(at: moment), !ledger.isRevoked(keys, issuedAt: presented.issuedAt)
        else { throw .notAllowed }
        _ = try adopt(presented, keys)
    }

    func isPair(_ keys: PairKeys, at moment: PairMoment) -> Bool {
        ledger.grant(keys, at: moment) != nil || policyPairs.contains(keys)
    }

    // MARK: By policy

    mutating func pairByPolicy(
        _ me: Principal, _ own: PairParty, _ peer: Principal, _ party: PairParty, at moment: PairMoment
    ) throws(PairRefusal) -> PairView {
        guard let keys = PairKeys(own.fingerprint, party.fingerprint) else { throw .notAllowed }
        let isNew = !policyPairs.contains(keys)
        let room = room(of: keys)
        if isNew {
            for gone in try policyPairs.makeRoom(for: keys, limits: limits, isPresent: presence.isPresent(key:)) { forget(gone, at: moment) }
            policyPairs.put(keys, PolicyPairs.Pair(first: (me, own), second: (peer, party)))
            rooms[room] = keys
        }
        guard let view = view(of: keys, at: moment) else { throw .notAllowed }
        if isNew { tell(party.fingerprint, .made(view, for: party.fingerprint, request: nil)) }
        return view
    }

    /// A new policy: pairs that it does not make any more end. Grants stand until they expire or are revoked.
    package mutating func policyChanged(_ policy: AccessPolicy, at moment: PairMoment) {
        self.policy = policy
        endPolicyPairs(policyPairs.all, at: moment)
    }

    /// Ends those of the pairs that the policy does not make any more.
    mutating func endPolicyPairs(_ candidates: [PairKeys], at moment: PairMoment) {
        for keys in candidates {
            guard let pair = policyPairs.pair(keys), !policy.pairs(pair.first.principal, pair.second.principal) else { continue }
            let id = PolicyPairs.id(of: room(of: keys))
            policyPairs.remove(keys)
            ended(keys, id: id, .policy, at: moment)
        }
    }

    // MARK: Ending

    /// One of the two ends their pair by grant. Pairs by policy end with the policy.
    package mutating func revoke(_ id: String, by address: MemberAddress, at moment: PairMoment) throws(PairRefusal) {
        let (_, own) = try caller(address)
        if let keys = policyPairs.of(own.fingerprint).first(where: { PolicyPairs.id(of: room(of: $0)) == id }), ledger.grant(keys, at: moment) == nil
        {
            throw .notAllowed
        }
        guard let grant = ledger.grant(id: id, at: moment), let keys = PairKeys(grant.low.fingerprint, grant.high.fingerprint),
            keys.contains(own.fingerprint)
        else { throw .unknownPair }
        revoke(grant, keys, .revoked, at: moment, except: address)
    }

    package mutating func revokeByAdministrator(_ id: String, at moment: PairMoment) throws(PairRefusal) -> PairGrant {
        guard let grant = ledger.grant(id: id, at: moment), let keys = PairKeys(grant.low.fingerprint, grant.high.fingerprint) else {
            throw .unknownPair
        }
        revoke(grant, keys, .admin, at: moment, except: nil)
        return grant
    }

    private mutating func revoke(_ grant: PairGrant, _ keys: PairKeys, _ end: PairEnd, at moment: PairMoment, except: MemberAddress?) {
        // Others may have been given out where this ledger did not see it: by another node, or before the ledger was lost.
        ledger.revoke(grant, at: moment, rememberingUntil: PairBroker.end(of: policy.grantSeconds, from: moment.unixSeconds))
        effects.append(.ledgerChanged)
        ended(keys, id: grant.id, end, at: moment, except: except)
    }

    private mutating func ended(_ keys: PairKeys, id: String, _ end: PairEnd, at moment: PairMoment, except: MemberAddress? = nil) {
        let room = room(of: keys)
        // The room goes first: whoever is in it hears why it must leave before it hears about the pair.
        if !isPair(keys, at: moment) {
            rooms[room] = nil
            effects.append(.endRoom(room, end))
        }
        for key in [keys.low, keys.high] { tell(key, .revoked(pair: id, end), except: except) }
    }

    /// Gives up a pair that its peer may have again by asking.
    private mutating func forget(_ keys: PairKeys, at moment: PairMoment) {
        policyPairs.remove(keys)
        guard !isPair(keys, at: moment) else { return }
        let room = room(of: keys)
        rooms[room] = nil
        // One of the two may be there alone.
        effects.append(.endRoom(room, .policy))
    }

    // MARK: Time

    /// Ends what is over: a few times a second.
    package mutating func expire(at moment: PairMoment) {
        codes.expire(now: moment.now)
        tries.expire(now: moment.now)
        for request in requests.expire(now: moment.now) {
            for key in [request.from.fingerprint, request.to.fingerprint] { tell(key, .withdrawn(request: request.id, .expired)) }
        }
        let expired = ledger.expire(at: moment)
        if !expired.isEmpty { effects.append(.ledgerChanged) }
        for grant in expired {
            guard let keys = PairKeys(grant.low.fingerprint, grant.high.fingerprint) else { continue }
            ended(keys, id: grant.id, .expired, at: moment)
        }
    }

    // MARK: Looking

    /// The pairs of the caller's key, and its open requests.
    package func list(by address: MemberAddress, at moment: PairMoment) throws(PairRefusal) -> (pairs: [PairView], requests: [PairRequest]) {
        let (_, own) = try caller(address)
        var all = Set(policyPairs.of(own.fingerprint))
        for grant in ledger.grants(of: own.fingerprint, at: moment) {
            if let keys = PairKeys(grant.low.fingerprint, grant.high.fingerprint) { all.insert(keys) }
        }
        let pairs = all.compactMap { view(of: $0, at: moment) }.sorted { $0.room.text < $1.room.text }
        return (pairs, requests.concerning(own.fingerprint).filter { $0.deadline > moment.now })
    }

    func view(of keys: PairKeys, at moment: PairMoment) -> PairView? {
        let room = room(of: keys)
        if let grant = ledger.grant(keys, at: moment) {
            return PairView(id: grant.id, room: room, basis: grant.basis, low: grant.low, high: grant.high, grant: grant)
        }
        guard let pair = policyPairs.pair(keys) else { return nil }
        let isOrdered = pair.first.party.fingerprint == keys.low
        return PairView(
            id: PolicyPairs.id(of: room), room: room, basis: .policy, low: isOrdered ? pair.first.party : pair.second.party,
            high: isOrdered ? pair.second.party : pair.first.party, grant: nil)
    }

    /// The keys that an identity is connected with: one's own, or of somebody that one may pair with or is a pair with.
    package func devices(of name: String, by address: MemberAddress, at moment: PairMoment) throws(PairRefusal) -> [PresenceTable.Device] {
        let (me, own) = try caller(address)
        let isOwn = name == me.name
        let devices = presence.devices(ofName: name).filter { device in
            guard let key = device.fingerprint else { return false }
            return isOwn || mayKnow(key, me, own, at: moment)
        }
        guard isOwn || !devices.isEmpty else { throw mayKnow(named: name, me) ? .peerUnavailable : .notAllowed }
        // What somebody calls a device is for its owner's eyes.
        return devices.prefix(limits.devicesMax).map { isOwn ? $0 : .init(fingerprint: $0.fingerprint, device: nil, sessions: $0.sessions) }
    }

    private func mayKnow(_ key: String, _ me: Principal, _ own: PairParty, at moment: PairMoment) -> Bool {
        if let keys = PairKeys(key, own.fingerprint), isPair(keys, at: moment) { return true }
        return presence.sessions(ofKey: key, max: PairBroker.sessionsAskedMax).contains { policy.mayPair(me, $0.principal) }
    }

    /// A key's sessions say much the same: a renewed certificate may have other names, a token may add one.
    private static let sessionsAskedMax = 8

    private func mayKnow(named name: String, _ me: Principal) -> Bool {
        policy.mayPair(me, Principal(named: name))
    }
}

/// The pairs that the policy makes. Kept by key, since the one that asked may leave and come back; made anew by asking after a restart.
struct PolicyPairs: Sendable {
    typealias Side = (principal: Principal, party: PairParty)

    struct Pair: Sendable {
        var first: Side
        var second: Side
    }

    private var pairs: [PairKeys: Pair] = [:]
    private var byKey: [String: Set<PairKeys>] = [:]

    var all: [PairKeys] { PolicyPairs.sorted(pairs.keys) }

    func contains(_ keys: PairKeys) -> Bool { pairs[keys] != nil }

    func pair(_ keys: PairKeys) -> Pair? { pairs[keys] }

    func of(_ fingerprint: String) -> [PairKeys] { PolicyPairs.sorted(byKey[fingerprint] ?? []) }

    private static func sorted(_ keys: some Collection<PairKeys>) -> [PairKeys] {
        keys.sorted { ($0.low, $0.high) < ($1.low, $1.high) }
    }

    mutating func put(_ keys: PairKeys, _ pair: Pair) {
        pairs[keys] = pair
        for key in [keys.low, keys.high] { byKey[key, default: []].insert(keys) }
    }

    mutating func remove(_ keys: PairKeys) {
        pairs[keys] = nil
        for key in [keys.low, keys.high] {
            byKey[key]?.remove(keys)
            if byKey[key]?.isEmpty == true { byKey[key] = nil }
        }
    }

    /// Who a key is now.
    mutating func update(_ principal: Principal, _ party: PairParty) {
        for keys in byKey[party.fingerprint] ?? [] {
            guard var pair = pairs[keys] else { continue }
            if pair.first.party.fingerprint == party.fingerprint { pair.first = (principal, party) } else { pair.second = (principal, party) }
            pairs[keys] = pair
        }
    }

    /// Makes room for one more pair, at the expense of pairs that are of no use now: one of whose two keys is not connected.
    ///
    /// - Returns: the pairs to forget.
    func makeRoom(for keys: PairKeys, limits: PairLimits, isPresent: (String) -> Bool) throws(PairRefusal) -> [PairKeys] {
        var given: [PairKeys] = []
        for key in [keys.low, keys.high] where (byKey[key]?.count ?? 0) >= limits.pairsPerKeyMax {
            guard let idle = of(key).first(where: { !isPresent($0.low) || !isPresent($0.high) }) else { throw .pairsMax }
            given.append(idle)
        }
        if given.isEmpty, pairs.count >= limits.pairsMax {
            guard let idle = pairs.keys.first(where: { !isPresent($0.low) && !isPresent($0.high) }) else { throw .pairsMax }
            given.append(idle)
        }
        return given
    }

    static func id(of room: RoomName) -> String {
        String(room.text.dropFirst(RoomName.pairPrefix.count).prefix(32))
    }
}
