import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport

/// Pairing on the loop that it lives on.
extension EventLoop {
    func pairing(_ mail: PairMail) {
        guard let desk = pairDesk else { preconditionFailure("mail about pairs went to the wrong loop") }
        switch mail {
        case .appeared(let session): desk.broker.appeared(session, at: pairMoment)
        case .vanished(let address): desk.broker.vanished(address)
        case .ask(let ask): decide(ask, desk)
        case .join(let join): admit(join, desk)
        case .stored(let version, let isOnDisk): desk.stored(version, isOnDisk: isOnDisk)
        case .signed(let signed, var ask):
            for one in signed { desk.remember(one) }
            ask.isSigned = true
            decide(ask, desk)
        case .listGrants(let reply): post(reply.message(.success(desk.broker.ledger.grants(at: pairMoment))), to: reply.loop)
        case .revokeGrant(let id, let reply): revokeGrant(id, reply, desk)
        }
        perform(desk)
    }

    private var pairMoment: PairMoment { PairMoment(now: now, unixMilliseconds: Int64(clamping: WallClock.now())) }

    /// A few times a second, on the loop that pairing lives on.
    func expirePairs() {
        guard let desk = pairDesk else { return }
        desk.broker.expire(at: pairMoment)
        perform(desk)
    }

    func pairPolicyChanged() {
        guard let desk = pairDesk else { return }
        desk.broker.policyChanged(policy, at: pairMoment)
        perform(desk)
    }

    // MARK: Requests

    private func decide(_ ask: PairAsk, _ desk: PairDesk) {
        do throws(PairRefusal) {
            try answer(ask, desk)
        } catch {
            refuse(ask, error)
        }
    }

    private func refuse(_ ask: PairAsk, _ fault: PairRefusal) {
        let refusal = Refusal(fault)
        shared.audit.record(ask.request.type, by: ask.actor, from: ask.origin, .refused(refusal.code))
        post(.toSession(token: ask.address.token, .answer(requestID: ask.requestID, .failure(refusal))), to: ask.address.loop)
    }

    private func answer(_ ask: PairAsk, _ desk: PairDesk) throws(PairRefusal) {
        let moment = pairMoment
        switch ask.request {
        case .pairRequest(let peer):
            let requested = try desk.broker.request(
                by: ask.address, peer: peer.peer, fingerprint: peer.fingerprint, at: moment, using: &desk.generator)
            switch requested {
            case .pair(let view): answer(ask, with: view, desk, moment)
            case .open(let id, let expires):
                var answer = RelayMessage.Answer()
                answer.request = id
                answer.expires = Double(expires)
                succeed(ask, answer, [("request", id), ("peer", peer.peer)])
            }
        case .pairAccept(let reference):
            answer(ask, with: try desk.broker.accept(reference.request, by: ask.address, at: moment, using: &desk.generator), desk, moment)
        case .pairDecline(let reference):
            try desk.broker.decline(reference.request, by: ask.address, at: moment)
            succeed(ask, .init(), [("request", reference.request)])
        case .pairCancel(let reference):
            try desk.broker.cancel(reference.request, by: ask.address, at: moment)
            succeed(ask, .init(), [("request", reference.request)])
        case .pairCode:
            let (code, expires) = try desk.broker.openCode(by: ask.address, at: moment, using: &desk.generator)
            var answer = RelayMessage.Answer()
            answer.code = code.text
            answer.expires = Double(expires)
            succeed(ask, answer, [])
        case .pairEnter(let entered):
            let view = try desk.broker.enter(entered.code, by: ask.address, from: ask.source, at: moment, using: &desk.generator)
            answer(ask, with: view, desk, moment)
        case .pairList: try list(ask, desk, moment)
        case .pairRevoke(let reference):
            try desk.broker.revoke(reference.pair, by: ask.address, at: moment)
            // The pair is dead at once; the answer also says that it stays so.
            desk.whenStored { [unowned self] isOnDisk in
                if isOnDisk { succeed(ask, .init(), [("pair", reference.pair)]) } else { refuse(ask, .notStored) }
            }
        case .pairDevices(let peer):
            var answer = RelayMessage.Answer()
            answer.devices = try desk.broker.devices(of: peer.peer, by: ask.address, at: moment).compactMap { device in
                device.fingerprint.map { .init(fingerprint: $0, device: device.device, sessions: device.sessions) }
            }
            succeed(ask, answer, nil)
        default: preconditionFailure("no request about pairs")
        }
    }

    /// - Parameter details: for the audit log; `nil` for what only looks.
    private func succeed(_ ask: PairAsk, _ answer: RelayMessage.Answer, _ details: [(String, String)]?) {
        if let details {
            shared.audit.record(ask.request.type, by: ask.actor, isAdministrator: ask.isAdministrator, from: ask.origin, .done, details)
        }
        post(.toSession(token: ask.address.token, .answer(requestID: ask.requestID, .success(answer))), to: ask.address.loop)
    }

    private func answer(_ ask: PairAsk, with view: PairView, _ desk: PairDesk, _ moment: PairMoment) {
        guard let own = desk.broker.presence.session(at: ask.address)?.principal.fingerprint,
            let info = desk.info(view, for: own, now: moment.unixSeconds)
        else {
            fail(ask)
            return
        }
        var answer = RelayMessage.Answer()
        answer.pair = info
        succeed(ask, answer, [("pair", view.id), ("peer", view.peer(of: own).name), ("fingerprint", view.peer(of: own).fingerprint)])
    }

    private func fail(_ ask: PairAsk) {
        shared.log.error("pair_not_signed", [("request", ask.request.type)])
        post(.toSession(token: ask.address.token, .answer(requestID: ask.requestID, .failure(.internalFault))), to: ask.address.loop)
    }

    /// More signatures than this take a loop too long: about 125 µs a pair.
    private static let signaturesInPlaceMax = 4

    private func list(_ ask: PairAsk, _ desk: PairDesk, _ moment: PairMoment) throws(PairRefusal) {
        let (pairs, requests) = try desk.broker.list(by: ask.address, at: moment)
        let unsigned = desk.unsigned(pairs, now: moment.unixSeconds)
        if unsigned.count > EventLoop.signaturesInPlaceMax, !ask.isSigned {
            guard desk.worker.perform(.sign(unsigned, now: moment.unixSeconds, for: ask)) else { throw .pairsMax }
            return
        }
        guard let own = desk.broker.presence.session(at: ask.address)?.principal.fingerprint else { throw .certificateNeeded }
        var answer = RelayMessage.Answer()
        answer.pairs = pairs.compactMap { desk.info($0, for: own, now: moment.unixSeconds) }
        answer.requests = requests.map { request in
            let isOutgoing = request.from.fingerprint == own
            return RelayMessage.PairInvitation(
                request: request.id, identity: .init(isOutgoing ? request.to : request.from), direction: isOutgoing ? .outgoing : .incoming,
                expires: Double(request.expires))
        }
        guard answer.pairs?.count == pairs.count else {
            fail(ask)
            return
        }
        succeed(ask, answer, nil)
    }

    private func revokeGrant(_ id: String, _ reply: PairReply, _ desk: PairDesk) {
        do throws(PairRefusal) {
            let grant = try desk.broker.revokeByAdministrator(id, at: pairMoment)
            desk.whenStored { [unowned self] isOnDisk in post(reply.message(isOnDisk ? .success([grant]) : .failure(.notStored)), to: reply.loop) }
        } catch {
            post(reply.message(.failure(error)), to: reply.loop)
        }
    }

    // MARK: Rooms

    /// Lets a key into its pair's room. The join goes to the room's home from here, and so does the end of a room: neither overtakes the other.
    private func admit(_ join: PairJoin, _ desk: PairDesk) {
        let moment = pairMoment
        do throws(PairRefusal) {
            do throws(PairRefusal) {
                try desk.broker.admit(join.fingerprint, to: join.request.name, presenting: nil, at: moment)
            } catch {
                guard let text = join.grant, let grant = desk.signer.read(grant: text, now: moment.unixSeconds) else { throw error }
                try desk.broker.admit(join.fingerprint, to: join.request.name, presenting: grant, at: moment)
            }
            postJoin(join.request)
        } catch {
            let address = join.request.address
            post(.joined(token: address.token, requestID: join.request.requestID, .failure(Refusal(error))), to: address.loop)
        }
    }

    // MARK: Effects

    private func perform(_ desk: PairDesk) {
        var isChanged = false
        for effect in desk.broker.takeEffects() {
            switch effect {
            case .tell(let addresses, let event):
                guard let message = message(event, desk) else { continue }
                for address in addresses { post(.toSession(token: address.token, .event(message)), to: address.loop) }
            case .endRoom(let room, let end): post(.evict(room, nil, .init(end)), to: shared.home(of: room))
            case .ledgerChanged: isChanged = true
            }
        }
        if isChanged { desk.store() }
    }

    /// The event as a whole message; `nil` when it cannot be signed.
    private func message(_ event: PairEvent, _ desk: PairDesk) -> [UInt8]? {
        let message: RelayMessage
        switch event {
        case .requested(let request, let from, let expires):
            message = .pairRequested(.init(request: request, identity: .init(from), direction: nil, expires: Double(expires)))
        case .made(let view, let fingerprint, let request):
            guard let info = desk.info(view, for: fingerprint, now: pairMoment.unixSeconds) else { return nil }
            message = .pairMade(.init(pair: info, request: request))
        case .declined(let request): message = .pairDeclined(request: request)
        case .withdrawn(let request, let reason): message = .pairWithdrawn(.init(request: request, reason: .init(reason)))
        case .revoked(let pair, let end): message = .pairRevoked(.init(pair: pair, reason: .init(end)))
        }
        return message.encoded
    }
}

// MARK: Words of the protocol

extension RelayMessage.Identity {
    /// One of a pair: proven by its certificate, whatever else the session has shown.
    init(_ party: PairParty) {
        self.init(name: party.name, fingerprint: party.fingerprint, proof: party.isForwarded ? .forwarded : .certificate)
    }
}

extension RelayMessage.RemovalReason {
    fileprivate init(_ end: PairEnd) {
        switch end {
        case .revoked, .admin: self = .grantRevoked
        case .expired: self = .grantExpired
        case .policy: self = .policy
        }
    }
}

extension RelayMessage.PairRevocationReason {
    fileprivate init(_ end: PairEnd) {
        switch end {
        case .revoked: self = .revoked
        case .expired: self = .expired
        case .policy: self = .policy
        case .admin: self = .admin
        }
    }
}

extension RelayMessage.PairWithdrawalReason {
    fileprivate init(_ reason: PairEvent.Withdrawal) {
        switch reason {
        case .answered: self = .answered
        case .cancelled: self = .cancelled
        case .expired: self = .expired
        }
    }
}
