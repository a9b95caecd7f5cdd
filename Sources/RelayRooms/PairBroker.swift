import RelayBase

/// Makes pairs and ends them: by policy, by request and consent, by one-time code. One for the process, owned by one loop.
///
/// A pair is two keys. Whoever proves one of them by a certificate may enter the pair's room, on as many sessions as they like; nobody else may. Each request
/// returns its answer; what else is to be done waits in ``takeEffects()``.
package struct PairBroker: Sendable {
    package internal(set) var policy: AccessPolicy
    package internal(set) var presence = PresenceTable()
    package internal(set) var ledger: PairLedger
    let limits: PairLimits
    var codes = PairCodeBook()
    var requests = PairRequests()
    var tries: PairTries
    /// Pairs that the policy makes, since one of the two asked.
    var policyPairs = PolicyPairs()
    /// The keys behind the rooms of all pairs.
    var rooms: [RoomName: PairKeys] = [:]
    var effects: [PairEffect] = []
    private let digest: @Sendable ([UInt8]) -> String

    /// - Parameter digest: SHA-256 as 64 lower-case hexadecimal digits; the pure core has no cryptography of its own.
    package init(policy: AccessPolicy, ledger: PairLedger, limits: PairLimits = PairLimits(), digest: @escaping @Sendable ([UInt8]) -> String) {
        self.policy = policy
        self.ledger = ledger
        self.limits = limits
        self.digest = digest
        tries = PairTries(limits: limits)
        for (keys, entry) in ledger.entries where entry.grant != nil { rooms[room(of: keys)] = keys }
    }

    package mutating func takeEffects() -> [PairEffect] {
        defer { effects.removeAll(keepingCapacity: true) }
        return effects
    }

    // MARK: Presence

    package mutating func appeared(_ session: PresenceTable.Session, at moment: PairMoment) {
        presence.set(session)
        // A renewed certificate may have other names for the same key.
        guard let party = PairParty(session.principal) else { return }
        policyPairs.update(session.principal, party)
        endPolicyPairs(policyPairs.of(party.fingerprint), at: moment)
    }

    package mutating func vanished(_ address: MemberAddress) {
        presence.remove(address)
        codes.close(for: address)
    }

    // MARK: Requests

    package enum Requested: Hashable, Sendable {
        /// They are a pair already, or now.
        case pair(PairView)
        /// The peer has been asked.
        case open(request: String, expires: Int64)
    }

    /// Asks for a pair with another identity that is connected.
    ///
    /// - Parameter fingerprint: which of its keys, where it is connected with several.
    package mutating func request(
        by address: MemberAddress, peer name: String, fingerprint: String?, at moment: PairMoment, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> Requested {
        let (me, own) = try caller(address)
        let peer = try self.peer(name, fingerprint, of: me, own)
        guard let party = PairParty(peer) else { throw .certificateNeeded }
        if policy.pairs(me, peer) { return .pair(try pairByPolicy(me, own, peer, party, at: moment)) }
        if let asked = requests.find(from: party.fingerprint, to: own.fingerprint), policy.mayRequestPair(peer, of: me) {
            // Each wants the other.
            return .pair(try accept(asked, by: address, own, at: moment, using: &generator))
        }
        guard policy.mayRequestPair(me, of: peer) else { throw .notAllowed }
        if let open = requests.find(from: own.fingerprint, to: party.fingerprint) { return .open(request: open.id, expires: open.expires) }
        guard let keys = PairKeys(own.fingerprint, party.fingerprint), ledger.hasRoom(for: keys) else { throw .pairsMax }
        let request = PairRequest(
            id: PairBroker.newID(using: &generator), from: own, to: party, principals: (me, peer),
            deadline: moment.now.advanced(byMilliseconds: limits.openMilliseconds),
            expires: moment.unixMilliseconds + Int64(clamping: limits.openMilliseconds))
        try requests.add(request, limits: limits)
        tell(party.fingerprint, .requested(request: request.id, from: own, expires: request.expires))
        return .open(request: request.id, expires: request.expires)
    }

    package mutating func accept(
        _ id: String, by address: MemberAddress, at moment: PairMoment, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> PairView {
        let (_, own) = try caller(address)
        guard let request = requests.find(id), request.to.fingerprint == own.fingerprint, request.deadline > moment.now else { throw .unknownRequest }
        // The policy may have been reloaded since.
        guard policy.mayRequestPair(request.principals.from, of: request.principals.to) else { throw .notAllowed }
        return try accept(request, by: address, own, at: moment, using: &generator)
    }

    private mutating func accept(
        _ request: PairRequest, by address: MemberAddress, _ own: PairParty, at moment: PairMoment,
        using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> PairView {
        let view = try makeGrant(.grant, request.from, own, at: moment, using: &generator)
        requests.remove(request)
        tell(request.from.fingerprint, .made(view, for: request.from.fingerprint, request: request.id))
        tell(own.fingerprint, .withdrawn(request: request.id, .answered), except: address)
        tell(own.fingerprint, .made(view, for: own.fingerprint, request: request.id), except: address)
        return view
    }

    package mutating func decline(_ id: String, by address: MemberAddress, at moment: PairMoment) throws(PairRefusal) {
        let (_, own) = try caller(address)
        guard let request = requests.find(id), request.to.fingerprint == own.fingerprint, request.deadline > moment.now else { throw .unknownRequest }
        requests.spend(request)
        tell(request.from.fingerprint, .declined(request: id))
        tell(own.fingerprint, .withdrawn(request: id, .answered), except: address)
    }

    package mutating func cancel(_ id: String, by address: MemberAddress, at moment: PairMoment) throws(PairRefusal) {
        let (_, own) = try caller(address)
        guard let request = requests.find(id), request.from.fingerprint == own.fingerprint, request.deadline > moment.now else {
            throw .unknownRequest
        }
        requests.spend(request)
        tell(request.to.fingerprint, .withdrawn(request: id, .cancelled))
        tell(own.fingerprint, .withdrawn(request: id, .cancelled), except: address)
    }

    // MARK: Codes

    /// Opens a code for whoever is to type it. One that the session opened before is void.
    package mutating func openCode(
        by address: MemberAddress, at moment: PairMoment, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> (code: PairCode, expires: Int64) {
        let (me, own) = try caller(address)
        guard policy.mayUsePairCodes(me) else { throw .notAllowed }
        guard ledger.hasRoom(for: own.fingerprint) else { throw .pairsMax }
        let code = try codes.open(for: address, me, limits: limits, now: moment.now, using: &generator)
        return (code, moment.unixMilliseconds + Int64(clamping: limits.openMilliseconds))
    }

    /// Enters a code that another client shows.
    ///
    /// - Throws: `wrongCode` for whatever opens nothing: a wrong code, one that was used or is too old, one's own.
    package mutating func enter(
        _ text: String, by address: MemberAddress, from source: PairSource, at moment: PairMoment, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> PairView {
        let (me, own) = try caller(address)
        guard policy.mayUsePairCodes(me) else { throw .notAllowed }
        // What cannot be anybody's code costs no try.
        guard text.utf8.count <= PairBroker.codeBytesMax, let code = PairCode(entered: text) else { throw .badValue("code") }
        // All that could refuse a right code comes before the code is looked at, but for what concerns its owner.
        guard ledger.hasRoom(for: own.fingerprint) else { throw .pairsMax }
        guard tries.mayTry(me.name, from: source, now: moment.now) else { throw .tooManyTries }
        guard let open = codes.find(code, now: moment.now), let owner = PairParty(open.principal),
            owner.fingerprint != own.fingerprint, policy.mayUsePairCodes(open.principal)
        else {
            tries.missed(me.name, from: source, now: moment.now)
            throw .wrongCode
        }
        let view = try makeGrant(.code, owner, own, at: moment, using: &generator)
        codes.close(for: open.owner)
        tell(owner.fingerprint, .made(view, for: owner.fingerprint, request: nil))
        tell(own.fingerprint, .made(view, for: own.fingerprint, request: nil), except: address)
        return view
    }

    /// Longer than any code with whatever people put between its characters.
    private static let codeBytesMax = 64

    // MARK: Common

    func caller(_ address: MemberAddress) throws(PairRefusal) -> (Principal, PairParty) {
        guard let session = presence.session(at: address), let party = PairParty(session.principal) else { throw .certificateNeeded }
        return (session.principal, party)
    }

    /// The one session that is meant. Only who may pair with an identity hears whether it is connected.
    private func peer(_ name: String, _ fingerprint: String?, of me: Principal, _ own: PairParty) throws(PairRefusal) -> Principal {
        var found: [String: Principal] = [:]
        for session in presence.representatives(ofName: name) {
            guard let key = session.principal.fingerprint, session.principal.proofs.hasCertificate, key != own.fingerprint else { continue }
            if let fingerprint, fingerprint != key { continue }
            found[key] = session.principal
        }
        let allowed = found.values.filter { policy.mayPair(me, $0) }
        guard let first = allowed.first else {
            throw found.isEmpty && policy.mayPair(me, Principal(named: name)) ? .peerUnavailable : .notAllowed
        }
        guard allowed.count == 1 else { throw .peerAmbiguous }
        return first
    }

    mutating func makeGrant(
        _ basis: PairBasis, _ first: PairParty, _ second: PairParty, at moment: PairMoment, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> PairView {
        guard let keys = PairKeys(first.fingerprint, second.fingerprint) else { throw .notAllowed }
        let issued = moment.unixSeconds
        // A pair that is renewed keeps its number, so that revoking it ends what was given out before.
        let present = ledger.grant(keys, at: moment)
        let id = present?.id ?? PairBroker.newID(using: &generator)
        // What was given out before lasts as long as it says: a renewal that ended earlier would be forgotten, and with it a revocation, while that lives on.
        let end = max(PairBroker.end(of: policy.grantSeconds, from: issued), present?.expiresAt ?? 0)
        guard let grant = PairGrant(id: id, basis: basis, first, second, issuedAt: issued, expiresAt: end) else { throw .pairsMax }
        return try adopt(grant, keys)
    }

    /// Seconds since 1970 at which what begins at `start` is over.
    static func end(of seconds: Int64, from start: Int64) -> Int64 {
        let (end, overflow) = start.addingReportingOverflow(seconds)
        return overflow ? .max : end
    }

    /// Writes a grant down and opens the pair's room.
    mutating func adopt(_ grant: PairGrant, _ keys: PairKeys) throws(PairRefusal) -> PairView {
        try ledger.put(grant)
        effects.append(.ledgerChanged)
        let room = room(of: keys)
        rooms[room] = keys
        return PairView(id: grant.id, room: room, basis: grant.basis, low: grant.low, high: grant.high, grant: grant)
    }

    package func room(of keys: PairKeys) -> RoomName {
        guard let name = RoomName(RoomName.pairPrefix + digest(keys.roomInput), bytesMax: PairBroker.roomNameBytes) else {
            preconditionFailure("a digest in hexadecimal is a room's name")
        }
        return name
    }

    private static let roomNameBytes = 5 + 64

    mutating func tell(_ fingerprint: String, _ event: PairEvent, except: MemberAddress? = nil) {
        let addresses = presence.sessions(ofKey: fingerprint, max: limits.sessionsToldMax).map(\.address).filter { $0 != except }
        guard !addresses.isEmpty else { return }
        effects.append(.tell(addresses, event))
    }

    static func newID(using generator: inout some RandomNumberGenerator) -> String {
        (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

extension AccessPolicy {
    /// Whether the first may find out about the second at all: because the policy pairs them, or lets one of them ask the other.
    func mayPair(_ first: Principal, _ second: Principal) -> Bool {
        pairs(first, second) || mayRequestPair(first, of: second) || mayRequestPair(second, of: first)
    }
}

extension Principal {
    /// Somebody of whom only the name is known.
    init(named name: String) {
        self.init(name: name, names: [PrincipalName(PrincipalName.Kind(shapeOf: name), name)], fingerprint: nil, proofs: [])
    }
}
