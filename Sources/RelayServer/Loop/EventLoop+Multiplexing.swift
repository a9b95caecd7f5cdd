import HTTPTransport
import RelayBase
import RelayRooms
import TLSTransport

/// Sending over HTTP/2: which WebSocket of a connection goes next.
///
/// Nothing is queued in the HTTP/2 session beyond one batch, of at most 16 KiB or, where the network is the limit, of one quantum. So what is urgent
/// never waits behind more than that, whichever session it belongs to.
extension EventLoop {
    func flushHTTP2(_ connection: Connection, _ session: HTTP2Session) throws(TransportFault) {
        let contentSent = session.contentBytesSent
        try produceHTTP2(connection, session)
        if session.contentBytesSent != contentSent { connection.lastRequest = now }
        if !connection.isBlocked, !connection.flow.isHeld { connection.lastProgress = now }
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
            let (room, isDone) = fillStreams(connection, session)
            // Frames of the session itself go whatever the window says.
            let more = session.produce(into: &http2Output, upTo: room, now: now)
            if more, room == 0 { connection.flow.isHeld = true }
            guard !http2Output.isEmpty else { break }
            defer { http2Output.removeAll() }
            try unsafe connection.secure.send(http2Output.readable)
            counters.sends &+= 1
            // Mostly that was all, which is seen sooner than by filling once more. An echo may have come meanwhile.
            if isDone, !more, !connection.channels.contains(where: { hasQueued($0.channel) }) { break }
        }
    }

    /// Gives the session a batch: the most urgent of all WebSockets first, those of one urgency in turns.
    ///
    /// - Returns: the batch's bound, 0 when the window is used up; and whether no WebSocket has anything left that could go.
    private func fillStreams(_ connection: Connection, _ session: HTTP2Session) -> (room: Int, isDone: Bool) {
        http2Batch &+= 1
        var room = allowance(connection, isUrgent: false)
        let isReserved = room == 0
        if isReserved { room = allowance(connection, isUrgent: true) }
        var left = room
        var isDone = true
        while let urgency = mostUrgent(connection, session) {
            guard left > 0, !isReserved || urgency.isUrgent else {
                if isReserved || room == 0 { connection.flow.isHeld = true }
                isDone = false
                break
            }
            serve(urgency, connection, session, &left)
        }
        return (isReserved && left == room ? 0 : room, isDone)
    }

    /// The urgency of the most urgent WebSocket that has anything to send and was not found satisfied in this batch.
    private func mostUrgent(_ connection: Connection, _ session: HTTP2Session) -> EgressUrgency? {
        var best: EgressUrgency?
        for (stream, channel) in connection.channels where channel.satisfiedInBatch != http2Batch {
            guard let urgency = urgency(of: channel, client: session.priority(stream).urgency) else {
                satisfied(channel, stream, connection, session)
                continue
            }
            best = min(best ?? urgency, urgency)
        }
        return best
    }

    /// Serves all WebSockets of one urgency in turns, each as far as the batch and its stream's window have room.
    private func serve(_ urgency: EgressUrgency, _ connection: Connection, _ session: HTTP2Session, _ left: inout Int) {
        let count = connection.channels.count
        let turns = connection.turns
        for step in 0..<count {
            guard left > 0 else { return }
            let place = turns.place(step, of: count)
            // An echo may have closed its stream meanwhile.
            guard place < connection.channels.count else { return }
            let (stream, channel) = connection.channels[place]
            guard channel.satisfiedInBatch != http2Batch,
                self.urgency(of: channel, client: session.priority(stream).urgency) == urgency
            else { continue }
            // A stream whose window is shut waits for its peer, and for nobody else: the session tells when it opens.
            let capacity = session.sendCapacity(stream)
            let room = min(capacity, left)
            let filled = room > 0 ? unsafe fill(channel, UnsafeMutableRawBufferPointer(rebasing: egress[..<room]), upTo: urgency.lane) : 0
            guard filled > 0 else {
                if capacity == 0 { channel.satisfiedInBatch = http2Batch } else { satisfied(channel, stream, connection, session) }
                continue
            }
            _ = unsafe session.write(stream, UnsafeRawBufferPointer(rebasing: egress[..<filled]))
            channel.lastProgress = now
            connection.turns.served(place)
            left -= filled
        }
    }

    /// The WebSocket has nothing more to send for now.
    private func satisfied(_ channel: Channel, _ stream: HTTP2StreamID, _ connection: Connection, _ session: HTTP2Session) {
        channel.satisfiedInBatch = http2Batch
        if !hasQueued(channel) { channel.lastProgress = now }
        if channel.purpose == .echo { data(connection, session, stream) }
        if channel.endsAfterFlush, !hasQueued(channel) {
            channel.endsAfterFlush = false
            session.endStream(stream)
        }
    }
}
