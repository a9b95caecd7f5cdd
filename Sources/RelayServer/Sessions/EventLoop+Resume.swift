import AudioSession
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import WebSocketProtocol

// Coming back to a session. The newcomer's connection goes to the session's loop first, if it is another's; there the session takes over what carries the
// newcomer's WebSocket, and the newcomer's channel gets what carried the session until then, if that still lives, to close it in good order.
extension EventLoop {
    // MARK: At the newcomer's loop

    /// `hello` with a token to resume by. What the client sends behind it waits until it is settled.
    func beginResume(
        _ channel: Channel, _ id: UInt64, _ hello: ClientRequest.Hello, _ request: ClientRequest.Resumption, _ wishes: SessionWishes?
    ) throws(Refusal) {
        guard let principal = channel.principal, channel.tokenBudget.take(byteCount: 0, now: now) else { throw refuseResume(channel, "rate") }
        guard request.token.utf8.count == ResumeTickets.tokenTextBytes else { throw refuseResume(channel, "unknown") }
        let mayMove = channel.connection.map(mayMove) == true
        let (digest, found) = shared.resumeTickets.claim(request.token, by: ResumeOwner(principal), onlyOn: mayMove ? nil : index)
        switch found {
        case .unknown where shared.gateway != nil:
            let owner = ResumeOwner(principal)
            let here = ResumeTickets.Table.Session(address: address(of: channel), owner: owner)
            hold(
                channel,
                for: ResumeClaim(
                    digest: digest, number: .foreign, session: here, newcomer: here.address, requestID: id, received: request.received,
                    wishes: wishes,
                    device: hello.device))
            tellGateway(.claim(ForeignClaim(digest: digest.hex, owner: owner, newcomer: here.address)))
        case .unknown: throw refuseResume(channel, "unknown")
        case .anothers: throw refuseResume(channel, "identity")
        case .claimed: throw refuseResume(channel, "claimed", as: .pending)
        case .elsewhere: throw refuseResume(channel, "connection_shared", as: .connectionShared)
        case .session(let session, let number):
            let claim = ResumeClaim(
                digest: digest, number: number, session: session, newcomer: address(of: channel), requestID: id, received: request.received,
                wishes: wishes, device: hello.device)
            hold(channel, for: claim)
            // Not here, in the middle of what has just been read.
            post(.resume(claim), to: index)
        }
    }

    func refuseResume(_ channel: Channel, _ reason: String, as refusal: Refusal = .resumeRefused) -> Refusal {
        counters.resumesRefused[reason, default: 0] &+= 1
        if refusal == .resumeRefused, reason != "rate" { channel.hasLostSession = true }
        audit("resume", channel, .refused(refusal.code), [("reason", reason)])
        return refusal
    }

    /// Stops taking what comes, or goes on.
    func hold(_ channel: Channel, for claim: ResumeClaim?) {
        channel.claim = claim
        guard channel.stream == nil, let connection = channel.connection, connection.isHeld != channel.isHeld else { return }
        connection.isHeld = channel.isHeld
        if connections.contains(connection.handle) { watch(connection) }
    }

    /// Goes on with what came meanwhile.
    func release(_ channel: Channel) {
        hold(channel, for: nil)
        var held = ByteQueue()
        swap(&held, &channel.heldInput)
        if !held.isEmpty { unsafe receivedWebSocket(channel, held.readableInPlace) }
        guard !channel.isGone, let connection = channel.connection, connections.contains(connection.handle) else { return }
        if let stream = channel.stream, case .http2(let session) = connection.phase {
            data(connection, session, stream)
            drainHTTP2(connection, session)
        } else {
            readable(connection)
        }
    }

    /// The newcomer is no more, or is refused: the token may be claimed again.
    func giveBackClaim(of channel: Channel) {
        guard let claim = channel.claim else { return }
        channel.claim = nil
        shared.resumeTickets.giveBack(claim)
    }

    // MARK: At the session's loop

    /// Carries a claim on: to the session's loop, and there to the home of its room, for what the client has to be told.
    func resume(_ claim: ResumeClaim) {
        guard let newcomer = newcomer(of: claim), newcomer.closing.maySend, let connection = newcomer.connection else { return }
        guard claim.session.address.loop == index else {
            if mayMove(connection) {
                move(connection, for: claim)
            } else {
                refuseShared(claim)
            }
            return
        }
        guard let channel = session(of: claim) else {
            settle(newcomer, claim, refusedFor: "ended")
            return
        }
        // Its client is here: the time does not run out while the room's home is asked.
        if channel.isParked {
            channel.resumption.parkedUntil = max(channel.resumption.parkedUntil, now.advanced(byMilliseconds: EventLoop.resumeMillisecondsMin))
            scheduleChannelTimer(channel)
        }
        if let membership = channel.membership {
            let reference = ClaimReference(newcomer: claim.newcomer, number: claim.number)
            post(.describe(membership.room.number, membership.participant, for: reference), to: membership.home)
        } else {
            complete(claim, nil)
        }
    }

    private static let resumeMillisecondsMin: UInt64 = 5_000

    /// Who has made the claim, and nobody else: a handle alone may be another channel's on another loop, and others may have claimed the token before or since.
    private func newcomer(of claim: ResumeClaim) -> Channel? {
        guard let channel = channels[Handle(packed: claim.newcomer.token)], let own = channel.claim, own.digest == claim.digest,
            own.number == claim.number
        else { return nil }
        return channel
    }

    private func session(of claim: ResumeClaim) -> Channel? {
        guard let channel = channels[Handle(packed: claim.session.address.token)], channel.sessionID != "", channel.closing.maySend,
            channel.resumption.ticket == claim.digest || channel.resumption.spent == claim.digest
        else { return nil }
        return channel
    }

    /// The session is another loop's, and the connection cannot follow it.
    func refuseShared(_ claim: ResumeClaim) {
        guard let newcomer = newcomer(of: claim) else { return }
        settle(newcomer, claim, refusedFor: "connection_shared", as: .connectionShared)
    }

    /// The token is given back before its client hears of it, so that whoever tries again at once finds it good.
    func settle(_ newcomer: Channel, _ claim: ResumeClaim, refusedFor reason: String, as refusal: Refusal = .resumeRefused) {
        shared.resumeTickets.giveBack(claim)
        refuse(newcomer, claim.requestID, refuseResume(newcomer, reason, as: refusal))
        release(newcomer)
    }

    /// The room's home has described it for a claim.
    func described(_ reference: ClaimReference, _ joined: Joined?) {
        guard let newcomer = channels[Handle(packed: reference.newcomer.token)], let claim = newcomer.claim, claim.number == reference.number else {
            return
        }
        if newcomer.arriving != nil { return arrived(newcomer, claim, in: joined) }
        complete(claim, joined)
    }

    /// The end of a claim: the session has its new connection, and its client is told where it stands.
    ///
    /// - Parameter joined: the room as its home describes it; `nil` when the session is in none.
    func complete(_ claim: ResumeClaim, _ joined: Joined?) {
        guard let newcomer = newcomer(of: claim), newcomer.closing.maySend, newcomer.connection != nil else { return }
        guard let channel = session(of: claim) else {
            settle(newcomer, claim, refusedFor: "ended")
            return
        }
        hold(newcomer, for: nil)
        let wasParked = channel.isParked
        takeOver(channel, from: newcomer, goesOnWhereItWas: claim.received == nil)
        if let wishes = claim.wishes { wish(channel, wishes) }
        channel.device = claim.device ?? channel.device
        let gaps = replay(channel, claim.received)
        withdrawTickets(of: channel)
        let isProvenAnew = prove(channel, as: newcomer)
        welcome(channel, claim.requestID, resumed: resumed(channel, joined, gaps))
        keepSpent(claim.digest, of: channel)
        for gap in gaps { send(channel, .streamGap(gap)) }
        if let joined, channel.membership?.isOf(joined.room, joined.participant) == true {
            for message in joined.lobby { sendText(channel, message) }
        }
        channel.membership?.forwarded = nil
        if let membership = channel.membership { tellForwarded(channel, membership) }
        resumeAudio(channel, wasParked: wasParked)
        counters.sessionsResumed &+= 1
        shared.log.info("session_resumed", [("session", channel.sessionID), ("address", "\(channel.clientAddress)")])
        if let room = channel.membership?.room { markDirty(room) }
        if isProvenAnew {
            review(channel)
            enterPresence(channel)
        }
        release(channel)
    }

    /// Gives a session what carries the newcomer's WebSocket, and the newcomer's channel what carried the session's.
    private func takeOver(_ channel: Channel, from newcomer: Channel, goesOnWhereItWas: Bool) {
        let wasParked = channel.isParked
        if wasParked {
            unpark(channel)
            if let membership = channel.membership {
                membership.room.fanout.unpark(Int(membership.subscriber.index), asksForKeyFrames: goesOnWhereItWas)
            }
        } else if let membership = channel.membership {
            finishBegun(channel, membership)
        }
        channel.exchangeTransport(with: newcomer)
        scheduleChannelTimer(channel)
        if wasParked {
            _ = channels.remove(newcomer.handle)
            newcomer.isGone = true
            if let timer = newcomer.timer { timers.cancel(timer) }
        } else {
            beginClose(newcomer, .normalClosure, reason: "replaced", counted: "replaced")
        }
    }

    /// Who the client has proven to be on the new connection is who it is from now on; a token that the session lives by stands beside that.
    ///
    /// - Returns: whether that is more or less than before, so that it has to be looked at what the session may.
    private func prove(_ channel: Channel, as newcomer: Channel) -> Bool {
        guard var principal = newcomer.principal else { return false }
        channel.forwarded = newcomer.forwarded
        if let token = newcomer.token {
            channel.token = token
        } else if let token = channel.token {
            principal.add(token)
        }
        newcomer.token = nil
        newcomer.forwarded = nil
        guard principal != channel.principal else { return false }
        channel.principal = principal
        return true
    }

    private func wish(_ channel: Channel, _ wishes: SessionWishes) {
        channel.wishes = wishes
        keepAlive(channel, every: wishes.keepAliveMilliseconds)
        guard let membership = channel.membership else { return }
        membership.room.fanout.setWishes(Int(membership.subscriber.index), wishes.egress)
    }

    // MARK: What the client is told

    func resumed(_ channel: Channel, _ joined: Joined?, _ gaps: [RelayMessage.StreamGap]) -> [UInt8] {
        var session = RelayMessage.ResumedSession(room: nil, subscribed: [], published: [], gaps: gaps)
        if case .waiting(let place, _) = channel.state { session.waiting = place.name.text }
        session.session = channel.audio.flatMap { audio in audio.snapshot.map { sessionState(audio, $0) } }
        guard let membership = channel.membership, let joined, membership.isOf(joined.room, joined.participant) else {
            return session.encoded(participants: [])
        }
        session.mix = membership.mix.map { MixMembership.info(channels: $0.channels) }
        let room = membership.room
        session.room = RelayMessage.RoomEntry(
            room: joined.name.text, participant: joined.participant.value, role: joined.role, locked: joined.isLocked, participants: nil,
            streams: joined.streams.map(\.info), speakers: joined.told)
        session.subscribed = room.fanout.subscribed(Int(membership.subscriber.index)).filter { room.fanout.isOpen($0) }
            .map { room.fanout.streams[$0.index].id }
        for place in membership.published.indices where !membership.published[place].hasEnded {
            let stream = membership.published[place]
            let last = room.fanout.lastSequences(of: stream.slot)
            for (layer, sequence) in last.enumerated() {
                session.published.append(RelayMessage.ResumedStream(stream: stream.id, layer: last.count > 1 ? layer : nil, sequence: sequence))
            }
            membership.expectRepeats(at: place, after: last)
            // What is wanted of it may have been said while nobody heard.
            room.routes[stream.slot.index].demand.tellAgain()
            room.routes[stream.slot.index].formatDemand.tellAgain()
        }
        return session.encoded(participants: joined.participants)
    }

}

extension Channel {
    /// Exchanges what carries the WebSocket and what goes with it; everything else is the session's.
    fileprivate func exchangeTransport(with other: Channel) {
        other.connection?.put(self, on: other.stream)
        connection?.put(other, on: stream)
        (connection, other.connection) = (other.connection, connection)
        (stream, other.stream) = (other.stream, stream)
        swap(&inbound, &other.inbound)
        swap(&closing, &other.closing)
        swap(&deflate, &other.deflate)
        swap(&unfinished, &other.unfinished)
        swap(&control, &other.control)
        swap(&begunControl, &other.begunControl)
        swap(&heldInput, &other.heldInput)
        swap(&lastReceived, &other.lastReceived)
        swap(&liveness.pings, &other.liveness.pings)
        swap(&liveness.nextPing, &other.liveness.nextPing)
        swap(&liveness.roundTrip, &other.liveness.roundTrip)
        satisfiedInBatch = 0
        other.satisfiedInBatch = 0
        swap(&lastProgress, &other.lastProgress)
        swap(&endsAfterFlush, &other.endsAfterFlush)
        swap(&clientAddress, &other.clientAddress)
    }
}

extension Connection {
    /// Puts another channel in the place of the one that a stream carries; without a stream, that the connection carries.
    fileprivate func put(_ channel: Channel, on stream: HTTP2StreamID?) {
        guard let stream else {
            phase = .webSocket(channel)
            return
        }
        guard let place = channels.firstIndex(where: { $0.stream == stream }) else { return }
        channels[place].channel = channel
    }
}
