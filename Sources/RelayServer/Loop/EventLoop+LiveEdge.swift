import RelayBase
import RelayRooms
import TLSTransport

/// The end of a turn for one room's subscribers. Nearly all of them are due the newest messages of the room's log and nothing else: that is one record, sealed
/// straight from the log, and one send each. Everybody else goes the way of ``EventLoop/flush(_:)``.
extension EventLoop {
    func flushSubscribers(of room: LocalRoom) {
        room.noteFlush()
        for subscriber in 0..<room.fanout.subscribers.endIndex {
            guard room.fanout.subscribers.isLive(subscriber) else { continue }
            let run = room.fanout.liveRun(subscriber, now: now)
            guard run != nil || room.fanout.hasPending(subscriber),
                let channel = channels[Handle(packed: room.fanout.subscribers[subscriber].token)], let connection = channel.connection
            else { continue }
            if let run, mayGoStraight(run, channel, connection) {
                work.flushed()
                sendStraight(run, to: subscriber, of: room, channel, connection)
                continue
            }
            if channel.wishes.bundleNanoseconds > 0, holds(channel, room, subscriber) { continue }
            flush(connection)
        }
    }

    /// Whether a run may be sealed and sent as it is: the connection carries this WebSocket alone, has nothing else to say, and its window takes all of it.
    private func mayGoStraight(_ run: RoomFanout.LiveRun, _ channel: Channel, _ connection: Connection) -> Bool {
        guard case .webSocket = connection.phase, channel.control.isEmpty, channel.unfinished.isEmpty, channel.paddingBytes == 0,
            !channel.endsAfterFlush, channel.listening == nil, connection.outbound.isEmpty, !connection.closesAfterOutbound, !connection.isBlocked
        else { return false }
        return run.byteCount <= connection.flow.allowance(sealed: connection.secure.sealedBytes, isUrgent: false)
    }

    private func sendStraight(_ run: RoomFanout.LiveRun, to subscriber: Int, of room: LocalRoom, _ channel: Channel, _ connection: Connection) {
        room.fanout.took(subscriber, run)
        do {
            try unsafe connection.secure.send(room.fanout.bytes(of: run))
        } catch {
            close(connection, reason: error.reason)
            return
        }
        counters.sends &+= 1
        counters.mediaBytesOut &+= UInt64(run.byteCount)
        channel.liveness.lastSaid = now
        connection.flow.isHeld = false
        guard connection.isBlocked || connection.flow.needsFollowing(now) else {
            connection.lastProgress = now
            return
        }
        if !connection.isBlocked { connection.lastProgress = now }
        armWrite(connection)
        followFlow(connection, hasSealed: true)
    }
}
