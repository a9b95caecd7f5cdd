package import JitterBuffer
package import MediaProtocol
package import RelayBase

extension RoomMixer {
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
        return inputs[place].buffer.insertFrame(header: header, payload: payload, packetTable: packetTable, now: now)
    }

    static var ticksPerSecond: Int { Int(MediaTimescale.audio.ticksPerSecond) }
}
