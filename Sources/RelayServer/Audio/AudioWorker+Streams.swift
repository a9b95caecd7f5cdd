import RelayBase
import RelayRooms
import Signalling

/// What a worker is asked of single streams: where their frames are to come, and when they end.
extension AudioWorker {
    private static let endMillisecondsMax: UInt64 = 5_000
    private static let mixEndMilliseconds: UInt64 = 500

    func pace(_ order: PaceOrder) {
        guard let stream = addStream(order.room, order.entry) else { return }
        let known = stream.buffers.first { $0.variant == order.variant }
        let buffer = known ?? PacedBuffer(order.variant, stream)
        if known == nil { stream.buffers.append(buffer) }
        let route = PacedBuffer.Route(interest: order.interest, isActive: order.isActive, audio: order.audio)
        if let place = buffer.routes.firstIndex(where: { $0.interest == order.interest }) {
            buffer.routes[place] = route
        } else {
            // A slot is one buffer's: whoever had it before has let go of it.
            for other in stream.buffers { other.routes.removeAll { $0.interest == order.interest } }
            buffer.routes.append(route)
            sendConfiguration(stream, to: order.interest)
            if let reason = buffer.reason { tellUndecodable(stream, order.interest, reason) }
        }
        if !buffer.isActive { buffer.reset() }
        settle(stream)
    }

    func giveUpConcealing(_ buffer: PacedBuffer, _ stream: WorkerStream, _ reason: RelayMessage.UnmixedReason) {
        counters.departed.add(buffer.statistics)
        buffer.giveUpConcealing(reason)
        for route in buffer.routes { tellUndecodable(stream, route.interest, reason) }
    }

    private func tellUndecodable(_ stream: WorkerStream, _ interest: RemoteInterest, _ reason: RelayMessage.UnmixedReason) {
        post(.audioNews(.undecodable(stream.room, stream: stream.id, slot: interest.slot, reason)), to: interest.loop)
    }

    func tellReady(_ room: RoomNumber, _ id: UInt32, _ interest: RemoteInterest) {
        guard let buffer = stream(room, id)?.buffers.first(where: { $0.routes.contains { $0.interest == interest } }) else { return }
        let waiting = buffer.waiting
        post(
            .audioNews(.ready(room, stream: id, slot: interest.slot, frames: waiting.frames, milliseconds: waiting.milliseconds)), to: interest.loop)
    }

    func unpace(_ room: RoomNumber, _ id: UInt32, _ interest: RemoteInterest) {
        guard let stream = stream(room, id) else { return }
        for buffer in stream.buffers { buffer.routes.removeAll { $0.interest == interest } }
        settle(stream)
    }

    func reset(_ room: RoomNumber, _ id: UInt32) {
        guard let stream = stream(room, id) else { return }
        for buffer in stream.buffers { buffer.reset() }
        resetMixed(stream)
    }

    func end(_ room: RoomNumber, _ id: UInt32) {
        guard let stream = stream(room, id), stream.endsBy == nil else { return }
        stream.endsBy = now.advanced(byMilliseconds: AudioWorker.endMillisecondsMax)
        ending.append(stream.handle)
    }

    func finishEnded() {
        guard !ending.isEmpty else { return }
        ending.removeAll { handle in
            guard let stream = streams[handle], let endsBy = stream.endsBy else { return true }
            // What a mix holds of it is heard in half a second at most.
            let isHeard = !stream.isMixed || endsBy.milliseconds(since: now) <= AudioWorker.endMillisecondsMax - AudioWorker.mixEndMilliseconds
            guard now >= endsBy || stream.buffers.allSatisfy({ $0.isEmpty }) && isHeard else { return false }
            for buffer in stream.buffers {
                for route in buffer.routes {
                    post(.audioNews(.paceEnded(stream.room, stream: stream.id, slot: route.interest.slot)), to: route.interest.loop)
                }
                buffer.routes = []
            }
            unmixInput(stream)
            settle(stream)
            return true
        }
    }

    func forget(_ room: RoomNumber, _ loop: Int) {
        for stream in live where stream.room == room {
            for buffer in stream.buffers { buffer.routes.removeAll { $0.interest.loop == loop } }
            settle(stream)
        }
        forgetMix(room, loop)
    }

    /// Lets go of buffers and of a stream that nobody needs, and tells the publisher's loop what is wanted.
    func settle(_ stream: WorkerStream) {
        stream.buffers.removeAll { buffer in
            guard buffer.routes.isEmpty else { return false }
            counters.departed.add(buffer.statistics)
            return true
        }
        let mixed = isHeardInMix(stream) ? stream.mix?.audio : nil
        let isWanted = stream.endsBy == nil && (stream.isPaced || mixed != nil)
        let audio = isWanted ? mixed?.union(stream.pacedAudio) ?? stream.pacedAudio : nil
        if isWanted != stream.asked.isWanted || audio != stream.asked.audio {
            stream.asked = (isWanted, audio)
            var layers = LayerSet()
            if isWanted { layers[0] = 0 }
            let interest = RemoteInterest(loop: index, room: stream.handle, slot: StreamSlot(0))
            post(
                .interest(
                    stream.room, stream: stream.id, interest, layers: layers, audio: audio, isWanted: isWanted,
                    imported: isWanted && stream.entry.imported != nil ? stream.entry : nil),
                to: stream.entry.address.loop)
        }
        guard stream.buffers.isEmpty, !stream.isMixed else { return }
        handles[StreamKey(room: stream.room, stream: stream.id)] = nil
        _ = streams.remove(stream.handle)
        live.removeAll { $0 === stream }
    }
}
