import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// What other nodes know of this loop's sessions, and sessions that go on there.
extension EventLoop {
    private static let asksMax = 64

    /// The client has asked for streams, or let go of some: another node would have to do the same for it.
    func note(_ ask: SubscriptionAsk, of channel: Channel, _ membership: Membership) {
        guard shared.gateway != nil else { return }
        switch ask {
        case .subscribe(let request) where request.all == true: membership.asked = [ask]
        case .unsubscribe(let request) where request.all == true: membership.asked = []
        default: membership.asked.append(ask)
        }
        // Who asks for ever more, one stream at a time, goes on elsewhere with the latest.
        if membership.asked.count > EventLoop.asksMax { membership.asked.removeFirst() }
        channel.ticketIsStale = true
    }

    /// Something of a session has changed that another node would need.
    func noteTicket(_ channel: Channel) {
        if shared.gateway != nil { channel.ticketIsStale = true }
    }

    /// Tells other nodes of the sessions that have changed, a few times a second.
    func writeTickets() {
        for handle in channels.handles {
            if let channel = channels[handle], channel.ticketIsStale { writeTicket(channel) }
        }
    }

    func writeTicket(_ channel: Channel) {
        channel.ticketIsStale = false
        for digest in [channel.resumption.ticket, channel.resumption.spent] {
            if let digest { writeTicket(channel, under: digest) }
        }
    }

    func writeTicket(_ channel: Channel, under digest: SHA256Digest) {
        guard shared.gateway != nil, let record = record(of: channel) else { return }
        tellGateway(.ticket(digest.hex, SessionTicket(address: address(of: channel), record: record)))
    }

    func eraseTicket(_ digest: SHA256Digest) {
        if shared.gateway != nil { tellGateway(.ticketEnded(digest.hex)) }
    }

    func record(of channel: Channel) -> SessionRecord? {
        guard channel.purpose == .session, channel.sessionID != "", let principal = channel.principal else { return nil }
        var record = SessionRecord(session: channel.sessionID, owner: ResumeOwner(principal), device: channel.device, wishes: channel.wishes)
        guard let membership = channel.membership else { return record }
        let room = membership.room
        let entry = rollEntry(channel, membership)
        let published = entry.streams.map { stream -> SessionRecord.Published in
            guard let slot = room.fanout.slot(of: stream.id) else { return SessionRecord.Published(configurations: [], lastSequences: []) }
            let last = room.fanout.lastSequences(of: slot)
            let configurations = last.indices.flatMap { room.fanout.cachedConfiguration(slot, $0) }
            return SessionRecord.Published(configurations: configurations.map(EmbeddedBytes.init), lastSequences: last)
        }
        record.place = SessionRecord.Place(
            room: room.number, name: room.name, admission: membership.admission, entry: entry, streams: published, asked: membership.asked)
        return record
    }

    /// The client has come to another node: the session goes on there. Nobody in its room sees it leave.
    func releaseSession(_ claim: ForeignClaim, _ token: UInt64, to node: Int) {
        var released: SessionRecord?
        if let channel = channels[Handle(packed: token)],
            channel.resumption.ticket?.hex == claim.digest || channel.resumption.spent?.hex == claim.digest,
            channel.principal.map({ ResumeOwner($0) }) == claim.owner
        {
            released = record(of: channel)
            if let membership = channel.membership { noteMoving(membership) }
            withdrawTickets(of: channel)
            takeOut(channel)
            channel.state = .ready
            if !endParked(channel, reason: "handed_over") {
                beginClose(channel, .normalClosure, reason: "replaced", counted: "handed_over")
            }
            counters.sessionsHandedOver &+= 1
        }
        post(.cluster(.released(claim, released)), to: LoopPlace.of(LoopPlace.gateway, on: node))
    }
}
