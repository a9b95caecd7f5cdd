import Reactor
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

/// Pairing at the loops of sessions: what they ask is decided on the one loop that pairing lives on.
extension EventLoop {
    // MARK: Presence

    /// The session has said hello, or has proven more than before.
    func enterPresence(_ channel: Channel) {
        guard let principal = channel.principal, channel.purpose == .session, !channel.isGone else { return }
        channel.isPresent = true
        post(.pairing(.appeared(.init(address: address(of: channel), principal: principal, device: channel.device))), to: PairDesk.loop)
    }

    func leavePresence(_ channel: Channel) {
        guard channel.isPresent else { return }
        channel.isPresent = false
        post(.pairing(.vanished(address(of: channel))), to: PairDesk.loop)
    }

    // MARK: Requests

    /// A list is long where there are many pairs: it costs as much of the session's budget as a request of so many bytes.
    private static let listBytes = 8 << 10

    /// Requests about pairs.
    func pairing(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        guard let principal = channel.principal, PairParty(principal) != nil else {
            audit(request.type, channel, .refused(Refusal.certificateNeeded.code), [])
            throw .certificateNeeded
        }
        if case .pairList = request, !channel.requestBudget.take(byteCount: EventLoop.listBytes, now: now) {
            beginClose(channel, .policyViolation, reason: "more than controlMessagesPerSecondMax", counted: "control_rate")
            return
        }
        let source = channel.clientAddress.key
        post(
            .pairing(
                .ask(
                    PairAsk(
                        address: address(of: channel), requestID: id, request: request, actor: principal.name,
                        isAdministrator: policy.isAdmin(principal), origin: "\(channel.clientAddress)",
                        source: PairSource(high: source.high, low: source.low)))),
            to: PairDesk.loop)
    }

    /// A join of a pair's room: the loop that knows the pairs passes it on to the room's home, so that it never overtakes the end of the pair.
    func joinPair(_ channel: Channel, _ id: UInt64, _ join: ClientRequest.Join, _ name: RoomName) throws(Refusal) {
        // A token alone opens no pair's room, whatever it says.
        guard let principal = channel.principal, let party = PairParty(principal), join.role == nil || join.role == .speaker else {
            throw .notAllowed
        }
        var settings = policy.settings(of: name)
        let missing = settings.missing(principal.proofs)
        guard missing.isEmpty else { throw Refusal(AccessRefusal.missingProof(missing)) }
        // The two let each other in.
        settings.hasLobby = false
        let admission = RoomAdmission(role: .speaker, publish: .all, settings: settings)
        let request = beginJoin(channel, id, name, admission, displayName: join.displayName)
        post(.pairing(.join(PairJoin(request: request, fingerprint: party.fingerprint, grant: join.grant))), to: PairDesk.loop)
    }
}
