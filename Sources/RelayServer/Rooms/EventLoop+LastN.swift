import RelayBase
import RelayRooms
import Signalling

/// Who has subscribed with `lastN` gets the video of those who spoke last, and every screen.
extension EventLoop {
    /// Before streams are subscribed to: marks those that a member has already, and subscribes to those that it is not given for now.
    func rank(_ channel: Channel, _ membership: Membership, _ slots: [StreamSlot], _ wishes: LayerWishes, lastN: Int?) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let ranked = lastN == nil ? [] : slots.filter { room.isRanked($0) }
        var released: [StreamSlot] = []
        for slot in slots where room.fanout.setRanked(subscriber, slot, ranked.contains(slot), now: now) { released.append(slot) }
        if !released.isEmpty { chooseLayers(channel, membership, bandwidth(of: channel)) }
        guard let lastN, !ranked.isEmpty else { return }
        let given = room.fanout.first(lastN, of: room.rankedVideo) { ranked.contains($0) || room.fanout.isRanked(subscriber, $0) }
        for slot in ranked where !given.contains(slot) { room.fanout.subscribeLeftOut(subscriber, slot, wishes, now: now) }
    }

    /// Gives members of a room what is theirs by who spoke last, and tells them where that has changed.
    ///
    /// - Parameter channel: this member alone.
    func rankVideo(_ room: LocalRoom, for channel: Channel? = nil) {
        var order: [StreamSlot]?
        var changed: [StreamSlot] = []
        for (_, handle) in room.members where channel.map({ $0.handle == handle }) ?? true {
            guard let channel = channels[handle], let membership = channel.membership, let lastN = membership.standing.all?.lastN else { continue }
            let streams = order ?? room.rankedVideo
            order = streams
            let changes = room.fanout.giveRanked(Int(membership.subscriber.index), first: lastN, of: streams, now: now)
            if !changes.isEmpty {
                chooseLayers(channel, membership, bandwidth(of: channel))
                changed += changes.filter { !changed.contains($0) }
            }
            tellForwarded(channel, membership)
        }
        if !changed.isEmpty { followHold(room, changed) }
    }

    /// Tells a member which streams of video it is given, when that is not what it was told last.
    func tellForwarded(_ channel: Channel, _ membership: Membership) {
        guard membership.standing.all?.lastN != nil else {
            membership.forwarded = nil
            return
        }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let given = room.fanout.subscribed(subscriber).filter { slot in
            room.fanout.streams[slot.index].lane == .video && room.fanout.isOpen(slot) && !room.fanout.isLeftOut(subscriber, slot)
        }
        let streams = given.map { room.fanout.streams[$0.index].id }.sorted()
        guard streams != membership.forwarded else { return }
        membership.forwarded = streams
        send(channel, .streamForwarded(.init(streams: streams)))
    }
}

extension LocalRoom {
    /// Whether it depends on who speaks to whom a stream is given that wishes for the last so many.
    func isRanked(_ slot: StreamSlot) -> Bool {
        routes[slot.index].entry.lane == .video && routes[slot.index].entry.info.source != LocalRoom.screen
    }

    /// Streams of which that holds, in the order in which they are given; kept until ``rankedOrder`` is taken away.
    var rankedVideo: [StreamSlot] {
        if let rankedOrder { return rankedOrder }
        let order = fanout.order(of: fanout.openSlots.filter { isRanked($0) }, recent: recentSpeakers)
        rankedOrder = order
        return order
    }

    private static let screen = "screen"
}
