package import MediaProtocol
package import RelayBase

extension AudioJitterBuffer where Decoder: ~Copyable {
    /// Takes a packet. Of several with the same sequence number, as of one frame, each has its own timestamp.
    package mutating func insert(_ packet: JitterPacket, payload: RawSpan, now: MonotonicInstant) -> InsertOutcome {
        counters.packetsInserted &+= 1
        let samples = min(decoder.sampleCount(of: payload), packetCountMax)
        guard samples > 0 || packet.isSilence else { return malformed() }
        let now = now.microseconds
        guard let place = timeline.place(packet, arrival: now, reference: arrivals.reference, endTicks: store.last?.endTicks ?? endTicks) else {
            return late()
        }
        var stored = StoredPacket(
            sequence: packet.sequence, ticks: place.ticks, durationTicks: scale.ticks(samples: max(samples, 0)), arrival: now)
        stored.isDiscontinuity = place.isBeginning
        stored.isSilence = packet.isSilence
        if !isWaiting, !place.isBeginning, stored.ticks < endTicks, stored.endTicks <= endTicks {
            if history.contains(sequence: packet.sequence, ticks: stored.ticks) { return duplicate() }
            observe(stored)
            return late()
        }
        switch store.insert(stored, payload: payload) {
        case .duplicate: return duplicate()
        case .tooLarge: return malformed()
        case .stored(let flushed):
            observe(stored)
            guard flushed > 0 else { return .stored }
            counters.discarded &+= UInt64(flushed)
            return .storedFlushingOldest
        }
    }

    /// Longer packets of samples are taken in pieces: a frame may play up to a second.
    private static var piecesPerSecond: Int { 20 }

    /// Takes a whole frame, with as many packets as its table says; one of samples may be longer than a packet.
    ///
    /// - Parameters:
    ///   - payload: what the table's offsets count in.
    ///   - packetTable: `nil` when the frame is one packet.
    /// - Returns: what became of the first packet that was not simply stored.
    package mutating func insertFrame(
        header: MediaHeader, payload: RawSpan, packetTable: PacketTable? = nil, now: MonotonicInstant
    ) -> InsertOutcome {
        var packet = JitterPacket(header)
        guard let packetTable else { return insertSamples(packet, payload: payload, now: now) }
        var outcome = InsertOutcome.stored
        var bytes = 0
        for index in 0..<packetTable.count {
            let description = packetTable[index]
            // A table whose entries lie over one another would make much of little.
            guard let range = description.range(payloadByteCount: payload.byteCount), bytes + range.count <= payload.byteCount else {
                counters.packetsInserted &+= 1
                return malformed()
            }
            bytes += range.count
            let part = payload.extracting(range)
            let became = insert(packet, payload: part, now: now)
            if outcome == .stored { outcome = became }
            let frames = description.variableFramesInPacket > 0 ? Int(clamping: description.variableFramesInPacket) : decoder.sampleCount(of: part)
            packet.timestamp &+= UInt32(truncatingIfNeeded: scale.ticks(samples: min(max(frames, 0), packetCountMax)))
            packet.isDiscontinuity = false
        }
        return outcome
    }

    private mutating func insertSamples(_ first: JitterPacket, payload: RawSpan, now: MonotonicInstant) -> InsertOutcome {
        guard let samples = decoder.samples else { return insert(first, payload: payload, now: now) }
        let pieceBytes = max(samples.perSecond / Self.piecesPerSecond, 1) * samples.byteCount
        guard payload.byteCount > 2 * pieceBytes else { return insert(first, payload: payload, now: now) }
        guard payload.byteCount <= samples.perSecond * samples.byteCount else {
            counters.packetsInserted &+= 1
            return malformed()
        }
        var packet = first
        var outcome = InsertOutcome.stored
        var start = 0
        while start < payload.byteCount {
            let end = min(start + pieceBytes, payload.byteCount)
            packet.timestamp = first.timestamp &+ UInt32(truncatingIfNeeded: start / samples.byteCount * configuration.timescale / samples.perSecond)
            let became = insert(packet, payload: payload.extracting(start..<end), now: now)
            if outcome == .stored { outcome = became }
            packet.isDiscontinuity = false
            start = end
        }
        return outcome
    }

    private mutating func observe(_ packet: StoredPacket) {
        let delay = arrivals.observe(media: scale.microseconds(packet.ticks), arrival: packet.arrival)
        if arrivals.step > 0 { target.referenceRose(by: arrivals.step) }
        target.observe(
            delay: delay, recent: arrivals.recent, gap: arrivals.gap, duration: scale.microseconds(packet.durationTicks), arrival: packet.arrival)
    }

    private mutating func malformed() -> InsertOutcome {
        counters.malformed &+= 1
        return .malformed
    }

    private mutating func duplicate() -> InsertOutcome {
        counters.duplicates &+= 1
        return .duplicate
    }

    private mutating func late() -> InsertOutcome {
        counters.late &+= 1
        return .late
    }
}
