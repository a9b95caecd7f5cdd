import MediaProtocol
import RelayBase
import RelayRooms

/// The last frame of a stream that a client has.
struct ClientMark {
    let stream: UInt32
    let mark: ReceivedMark
}

/// A resumed session waits for a key frame; only that frame says how much was missed.
struct OpenGap {
    let token: UInt64
    let slot: StreamSlot
    let stream: UInt32
    let mark: ReceivedMark
}

/// Sessions that outlive their connections: after `EventLoop+Parking`, `EventLoop+Resume` and `EventLoop+Replay`.
extension RelayLoop {
    /// The relay hears that a connection is gone: its session waits for its client for a while, or leaves its room.
    func connectionBroken(_ connection: SimulatedConnection) {
        connection.isKnownBroken = true
        guard let session = connection.session, !session.hasEnded else { return }
        connection.session = nil
        if session.membership != nil, world.mayPark(connection) {
            park(session)
        } else {
            end(session)
        }
    }

    func end(_ session: RelaySession) {
        session.hasEnded = true
        session.isParked = false
        leaveRoom(session)
        _ = sessions.remove(Handle(packed: session.token))
    }

    private func park(_ session: RelaySession) {
        world.note("parks", index, session.connection.client, 0)
        session.isParked = true
        session.parkedUntil = now.advanced(byMilliseconds: world.scenario.resumeMilliseconds)
        forgetTransport(of: session)
        if let membership = session.membership { membership.room.fanout.park(Int(membership.subscriber.index)) }
    }

    private func forgetTransport(of session: RelaySession) {
        session.control.removeAll()
        session.unfinished.removeAll()
        session.watch = EgressWatch()
        session.flow = SimulatedFlow()
        session.unsent = 0
    }

    /// A new connection's client wants to go on with an older session: the connection goes to that session's loop.
    func beginResume(_ session: RelaySession, _ address: MemberAddress, _ marks: [ClientMark]) {
        let connection = session.connection
        _ = sessions.remove(Handle(packed: session.token))
        session.hasEnded = true
        connection.session = nil
        connection.loop = address.loop
        post(.resume(address, connection: connection.id, marks), to: address.loop)
    }

    func resume(_ address: MemberAddress, _ connection: SimulatedConnection, _ marks: [ClientMark]) {
        guard !connection.isKnownBroken else { return }
        guard let session = session(address.token), let membership = session.membership, !session.hasEnded else {
            guard accept(connection), let session = connection.session else { return }
            send(session, .resumeRefused)
            return
        }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        if session.isParked {
            session.isParked = false
            room.fanout.unpark(subscriber, asksForKeyFrames: false)
        } else {
            // The relay has not heard yet that the old connection is gone: what was begun on it is finished there.
            room.fanout.finishMessage(subscriber, into: &session.unfinished)
            session.connection.session = nil
            forgetTransport(of: session)
        }
        session.connection = connection
        session.lastProgress = now
        connection.session = session
        world.note("resumes", index, connection.client, connection.id)
        let gaps = replay(session, membership, marks)
        send(session, .resumed, snapshot(membership))
        for gap in gaps { send(session, .gap, [gap.stream, gap.frames]) }
        markDirty(room)
    }

    /// Where the client's session stands: streams that it gets, streams of others, and its own with the last number that came.
    private func snapshot(_ membership: SessionMembership) -> [UInt32] {
        let room = membership.room
        let subscribed = room.fanout.subscribed(Int(membership.subscriber.index)).filter { room.fanout.isOpen($0) }.map {
            room.fanout.streams[$0.index].id
        }
        let known = room.fanout.openSlots.flatMap { [room.fanout.streams[$0.index].id, UInt32(room.fanout.streams[$0.index].lane.rawValue)] }
        var published: [UInt32] = []
        for stream in membership.published where !stream.hasEnded {
            let last = room.fanout.lastSequences(of: stream.slot).first ?? nil
            published += [stream.id, last == nil ? 0 : 1, last ?? 0]
        }
        return [UInt32(subscribed.count)] + subscribed + [UInt32(known.count / 2)] + known + [UInt32(published.count / 3)] + published
    }

    private func replay(_ session: RelaySession, _ membership: SessionMembership, _ marks: [ClientMark]) -> [(stream: UInt32, frames: UInt32)] {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        room.openGaps.removeAll { $0.token == session.token }
        var gaps: [(stream: UInt32, frames: UInt32)] = []
        for slot in room.fanout.subscribed(subscriber) {
            guard room.fanout.isOpen(slot) else {
                room.fanout.unsubscribe(subscriber, slot)
                continue
            }
            let stream = room.fanout.streams[slot.index].id
            let mark = marks.last { $0.stream == stream }?.mark
            let measure = room.fanout.rewind(subscriber, slot, after: mark, now: now)
            world.note("rewinds", connection(of: session), Int(stream), Int(measure.frames))
            if measure.isOpen {
                if let mark { room.openGaps.append(OpenGap(token: session.token, slot: slot, stream: stream, mark: mark)) }
            } else if measure.frames > 0 {
                gaps.append((stream, measure.frames))
            }
        }
        return gaps
    }

    private func connection(of session: RelaySession) -> Int { session.connection.client }

    /// A key frame was appended: whoever waited for it hears first what it has missed.
    func closeGaps(_ room: SimulatedRoom, _ slot: StreamSlot, _ header: MediaHeader) {
        let next = ReceivedMark(sequence: header.sequence, timestamp: header.timestamp)
        room.openGaps.removeAll { gap in
            guard gap.slot == slot, gap.stream == header.stream.rawValue else { return false }
            guard let session = session(gap.token), let membership = session.membership, membership.room === room else { return true }
            guard room.fanout.awaitsNewest(Int(membership.subscriber.index), slot) else { return false }
            let measure = room.fanout.gap(Int(membership.subscriber.index), slot, from: gap.mark, to: next)
            if measure.frames > 0 { send(session, .gap, [gap.stream, measure.frames]) }
            return true
        }
    }

    /// Sessions whose clients have not come back in time.
    func endParked() {
        for handle in sessions.handles {
            guard let session = sessions[handle], session.isParked, now >= session.parkedUntil || world.isEnding else { continue }
            world.note("gives up", index, session.connection.client, 0)
            end(session)
        }
    }
}
