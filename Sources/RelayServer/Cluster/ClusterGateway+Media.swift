import ClusterProtocol
import MediaProtocol
import NATSTransport
import Reactor
import RelayBase
import RelayRooms

/// Media on its way to and from other nodes.
struct GatewayMedia {
    /// By node: what goes there at the end of the turn.
    var batches: [Int: MediaBatch] = [:]
    /// Nodes whose batch has something.
    var due: [Int] = []
}

extension ClusterGateway {
    /// Takes what loops have for other nodes; each frame is in it once for each node that wants it.
    func drainRings() {
        for sender in 0..<shared.loops {
            let ring = shared.rings[sender][index]
            repeat {
                while let record = unsafe ring.peek() {
                    unsafe batch(record)
                    ring.release()
                }
            } while !ring.consumerMayWait()
        }
    }

    private func batch(_ record: UnsafeRawBufferPointer) {
        var header = unsafe RingRecord(reading: record)
        let place = header.takePlace()
        let node = LoopPlace.node(of: place)
        let loop = UInt32(LoopPlace.loop(of: place))
        counters.framesOut &+= 1
        if unsafe !(media.batches[node, default: MediaBatch()].append(record, loop: loop)) {
            send(batchOf: node)
            _ = unsafe media.batches[node, default: MediaBatch()].append(record, loop: loop)
        }
        if !media.due.contains(node) { media.due.append(node) }
    }

    func sendMedia() {
        for node in media.due { send(batchOf: node) }
        media.due.removeAll(keepingCapacity: true)
    }

    private func send(batchOf node: Int) {
        guard let batch = media.batches[node], !batch.isEmpty else { return }
        defer { media.batches[node]?.removeAll() }
        guard membership.isConnected, mayBeAlive(node) else { return counters.lost("media_unreachable") }
        switch nats.publish(subjects.media(of: node), batch.bytes) {
        case .sent:
            counters.mediaBytesOut &+= UInt64(batch.bytes.count)
            counters.mediaBatchesOut &+= 1
        case .notConnected, .full: counters.lost("media_not_sent")
        case .tooLarge: counters.lost("media_too_large")
        }
    }

    /// Frames of other nodes' publishers, each for the loop here that gets its stream for all.
    func receiveMedia(_ payload: [UInt8]) {
        counters.mediaBytesIn &+= UInt64(payload.count)
        let isWhole = unsafe payload.withUnsafeBytes { bytes in
            unsafe MediaBatch.read(bytes) { loop, record in
                guard loop < shared.loops, record.count > RingRecord.headerBytes else { return counters.lost("media_malformed") }
                var header = unsafe RingRecord(reading: record)
                _ = header.takePlace()
                let frame = unsafe UnsafeRawBufferPointer(rebasing: record[RingRecord.headerBytes...])
                guard let media = try? unsafe MediaFrame.validate(frame, limits: shared.limits), header.agrees(with: media) else {
                    return counters.lost("media_malformed")
                }
                counters.framesIn &+= 1
                if unsafe !write(header, frame, to: loop) { counters.lost("media_ring_full") }
            }
        }
        if !isWhole { counters.lost("media_malformed") }
    }
}

extension RingRecord {
    /// What the record says of a frame has to be what the frame says.
    func agrees(with frame: MediaFrame) -> Bool {
        traits.spatial < LayerChoice.layersMax && traits.temporal < LayerChoice.layersMax
            && traits.contains(.configuration) == (frame.header.kind == .configuration)
            && traits.contains(.key) == (frame.header.flags.contains(.key) && frame.header.kind != .configuration)
    }
}
