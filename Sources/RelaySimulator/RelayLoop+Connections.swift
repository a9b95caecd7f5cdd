import MediaProtocol
import RelayBase
import RelayRooms

/// Between rooms and connections: what clients say, and what they are sent. After `EventLoop+Session` and `EventLoop+Flush`.
extension RelayLoop {
    // MARK: In

    func accept(_ connection: SimulatedConnection) -> Bool {
        // The slab names the session, and the session must know its name.
        guard let handle = sessions.insert(RelaySession(token: 0, connection: connection)) else { return false }
        let session = RelaySession(token: handle.packed, connection: connection)
        session.lastProgress = now
        sessions[handle] = session
        connection.session = session
        return true
    }

    func receive(_ connection: SimulatedConnection) {
        while let message = connection.nextMessage() {
            guard let session = connection.session, !session.hasEnded else { continue }
            perform(session, message)
        }
    }

    private func perform(_ session: RelaySession, _ message: ClientMessage) {
        switch message {
        case .frame(let bytes): mediaMessage(session, bytes)
        case .join(let room):
            guard case .outside = session.place, let name = RoomName("room-\(room)", bytesMax: limits.roomNameBytesMax) else { return }
            session.place = .joining
            post(.join(name, address(of: session)), to: room % world.loops.count)
        case .leave:
            guard session.membership != nil else { return }
            leaveRoom(session)
            send(session, .left)
        case .publish(let offer):
            guard let membership = session.membership else {
                send(session, .publishFailed, [offer.request])
                return
            }
            post(.publish(membership.room.number, membership.participant, address(of: session), offer), to: membership.room.home)
        case .unpublish(let stream):
            guard let membership = session.membership else { return }
            post(.unpublish(membership.room.number, membership.participant, stream: stream), to: membership.room.home)
        case .subscribeToAll, .subscribe, .unsubscribe, .unsubscribeFromAll: performSubscription(session, message)
        case .requestKeyFrame(let stream):
            guard let room = session.membership?.room, let slot = room.fanout.slot(of: stream), room.fanout.streams[slot.index].lane == .video else {
                return
            }
            room.fanout.wantKeyFrame(slot)
            markDirty(room)
        }
    }

    private func performSubscription(_ session: RelaySession, _ message: ClientMessage) {
        guard let membership = session.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        var slots: [StreamSlot] = []
        switch message {
        case .subscribeToAll:
            membership.subscribesToAll = true
            slots = room.fanout.openSlots.filter { room.routes[$0.index].entry.publisher != membership.participant }
        case .subscribe(let stream), .unsubscribe(let stream):
            if let slot = room.fanout.slot(of: stream), room.routes[slot.index].entry.publisher != membership.participant { slots = [slot] }
        case .unsubscribeFromAll:
            membership.subscribesToAll = false
            slots = room.fanout.subscribed(subscriber)
        default: return
        }
        switch message {
        case .unsubscribe, .unsubscribeFromAll:
            for slot in slots { room.fanout.unsubscribe(subscriber, slot) }
            releaseInterest(room)
            send(session, .unsubscribed, room.fanout.subscribed(subscriber).map { room.fanout.streams[$0.index].id })
        default:
            send(session, .subscribed, slots.map { room.fanout.streams[$0.index].id })
            for slot in slots { subscribe(membership, slot) }
        }
        markDirty(room)
    }

    private func address(of session: RelaySession) -> MemberAddress {
        MemberAddress(loop: index, token: session.token)
    }

    // MARK: Out

    func flushDirty() {
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

    /// Sends what a session is due until there is nothing left or the kernel is full.
    func flush(_ session: RelaySession) {
        guard !session.hasEnded else { return }
        while !session.isBlocked {
            let count = unsafe fill(session, egress)
            guard count > 0 else { break }
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: egress[..<count])
            unsafe checkBegun(session, bytes)
            unsafe session.connection.bytes.append(bytes)
            session.sealed = count - session.connection.down.send(count)
            world.bytesSent += UInt64(count)
        }
        if !session.isBlocked { session.lastProgress = now }
    }

    private func fill(_ session: RelaySession, _ room: UnsafeMutableRawBufferPointer) -> Int {
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
        // Control that waits goes as soon as the begun message is finished, before any other.
        let free = room.count - filled
        let count = session.control.isEmpty ? free : min(free, membership.room.fanout.begunByteCount(subscriber))
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled..<(filled + count)])
        guard rest.count > 0 else { return filled }
        return unsafe filled + membership.room.fanout.pull(subscriber, into: rest, now: now)
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
        if session.sealed > 0 { session.sealed -= connection.down.send(session.sealed) }
        session.lastProgress = now
        flush(session)
    }

    /// No frame is begun after its deadline.
    private func checkBegun(_ session: RelaySession, _ bytes: UnsafeRawBufferPointer) {
        guard let begun = unsafe session.watch.take(bytes, now: now) else {
            world.require(false, "the relay sends what is no WebSocket message")
            return
        }
        for frame in begun where frame.header.kind != .configuration {
            guard let membership = session.membership else {
                world.require(false, "a frame of stream \(frame.header.stream.rawValue) is begun for a session outside of rooms")
                return
            }
            world.checkBegun(frame.header, at: frame.begunAt, membership)
        }
    }
}
