import MediaProtocol
import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// Sessions of other nodes that go on here.
extension EventLoop {
    /// What has become of a token that another node gave out.
    func claimed(_ foreign: ForeignClaim, _ result: ForeignClaimResult) {
        guard let newcomer = channels[Handle(packed: foreign.newcomer.token)], let claim = newcomer.claim, claim.number == .foreign,
            claim.digest.hex == foreign.digest, newcomer.arriving == nil
        else { return }
        switch result {
        case .unknown: settle(newcomer, claim, refusedFor: "unknown")
        case .anothers: settle(newcomer, claim, refusedFor: "identity")
        case .unreachable: settle(newcomer, claim, refusedFor: "cluster", as: .pending)
        case .arrived(let record):
            newcomer.arriving = record
            guard let place = record.place else { return arrived(newcomer, claim, in: nil) }
            var entry = place.entry
            entry.move(to: address(of: newcomer))
            let reference = ClaimReference(newcomer: address(of: newcomer), number: claim.number)
            tellGateway(.adopt(Adoption(room: place.room, name: place.name, entry: entry, claim: reference)))
        }
    }

    /// The room's home knows where the member is now: the session goes on.
    ///
    /// - Parameter joined: the room as its home describes it; `nil` when the session is in none any more.
    func arrived(_ channel: Channel, _ claim: ResumeClaim, in joined: Joined?) {
        guard let record = channel.arriving else { return }
        channel.arriving = nil
        hold(channel, for: nil)
        channel.sessionID = record.session
        channel.device = claim.device ?? record.device
        channel.wishes = claim.wishes ?? record.wishes
        keepAlive(channel, every: channel.wishes.keepAliveMilliseconds)
        channel.state = .ready
        counters.sessions += 1
        var resumedRoom: Joined?
        if let joined, let place = record.place {
            if enter(channel, joined, place.admission) {
                resumedRoom = joined
                goOn(channel, place)
            } else {
                post(.leave(joined.room, joined.participant, reason: .lost), to: joined.home)
            }
        }
        welcome(channel, claim.requestID, resumed: resumed(channel, resumedRoom, []))
        channel.membership?.forwarded = nil
        if let membership = channel.membership { tellForwarded(channel, membership) }
        // Its audio session was of the node that it comes from.
        tellReset(channel)
        counters.sessionsResumed &+= 1
        shared.log.info("session_arrived", [("session", channel.sessionID), ("address", "\(channel.clientAddress)")])
        review(channel)
        enterPresence(channel)
        release(channel)
    }

    /// Publishes and subscribes as before.
    private func goOn(_ channel: Channel, _ place: SessionRecord.Place) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        for (stream, published) in zip(place.entry.streams, place.streams) {
            guard let slot = room.fanout.slot(of: stream.id), room.routes[slot.index].entry.publisher == membership.participant else { continue }
            channel.hasPublished = true
            membership.published.append(PublishedStream(id: stream.id, slot: slot, lane: stream.lane))
            let here = membership.published.count - 1
            for configuration in published.configurations {
                unsafe configuration.bytes.withUnsafeBytes { bytes in
                    guard let frame = try? unsafe MediaFrame.validate(bytes, limits: limits), frame.header.kind == .configuration,
                        frame.header.stream.rawValue == stream.id
                    else { return }
                    membership.published[here].isConfigured = true
                    let traits = FrameTraits(frame.header, lane: stream.lane)
                    guard traits.spatial < LayerChoice.layersMax else { return }
                    unsafe forward(room, slot, bytes, traits)
                }
            }
            // What this node has got of the stream it has passed on; the client need not send it again.
            membership.expectRepeats(at: here, after: room.fanout.lastSequences(of: slot))
        }
        for ask in place.asked {
            switch ask {
            case .subscribe(let request): try? subscribe(channel, nil, request)
            case .unsubscribe(let request): try? unsubscribe(channel, nil, request)
            }
        }
    }

    /// At the room's home: a member is at another loop, here or on another node.
    func adoptAtHome(_ adoption: Adoption) {
        noteJoin(adoption.name)
        if home.room(named: adoption.name) == nil {
            if home.reopen(adoption.room, adoption.name) != nil { tellGateway(.began(adoption.room, adoption.name)) }
        }
        var description: Joined?
        if let room = home.room(named: adoption.name), room.number == adoption.room {
            // The node of the newcomer has the room before it hears anything of it.
            replicateFirst(room, to: adoption.entry.member)
            readmitAtHome(adoption.room, adoption.entry, isRoll: false)
            if let room = home.rooms[adoption.room], let member = room.members.first(where: { $0.id == adoption.entry.member.id }) {
                var joined = joined(room, member)
                if member.role.mayModerate { joined.lobby = room.waiting.map { RelayMessage.lobbyWaiting($0.participant).encoded } }
                description = joined
            }
        }
        post(.described(adoption.claim, description), to: adoption.claim.newcomer.loop)
    }
}

extension RollEntry {
    mutating func move(to address: MemberAddress) {
        self = RollEntry(
            member: Rooms.Member(
                id: member.id, address: address, identity: member.identity, profile: member.profile, role: member.role,
                publishable: member.publishable,
                muted: member.muted),
            streams: streams.map { Rooms.Stream(id: $0.id, publisher: $0.publisher, address: address, lane: $0.lane, description: $0.description) })
    }
}
