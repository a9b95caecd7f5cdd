import ClusterProtocol
import NATSTransport
import RelayBase
import RelayRooms

/// Sessions whose clients come to another node.
extension ClusterGateway {
    /// A node that does not answer within is taken for gone as far as the session is concerned: what the registry has is what goes on.
    static let releaseMilliseconds: UInt64 = 500

    struct PendingClaim {
        let claim: ForeignClaim
        var ticket: SessionTicket?
        var deadline: MonotonicInstant?
    }

    func keep(_ digest: String, _ ticket: SessionTicket) {
        guard membership.isConnected, table != nil, let value = coder.encode(ticket) else { return counters.lost("ticket") }
        ask(.ticket) { [nats, subjects] in nats.put(subjects.sessions, key: subjects.key(ofTicket: digest), value: value, request: $0) }
    }

    func erase(_ digest: String) {
        guard membership.isConnected else { return counters.lost("ticket") }
        ask(.ticket) { [nats, subjects] in nats.delete(subjects.sessions, key: subjects.key(ofTicket: digest), revision: nil, request: $0) }
    }

    func claim(_ claim: ForeignClaim) {
        guard membership.isConnected, table != nil, claims.count < ClusterGateway.claimsMax else { return settle(claim, .unreachable) }
        guard claims[claim.digest] == nil else { return settle(claim, .unreachable) }
        claims[claim.digest] = PendingClaim(claim: claim)
        ask(.claimed(claim.digest)) { [nats, subjects] in nats.get(subjects.sessions, key: subjects.key(ofTicket: claim.digest), request: $0) }
    }

    static let claimsMax = 4_096

    private func settle(_ claim: ForeignClaim, _ result: ForeignClaimResult) {
        claims[claim.digest] = nil
        post(.cluster(.claimed(claim, result)), to: claim.newcomer.loop)
    }

    /// The registry's word on a token.
    func foundTicket(_ digest: String, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        guard var pending = claims[digest] else { return }
        switch result {
        case .failure(.missing): settle(pending.claim, .unknown)
        case .failure: settle(pending.claim, .unreachable)
        case .success(let answer):
            guard let value = answer.value, let ticket = coder.decode(SessionTicket.self, value), ticket.record.isSane else {
                return settle(pending.claim, .unknown)
            }
            guard ticket.record.owner == pending.claim.owner else { return settle(pending.claim, .anothers) }
            pending.ticket = ticket
            claims[digest] = pending
            // Taken out first, by whoever is first: so a token is good once, whatever else goes wrong.
            ask(.taken(digest)) { [nats, subjects] in
                nats.delete(subjects.sessions, key: subjects.key(ofTicket: digest), revision: answer.revision, request: $0)
            }
        }
    }

    func tookTicket(_ digest: String, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        guard let pending = claims[digest], let ticket = pending.ticket else { return }
        guard case .success = result else { return settle(pending.claim, .unreachable) }
        let place = ticket.address.loop
        guard let table, LoopPlace.isForeign(place), table.isAlive(LoopPlace.node(of: place)) else { return goOn(digest) }
        claims[digest]?.deadline = now.advanced(byMilliseconds: ClusterGateway.releaseMilliseconds)
        send(.cluster(.release(pending.claim, token: ticket.address.token, to: table.own)), to: place)
        probe(LoopPlace.node(of: place))
    }

    /// The session's node has let go of it, or has not got it any more: what the registry had goes on then.
    func released(_ claim: ForeignClaim, _ record: SessionRecord?) {
        guard claims[claim.digest] != nil else { return }
        if let record { settle(claim, .arrived(record)) } else { goOn(claim.digest) }
    }

    private func goOn(_ digest: String) {
        guard let pending = claims[digest], let ticket = pending.ticket else { return }
        settle(pending.claim, .arrived(ticket.record))
    }

    /// A node is gone: what is waited for from it does not come.
    func hurryClaims(of node: Int) {
        for (digest, pending) in claims where pending.deadline != nil {
            guard let ticket = pending.ticket, LoopPlace.node(of: ticket.address.loop) == node else { continue }
            claims[digest]?.deadline = nil
            goOn(digest)
        }
    }

    /// Nodes that do not answer.
    func expireClaims() {
        for (digest, pending) in claims {
            guard let deadline = pending.deadline, now >= deadline else { continue }
            claims[digest]?.deadline = nil
            goOn(digest)
        }
    }

    func failClaims() {
        for pending in claims.values { settle(pending.claim, .unreachable) }
    }
}
