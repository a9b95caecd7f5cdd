package import JitterBuffer
package import MediaProtocol
package import RelayBase

extension RoomMixer {
    /// Longer packets of samples are taken in pieces: a frame may play up to a second.
    private static var piecesPerSecond: Int { 20 }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - id: the stream's number.
    ///   - participant: whose it is: his own outputs go without it.
    ///   - isMeasurement: its buffer neither stretches nor makes comfort noise.
    /// - Throws: `unsupportedCodec`, `sampleRate`, `channels`, `limit`, `taken`.
    package mutating func addInput(
        _ id: UInt32, participant: UInt32, _ description: AudioStreamDescription, profile: JitterProfile = .balanced, isMeasurement: Bool = false
    ) throws(AudioFault) {
        guard inputPlaces[id] == nil else { throw .taken }
        guard inputPlaces.count < configuration.inputsMax else { throw .limit }
        let input = try MixerInput(
            id: id, participant: participant, description, profile: profile, isMeasurement: isMeasurement, mixer: configuration)
        guard let handle = inputs.insert(input) else { throw .limit }
        let place = Int(handle.index)
        inputPlaces.insert(id, place: place)
        selection.add(place)
    }

    /// Takes a stream out. If it is heard, it fades within the next tick; its number is free at once.
    package mutating func removeInput(_ id: UInt32) {
        guard let place = inputPlaces.remove(id) else { return }
        selection.remove(place)
        inputs[place].isLeaving = true
        for index in outputs.indices { outputs[index].removeGain(of: id) }
    }

    /// What its buffer has is dropped: the stream was interrupted. If it is heard, it fades within the next tick.
    package mutating func resetInput(_ id: UInt32) {
        guard let place = inputPlaces[id] else { return }
        inputs[place].buffer.reset()
        selection.silence(place)
    }

    /// Changes what its buffer aims at.
    package mutating func configureInput(_ id: UInt32, profile: JitterProfile, isMeasurement: Bool, pinnedDelayMilliseconds: Int? = nil) {
        guard let place = inputPlaces[id] else { return }
        var configuration = inputs[place].buffer.configuration
        configuration.profile = profile
        configuration.isMeasurement = isMeasurement
        configuration.pinnedDelayMilliseconds = pinnedDelayMilliseconds
        inputs[place].buffer.configure(configuration)
    }

    /// Takes a frame of a stream.
    ///
    /// - Parameters:
    ///   - payload: what follows header and extensions.
    ///   - packetTable: `nil` when the frame is one packet.
    /// - Returns: what became of its first packet that was not simply stored; `nil` when there is no such input.
    package mutating func insert(
        header: MediaHeader, payload: RawSpan, packetTable: PacketTable? = nil, input id: UInt32, now: MonotonicInstant
    ) -> InsertOutcome? {
        guard let place = inputPlaces[id] else { return nil }
        guard header.kind == .audio, !header.flags.contains(.encrypted) else { return .malformed }
        let bytesPerFrame = inputs[place].bytesPerFrame
        let rate = inputs[place].inputRate
        let pieceBytes = max(rate / Self.piecesPerSecond, 1) * bytesPerFrame
        guard packetTable == nil, bytesPerFrame > 0, payload.byteCount > 2 * pieceBytes else {
            return inputs[place].buffer.insertFrame(header: header, payload: payload, packetTable: packetTable, now: now)
        }
        guard payload.byteCount <= rate * bytesPerFrame else { return .malformed }
        var packet = JitterPacket(header)
        var outcome = InsertOutcome.stored
        var start = 0
        while start < payload.byteCount {
            let end = min(start + pieceBytes, payload.byteCount)
            packet.timestamp = header.timestamp &+ UInt32(truncatingIfNeeded: start / bytesPerFrame * Self.ticksPerSecond / rate)
            let became = inputs[place].buffer.insert(packet, payload: payload.extracting(start..<end), now: now)
            if outcome == .stored { outcome = became }
            packet.isDiscontinuity = false
            start = end
        }
        return outcome
    }

    /// Takes a whole frame as it came: header, extensions, payload.
    package mutating func insert(frame: RawSpan, input id: UInt32, now: MonotonicInstant) -> InsertOutcome? {
        guard let header = try? MediaHeader(parsing: frame), let extensions = try? MediaExtensions(frame: frame, flags: header.flags) else {
            return inputPlaces[id] == nil ? nil : .malformed
        }
        return insert(header: header, payload: extensions.payload(of: frame), packetTable: extensions.table(of: frame), input: id, now: now)
    }

    static var ticksPerSecond: Int { Int(MediaTimescale.audio.ticksPerSecond) }
}
