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
        var place = 0
        while place < dirtyRooms.count {
            let room = dirtyRooms[place]
            place += 1
            room.isDirty = false
            requestKeyFrames(room)
            for subscriber in 0..<room.fanout.subscribers.endIndex {
                guard room.fanout.subscribers.isLive(subscriber), room.fanout.hasPending(subscriber),
                    let connection = channels[Handle(packed: room.fanout.subscribers[subscriber].token)]?.connection
                else { continue }
                flush(connection)
            }
        }
        dirtyRooms.removeAll(keepingCapacity: true)
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

    /// Sends what a connection is due until there is nothing left or the kernel is full.
    func flush(_ connection: Connection) {
        guard connections.contains(connection.handle), !connection.isBlocked else { return }
        do {
            switch connection.phase {
            case .proxyHeader, .preface, .handshaking: return
            case .http1: try flushOutbound(connection)
            case .webSocket(let channel): try flushWebSocket(connection, channel)
            case .http2(let session): try flushHTTP2(connection, session)
            case .closing: break
            }
            armWrite(connection)
            if connection.closesAfterOutbound, !connection.isBlocked { try finish(connection) }
        } catch {
            close(connection, reason: error.reason)
        }
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

    private func flushWebSocket(_ connection: Connection, _ channel: Channel) throws(TransportFault) {
        try flushOutbound(connection)
        while !connection.isBlocked {
            let count = unsafe fill(channel, egress)
            guard count > 0 else { break }
            try unsafe connection.secure.send(UnsafeRawBufferPointer(rebasing: egress[..<count]))
            counters.sends &+= 1
        }
        if !connection.isBlocked { connection.lastProgress = now }
        if channel.endsAfterFlush, !hasQueued(channel), !connection.isBlocked {
            connection.closeReason = connection.closeReason ?? channel.closeReason
            closeAfterFlush(connection, reason: "closed")
        }
    }

    /// Writes what a WebSocket is due into `room`: the rest of a begun message, control, media.
    private func fill(_ channel: Channel, _ room: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        unsafe EventLoop.move(&channel.unfinished, room, &filled)
        guard channel.unfinished.isEmpty else { return filled }
        guard let membership = channel.membership else {
            unsafe EventLoop.move(&channel.control, room, &filled)
            return filled
        }
        let subscriber = Int(membership.subscriber.index)
        if !membership.room.fanout.subscribers[subscriber].isMidMessage {
            unsafe EventLoop.move(&channel.control, room, &filled)
            // A control message that was begun must be finished before a media message begins.
            guard channel.control.isEmpty else { return filled }
        }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...])
        guard rest.count > 0 else { return filled }
        let media = unsafe membership.room.fanout.pull(subscriber, into: rest, now: now)
        counters.mediaBytesOut &+= UInt64(media)
        return filled + media
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

    private func hasQueued(_ channel: Channel) -> Bool {
        !channel.unfinished.isEmpty || !channel.control.isEmpty
    }

    // MARK: HTTP/2

    private func flushHTTP2(_ connection: Connection, _ session: HTTP2Session) throws(TransportFault) {
        try produceHTTP2(connection, session)
        if !connection.isBlocked { connection.lastProgress = now }
        // Producing may have closed streams; behind requests that wait, those wait as well.
        while !connection.requestShare.isWaiting, let event = session.nextEvent() {
            if case .streamClosed(let id, let code) = event { streamClosed(connection, session, id, code) }
        }
        if connection.endsWithChannels, connection.channels.isEmpty, !connection.closesAfterOutbound {
            session.goAway(.noError)
            try produceHTTP2(connection, session)
            closeAfterFlush(connection, reason: "untrusted")
        }
        if session.isFinished, !connection.isBlocked { closeAfterFlush(connection, reason: connection.closeReason ?? "http2_finished") }
    }

    private func produceHTTP2(_ connection: Connection, _ session: HTTP2Session) throws(TransportFault) {
        while !connection.isBlocked {
            for (stream, channel) in connection.channels { flushHTTP2Channel(session, channel, stream) }
            _ = session.produce(into: &http2Output, upTo: EventLoop.egressBytes, now: now)
            guard !http2Output.isEmpty else { break }
            defer { http2Output.removeAll() }
            try unsafe connection.secure.send(http2Output.readable)
            counters.sends &+= 1
        }
    }

    /// Gives a stream as much as flow control lets out at once, so that what waits can still be dropped when it grows old.
    func flushHTTP2Channel(_ session: HTTP2Session, _ channel: Channel, _ stream: HTTP2StreamID) {
        while true {
            let capacity = min(session.sendCapacity(stream), EventLoop.egressBytes)
            guard capacity > 0, session.queuedCount(stream) < EventLoop.egressBytes else { break }
            let count = unsafe fill(channel, UnsafeMutableRawBufferPointer(rebasing: egress[..<capacity]))
            if count > 0 || !hasQueued(channel) { channel.lastProgress = now }
            guard count > 0 else { break }
            _ = unsafe session.write(stream, UnsafeRawBufferPointer(rebasing: egress[..<count]))
        }
        if channel.purpose == .echo, let connection = channel.connection { data(connection, session, stream) }
        if channel.endsAfterFlush, !hasQueued(channel) {
            channel.endsAfterFlush = false
            session.endStream(stream)
        }
    }

    // MARK: Writing on

    /// Asks to hear when the kernel has room again, only while it has none.
    func armWrite(_ connection: Connection) {
        guard connection.isBlocked != connection.wantsWrite else { return }
        connection.wantsWrite = connection.isBlocked
        try? selector.modify(connection.descriptor, token: connection.handle.packed, interest: connection.isBlocked ? [.read, .write] : .read)
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
        if connection.isBlocked { return now.milliseconds(since: connection.lastProgress) >= limits.stallMillisecondsMax }
        guard now.milliseconds(since: channel.lastProgress) >= limits.stallMillisecondsMax else { return false }
        guard case .http2(let session) = connection.phase, let stream = channel.stream else { return false }
        return session.sendCapacity(stream) == 0
    }
}
