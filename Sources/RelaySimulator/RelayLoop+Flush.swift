import MediaProtocol
import RelayBase
import RelayRooms

/// What clients are sent: after `EventLoop+Flush` and `EventLoop+Flow`.
extension RelayLoop {
    func flushDirty() {
        endBroken()
        var place = 0
        while place < dirtyRooms.count {
            let room = dirtyRooms[place]
            place += 1
            room.isDirty = false
            requestKeyFrames(room)
            for subscriber in 0..<room.fanout.subscribers.endIndex {
                guard room.fanout.subscribers.isLive(subscriber), room.fanout.hasPending(subscriber),
                    let session = session(room.fanout.subscribers[subscriber].token)
                else { continue }
                flush(session)
            }
        }
        dirtyRooms.removeAll(keepingCapacity: true)
        place = 0
        while place < dirtySessions.count {
            flush(dirtySessions[place])
            place += 1
        }
        dirtySessions.removeAll(keepingCapacity: true)
        if !inbox.isEmpty {
            drainInbox()
            if !dirtyRooms.isEmpty || !dirtySessions.isEmpty { flushDirty() }
        }
    }

    /// Ends the connections of subscribers for whom the rest of a begun frame is lost.
    private func endBroken() {
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            while let token = room.fanout.brokenSubscriber, let session = session(token) {
                world.require(scenarioIsTight, "a good relay lost the rest of a begun frame for lack of memory")
                world.closeFromRelay(session.connection)
                session.connection.session = nil
                end(session)
            }
        }
    }

    private var scenarioIsTight: Bool { world.scenario.isTight }

    /// Sends what a session is due until there is nothing left, the window is used up or the kernel is full.
    func flush(_ session: RelaySession) {
        guard !session.hasEnded, !session.isParked, !session.isBlocked else { return }
        let sealed = session.sealed
        session.flow.isHeld = false
        while !session.isBlocked {
            var room = allowance(session, isUrgent: false)
            var last = Lane.data
            if room == 0 {
                guard let urgency = urgency(of: session) else { break }
                room = urgency.isUrgent ? allowance(session, isUrgent: true) : 0
                last = urgency.lane
                guard room > 0 else {
                    session.flow.isHeld = true
                    break
                }
            }
            let count = unsafe fill(session, UnsafeMutableRawBufferPointer(rebasing: egress[..<room]), upTo: last)
            guard count > 0 else {
                if room < BandwidthEstimate.quantumBytesMin, urgency(of: session) != nil { session.flow.isHeld = true }
                break
            }
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: egress[..<count])
            unsafe checkSent(session, bytes)
            unsafe session.connection.bytes.append(bytes)
            session.sealed += UInt64(count)
            session.unsent = count - session.connection.down.send(count)
            world.bytesSent += UInt64(count)
        }
        if !session.isBlocked, !session.flow.isHeld { session.lastProgress = now }
        if session.flow.isHeld {
            session.heldAt = now
            world.note("held", session.connection.client, session.flow.estimate.bitsPerSecond ?? -1, session.flow.estimate.windowBytes)
        }
        followFlow(session, hasSealed: session.sealed != sealed)
    }

    private func urgency(of session: RelaySession) -> EgressUrgency? {
        guard session.unfinished.isEmpty else { return EgressUrgency(lane: .video, client: 0) }
        guard let membership = session.membership else { return session.control.isEmpty ? nil : EgressUrgency(lane: nil, client: 0) }
        let subscriber = Int(membership.subscriber.index)
        if !session.control.isEmpty, !membership.room.fanout.subscribers[subscriber].isMidMessage { return EgressUrgency(lane: nil, client: 0) }
        return membership.room.fanout.mostUrgentPending(subscriber).map { EgressUrgency(lane: $0, client: 0) }
    }

    private func fill(_ session: RelaySession, _ room: UnsafeMutableRawBufferPointer, upTo last: Lane) -> Int {
        var filled = 0
        unsafe RelayLoop.move(&session.unfinished, room, &filled)
        guard session.unfinished.isEmpty else { return filled }
        guard let membership = session.membership else {
            unsafe RelayLoop.move(&session.control, room, &filled)
            return filled
        }
        let subscriber = Int(membership.subscriber.index)
        if !membership.room.fanout.subscribers[subscriber].isMidMessage {
            unsafe RelayLoop.move(&session.control, room, &filled)
            guard session.control.isEmpty else { return filled }
        }
        // While control waits, media gets no more than the rest of the begun message.
        let free = room.count - filled
        let count = session.control.isEmpty ? free : min(free, membership.room.fanout.begunByteCount(subscriber))
        guard count > 0 else { return filled }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled..<(filled + count)])
        return unsafe filled + membership.room.fanout.pull(subscriber, into: rest, now: now, upTo: last)
    }

    private static func move(_ queue: inout ByteQueue, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        let count = min(queue.count, room.count - filled)
        guard count > 0 else { return }
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: queue.readable[..<count]))
        queue.consume(count)
        queue.releaseIfEmpty()
        filled += count
    }

    /// The kernel has room again.
    func resumeWriting(_ connection: SimulatedConnection) {
        guard let session = connection.session else { return }
        if session.unsent > 0 { session.unsent -= connection.down.send(session.unsent) }
        guard session.unsent == 0 else { return }
        session.lastProgress = now
        flush(session)
    }

    // MARK: Flow

    private func allowance(_ session: RelaySession, isUrgent: Bool) -> Int {
        let allowed = session.flow.allowance(sealed: session.sealed, isUrgent: isUrgent)
        guard allowed == 0, session.flow.sampledAt < now else { return allowed }
        sample(session)
        return session.flow.allowance(sealed: session.sealed, isUrgent: isUrgent)
    }

    private func followFlow(_ session: RelaySession, hasSealed: Bool) {
        if hasSealed, session.flow.isSampleDue(now) { sample(session) }
        guard let wait = session.flow.wait(isBlocked: session.isBlocked, stalledMilliseconds: now.milliseconds(since: session.lastProgress)) else {
            return
        }
        let at = now.advanced(byMilliseconds: wait)
        if let timer = session.flow.timerAt, timer <= at { return }
        session.flow.timerAt = at
        world.schedule(.flow(connection: session.connection.id), at: at)
    }

    /// The timer of a connection that was held, or that the network limits.
    func flowTimer(_ connection: SimulatedConnection) {
        guard let session = connection.session, !session.hasEnded, !session.isParked else { return }
        session.flow.timerAt = nil
        sample(session)
        if session.isBlocked { followFlow(session, hasSealed: false) } else { flush(session) }
    }

    private func sample(_ session: RelaySession) {
        let path = session.connection.down
        if session.flow.take(path, sealed: session.sealed, unsent: session.unsent, now: now) { session.lastProgress = now }
        guard let bytes = session.flow.newLowWater() else { return }
        path.notSentLowWater = bytes
        // The kernel says so at once when a new mark leaves room.
        guard session.isBlocked, path.isWritable else { return }
        writable.append(session.connection)
        world.wake(index)
    }

    // MARK: What is checked

    /// No frame is begun after its deadline, none for a session outside of rooms, and nothing that is no message.
    private func checkSent(_ session: RelaySession, _ bytes: UnsafeRawBufferPointer) {
        guard let steps = unsafe session.watch.take(bytes, now: now) else {
            world.require(false, "the relay sends what makes no sense: no message, a part out of place, or a frame between the parts of its stream")
            return
        }
        for step in steps {
            switch step {
            case .begun(let frame):
                guard let membership = session.membership else {
                    world.require(false, "a frame of stream \(frame.header.stream.rawValue) is begun for a session outside of rooms")
                    return
                }
                if frame.header.kind != .configuration { world.checkBegun(frame.header, at: frame.begunAt, membership) }
            case .ended(let header):
                if let membership = session.membership { world.noteEnded(header, membership) }
            }
        }
    }
}
