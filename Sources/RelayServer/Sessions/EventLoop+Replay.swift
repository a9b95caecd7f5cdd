import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

// What a resumed session's client has missed: served again as far as it can be, and the rest said exactly, before the stream's next frame.
extension EventLoop {
    /// Goes back in each subscribed stream to what the client has, as far as that is still here and of use.
    ///
    /// - Parameter received: `nil`: the client does not say; every stream goes on where it was.
    /// - Returns: what the client will never get. Where that is not known before the next key frame, ``LocalRoom/openGaps`` remembers it.
    func replay(_ channel: Channel, _ received: [ClientRequest.ReceivedFrame]?) -> [RelayMessage.StreamGap] {
        guard let membership = channel.membership, let received else { return [] }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        room.openGaps.removeAll { $0.channel == channel.handle }
        var gaps: [RelayMessage.StreamGap] = []
        for slot in room.fanout.subscribed(subscriber) {
            guard room.fanout.isOpen(slot) else {
                // The client is told that it has ended; the rest of it would begin somewhere.
                room.fanout.unsubscribe(subscriber, slot)
                continue
            }
            let id = room.fanout.streams[slot.index].id
            let last = received.last { $0.stream == id }
            let mark = last.map { ReceivedMark(sequence: $0.sequence, timestamp: $0.timestamp) }
            let layer = last?.layer ?? 0
            let measure = room.fanout.rewind(subscriber, slot, after: mark, layer: layer, now: now)
            if measure.isOpen {
                if let mark { room.openGaps.append(OpenGap(channel: channel.handle, slot: slot, stream: id, layer: layer, mark: mark)) }
            } else if measure.frames > 0 {
                gaps.append(room.gap(slot, measure))
            }
        }
        return gaps
    }

    /// A key frame was appended, whose header begins `frame`: whoever waited for it hears first what it has missed.
    func closeGaps(_ room: LocalRoom, _ slot: StreamSlot, _ frame: UnsafeRawBufferPointer) {
        guard let header = try? unsafe MediaHeader(parsing: frame) else { return }
        let next = ReceivedMark(sequence: header.sequence, timestamp: header.timestamp)
        room.openGaps.removeAll { gap in
            guard gap.slot == slot, gap.stream == header.stream.rawValue else { return false }
            guard let channel = channels[gap.channel], let membership = channel.membership, membership.room === room else { return true }
            guard room.fanout.awaitsNewest(Int(membership.subscriber.index), slot) else { return false }
            // Numbers count each layer's frames apart: of another layer than the client had, they say nothing of what it has missed.
            guard Int(header.layer.spatial) == gap.layer else { return true }
            let measure = room.fanout.gap(Int(membership.subscriber.index), slot, from: gap.mark, to: next)
            if measure.frames > 0 { send(channel, .streamGap(room.gap(slot, measure))) }
            return true
        }
    }
}

/// A resumed session waits for a key frame; only that frame says how much was missed.
struct OpenGap {
    let channel: Handle
    let slot: StreamSlot
    let stream: UInt32
    /// The last frame that the client has, and the spatial layer that it is of.
    let layer: Int
    let mark: ReceivedMark
}

extension LocalRoom {
    fileprivate func gap(_ slot: StreamSlot, _ measure: StreamGapMeasure) -> RelayMessage.StreamGap {
        let info = routes[slot.index].entry.info
        return RelayMessage.StreamGap(
            stream: info.stream, frames: measure.frames, milliseconds: Double(measure.ticks) * 1_000 / Double(info.ticksPerSecond))
    }
}

extension RelayMessage.StreamInfo {
    /// Of its frames' timestamps (protocol document, `description`).
    var ticksPerSecond: Int {
        if let timescale = description?.timescale { return max(1, timescale) }
        return switch kind {
        case .audio: 48_000
        case .video: 90_000
        case .data: 1_000_000
        }
    }
}
