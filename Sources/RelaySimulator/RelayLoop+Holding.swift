import RelayBase
import RelayRooms

/// Sessions and streams that take nothing for now: after `EventLoop+AudioSession`.
extension RelayLoop {
    /// - Parameter stream: `nil`: everything. The notice says whether the stream was one that could be held.
    func hold(_ session: RelaySession, _ stream: UInt32?, _ isHeld: Bool) {
        guard let membership = session.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let notice = isHeld ? RelayNotice.held : RelayNotice.released
        guard let stream else {
            if isHeld {
                // Not a byte of media goes behind the notice.
                room.fanout.finishMessage(subscriber, into: &session.unfinished)
                room.fanout.hold(subscriber, now: now)
            } else {
                room.fanout.release(subscriber, now: now)
            }
            send(session, notice)
            follow(membership, room.fanout.subscribed(subscriber), isHeld)
            return
        }
        guard let slot = room.fanout.slot(of: stream), room.fanout.isSubscribed(subscriber, slot) else {
            send(session, notice, [stream, 0])
            return
        }
        if isHeld { room.fanout.hold(subscriber, slot, now: now) } else { room.fanout.release(subscriber, slot, now: now) }
        send(session, notice, [stream, 1])
        follow(membership, [slot], isHeld)
    }

    private func follow(_ membership: SessionMembership, _ slots: [StreamSlot], _ isHeld: Bool) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        for slot in slots where room.fanout.isOpen(slot) {
            let stream = room.fanout.streams[slot.index].id
            if !isHeld, !room.fanout.isHeld(subscriber, slot) {
                membership.releasedAt[stream] = now
                if !room.fanout.layers(subscriber, slot).current.isNone { membership.noteHistory(stream, room.routes[slot.index].arrivals) }
            }
            requestInterest(room, slot)
            tellDemand(room, slot)
        }
        markDirty(room)
    }
}

extension Simulator {
    /// Nothing that came before its stream was released is begun; of video, a group that is no older than the lane allows.
    func checkReleased(_ stream: UInt32, isVideo: Bool, arrival: MonotonicInstant, _ membership: SessionMembership) {
        guard let released = membership.releasedAt[stream] else { return }
        let grace = isVideo ? scenario.limits.videoDeadlineMilliseconds : 0
        require(
            arrival.advanced(byMilliseconds: grace) >= released,
            "a frame of stream \(stream) that came \(released.nanoseconds(since: arrival) / 1_000_000) ms before the release is begun for "
                + "participant \(membership.participant.value)")
    }
}
