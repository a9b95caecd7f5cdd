import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

extension EventLoop {
    func markDirty(_ room: LocalRoom) {
        guard !room.isDirty else { return }
        room.isDirty = true
        dirtyRooms.append(room)
    }

    func markDirty(_ connection: Connection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        dirtyConnections.append(connection)
    }

    func markDirty(_ channel: Channel) {
        if let connection = channel.connection { markDirty(connection) }
    }

    /// The end of a turn: everything that subscribers and others are due is sealed and sent, as far as the kernel takes it.
    func flushDirty() {
        closeOverflowing()
        releaseHeld()
        var place = 0
        while place < dirtyRooms.count {
            let room = dirtyRooms[place]
            place += 1
            room.isDirty = false
            requestKeyFrames(room)
            if !holds(room) { flushSubscribers(of: room) }
        }
        dirtyRooms.removeAll(keepingCapacity: true)
        endHolds()
        place = 0
        while place < dirtyConnections.count {
            let connection = dirtyConnections[place]
            place += 1
            connection.isDirty = false
            flush(connection)
        }
        dirtyConnections.removeAll(keepingCapacity: true)
        // Closing connections above may have left messages for this loop, and those may have made more dirty.
        if !inbox.isEmpty {
            drainInbox()
            if !dirtyRooms.isEmpty || !dirtyConnections.isEmpty { flushDirty() }
        }
    }

    /// Sends what a connection is due until there is nothing left, the window is used up or the kernel is full.
    func flush(_ connection: Connection) {
        guard connections.contains(connection.handle), !connection.isBlocked else { return }
        let sealed = connection.secure.sealedBytes
        work.flushed()
        connection.flow.isHeld = false
        var hasFinishedContent = false
        do {
            switch connection.phase {
            case .proxyHeader, .preface, .handshaking: return
            case .http1:
                try flushOutbound(connection)
                hasFinishedContent = try flushContent(connection)
            case .webSocket(let channel): try flushWebSocket(connection, channel)
            case .http2(let session): try flushHTTP2(connection, session)
            case .closing: break
            }
            armWrite(connection)
            if connection.closesAfterOutbound, !connection.isBlocked, !connection.flow.isHeld { try finish(connection) }
        } catch {
            close(connection, reason: error.reason)
            return
        }
        followFlow(connection, hasSealed: connection.secure.sealedBytes != sealed)
        if hasFinishedContent { resumeHTTP1(connection) }
    }

    /// Everything queued is out: close_notify, then the end.
    private func finish(_ connection: Connection) throws(TransportFault) {
        try connection.secure.shutdown()
        close(connection, reason: connection.closeReason ?? "closed")
    }

    private func flushOutbound(_ connection: Connection) throws(TransportFault) {
        while !connection.outbound.isEmpty, !connection.isBlocked {
            let count = min(connection.outbound.count, EventLoop.egressBytes)
            try unsafe connection.secure.send(UnsafeRawBufferPointer(rebasing: connection.outbound.readable[..<count]))
            counters.sends &+= 1
            connection.outbound.consume(count)
        }
        connection.outbound.releaseIfEmpty()
    }

    /// Sends on from the content of a long answer.
    ///
    /// - Returns: whether that was the last of it.
    private func flushContent(_ connection: Connection) throws(TransportFault) -> Bool {
        guard let reading = connection.reading, var content = reading.content else { return false }
        while !content.isSent, !connection.isBlocked {
            let slice = content.next(EventLoop.egressBytes)
            unsafe egress.copyBytes(from: slice)
            try unsafe connection.secure.send(UnsafeRawBufferPointer(rebasing: egress[..<slice.count]))
            counters.sends &+= 1
            content.sent(slice.count)
            connection.lastProgress = now
        }
        reading.content = content.isSent ? nil : content
        guard content.isSent else { return false }
        if !connection.closesAfterOutbound, !isWatching(connection) {
            setDeadline(connection, now.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax))
        }
        return true
    }

    private func flushWebSocket(_ connection: Connection, _ channel: Channel) throws(TransportFault) {
        try flushOutbound(connection)
        while !connection.isBlocked {
            var room = allowance(connection, isUrgent: false)
            var last = Lane.data
            if room == 0 {
                guard let urgency = urgency(of: channel, client: 0) else { break }
                room = urgency.isUrgent ? allowance(connection, isUrgent: true) : 0
                last = urgency.lane
                guard room > 0 else {
                    connection.flow.isHeld = true
                    break
                }
            }
            let count = unsafe fill(channel, UnsafeMutableRawBufferPointer(rebasing: egress[..<room]), upTo: last)
            guard count > 0 else {
                // Not even a part fits into what is left of the window.
                if room < BandwidthEstimate.quantumBytesMin, urgency(of: channel, client: 0) != nil { connection.flow.isHeld = true }
                break
            }
            try unsafe connection.secure.send(UnsafeRawBufferPointer(rebasing: egress[..<count]))
            counters.sends &+= 1
            // Mostly that was all, which is seen sooner than by filling once more.
            guard hasMore(channel) else { break }
        }
        if !connection.isBlocked, !connection.flow.isHeld { connection.lastProgress = now }
        if channel.endsAfterFlush, !hasQueued(channel), !connection.isBlocked {
            connection.closeReason = connection.closeReason ?? channel.closeReason
            closeAfterFlush(connection, reason: "closed")
        }
    }

    /// How soon what a WebSocket is due has to go; `nil`: nothing is due.
    func urgency(of channel: Channel, client: UInt8) -> EgressUrgency? {
        guard channel.unfinished.isEmpty else { return EgressUrgency(lane: .video, client: client) }
        guard let membership = channel.membership else {
            return channel.control.isEmpty ? nil : EgressUrgency(lane: nil, client: client)
        }
        let subscriber = Int(membership.subscriber.index)
        if !channel.control.isEmpty, !membership.room.fanout.subscribers[subscriber].isMidMessage { return EgressUrgency(lane: nil, client: client) }
        return membership.room.fanout.mostUrgentPending(subscriber).map { EgressUrgency(lane: $0, client: client) }
    }

    /// Writes what a WebSocket is due into `room`: the rest of a begun message, control, media.
    func fill(_ channel: Channel, _ room: UnsafeMutableRawBufferPointer, upTo last: Lane = .data) -> Int {
        var filled = 0
        unsafe EventLoop.move(&channel.unfinished, room, &filled)
        guard channel.unfinished.isEmpty else { return filled }
        guard let membership = channel.membership else {
            unsafe channel.moveControl(into: room, &filled)
            return filled
        }
        let subscriber = Int(membership.subscriber.index)
        if !membership.room.fanout.subscribers[subscriber].isMidMessage {
            unsafe channel.moveControl(into: room, &filled)
            // A control message that was begun must be finished before a media message begins.
            guard channel.control.isEmpty else { return filled }
        }
        // While control waits, media gets no more than the rest of the begun message.
        let free = room.count - filled
        let count = channel.control.isEmpty ? free : min(free, membership.room.fanout.begunByteCount(subscriber))
        guard count > 0 else { return filled }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled..<(filled + count)])
        let media = unsafe membership.room.fanout.pull(subscriber, into: rest, now: now, upTo: last)
        counters.mediaBytesOut &+= UInt64(media)
        if media > 0 { channel.liveness.lastSaid = now }
        filled += media
        if channel.paddingBytes > 0, media == 0, last == .data, urgency(of: channel, client: 0) == nil {
            return unsafe pad(channel, room, from: filled)
        }
        return filled
    }

    /// Whether ``fill(_:_:upTo:)`` may find something.
    private func hasMore(_ channel: Channel) -> Bool {
        guard channel.control.isEmpty, channel.unfinished.isEmpty, channel.paddingBytes == 0 else { return true }
        guard let membership = channel.membership else { return false }
        return membership.room.fanout.hasPending(Int(membership.subscriber.index))
    }

    static func move(_ queue: inout ByteQueue, _ room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        let count = min(queue.count, room.count - filled)
        guard count > 0 else { return }
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: queue.readable[..<count]))
        queue.consume(count)
        queue.releaseIfEmpty()
        filled += count
    }

    func hasQueued(_ channel: Channel) -> Bool {
        !channel.unfinished.isEmpty || !channel.control.isEmpty
    }

    // MARK: Writing on

    /// Asks to hear when the kernel has room again, only while it has none.
    func armWrite(_ connection: Connection) {
        guard connection.isBlocked != connection.wantsWrite else { return }
        connection.wantsWrite = connection.isBlocked
        watch(connection)
    }

    /// Watches a connection for what it can be worked on for; see ``interest(of:)``.
    func watch(_ connection: Connection) {
        try? selector.modify(connection.descriptor, token: connection.handle.packed, interest: interest(of: connection))
    }

    /// What a connection is watched for: what may not be read now would be told again in every turn.
    func interest(of connection: Connection) -> Interest {
        if connection.isHeld || connection.awaitsHandshake { return connection.isBlocked ? .write : [] }
        return connection.isBlocked ? [.read, .write] : .read
    }

    func writable(_ connection: Connection) {
        let waiting = connection.secure.unsentCount
        do {
            let isEmpty = try connection.secure.flush()
            if connection.secure.unsentCount < waiting { connection.lastProgress = now }
            guard isEmpty else { return }
        } catch {
            close(connection, reason: error.reason)
            return
        }
        armWrite(connection)
        flush(connection)
    }

    /// Bytes wait for the peer, and it has taken none for too long.
    func isStalled(_ channel: Channel) -> Bool {
        guard let connection = channel.connection else { return false }
        if connection.isBlocked || connection.flow.isHeld {
            return now.milliseconds(since: connection.lastProgress) >= limits.stallMillisecondsMax
        }
        guard now.milliseconds(since: channel.lastProgress) >= limits.stallMillisecondsMax else { return false }
        guard case .http2(let session) = connection.phase, let stream = channel.stream else { return false }
        return session.sendCapacity(stream) == 0
    }

    /// Whether a stalled connection's peer has acknowledged nothing of late: one that only does not read still answers the kernel's probes of its window.
    func isUnreachable(_ connection: Connection) -> Bool {
        guard let info = try? TCPInfo.read(connection.descriptor, calls: calls) else { return false }
        return UInt64(info.lastAckMilliseconds) + limits.stallMillisecondsMax / 2 >= now.milliseconds(since: connection.lastProgress)
    }
}
