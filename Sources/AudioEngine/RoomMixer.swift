package import JitterBuffer
package import MediaProtocol
internal import RelayBase

/// Mixes what is said in a room: everybody hears everybody but himself, and what is common to many is encoded once.
///
/// Each input goes through a jitter buffer of its own, so that senders' clocks do not matter. A ``tick(now:)`` takes 10 or 20 ms of each, chooses the loudest, adds them up, and encodes one
/// mix for all who are not among them (of each format) and one for each who is, or has gains of his own. All packets of a tick have the same ``sequence`` and ``timestamp``, so that
/// a listener may go from one encoder to another between any two: the one he goes to begins anew at that packet (without prediction, and with what was heard before).
///
/// One owner at a time; ``tick(now:)`` and ``insert(header:payload:packetTable:input:now:)`` allocate nothing. What comes from peers makes no trap: it is refused, or is silence.
package struct RoomMixer: ~Copyable {
    package let configuration: MixerConfiguration
    var inputs: UniqueTable<MixerInput>
    var inputPlaces = SortedPlaces()
    var selection: SpeakerSelection
    var outputs: [MixOutput] = []
    var classes: UniqueTable<MixClass>
    var packets: PacketSlots
    /// Who is heard in this tick; of the last one between ticks.
    var contributions: [MixContribution] = []
    var speakersNow: [MixSpeaker] = []
    /// Samples per channel that have been mixed.
    var clock: UInt64 = 0
    var ticks: UInt64 = 0

    /// Of the packets of the last tick: one more with each.
    package internal(set) var sequence: UInt32
    /// Of their first sample, in 1/48,000 s.
    package internal(set) var timestamp: UInt32
    /// Packets encoded since the mixer was made, and such as were encoded only to begin with.
    package internal(set) var encodesTotal: UInt64 = 0
    package internal(set) var warmUpsTotal: UInt64 = 0

    /// Brings what is out of bounds within them.
    package init(_ configuration: MixerConfiguration) {
        var configuration = configuration
        configuration.tickMilliseconds = configuration.tickMilliseconds <= 10 ? 10 : 20
        if !AudioBandwidth.sampleRates.contains(configuration.sampleRate) { configuration.sampleRate = 48_000 }
        configuration.speakersMax = configuration.speakersMax.clamped(to: 1...64)
        configuration.inputsMax = configuration.inputsMax.clamped(to: 1...100_000)
        configuration.outputsMax = configuration.outputsMax.clamped(to: 1...100_000)
        configuration.formatsMax = configuration.formatsMax.clamped(to: 1...1_000)
        configuration.complexity = configuration.complexity.clamped(to: 0...4)
        self.configuration = configuration
        // An input that was removed lives on for a tick, while it fades.
        inputs = UniqueTable(capacityMax: 2 * configuration.inputsMax)
        selection = SpeakerSelection(speakersMax: configuration.speakersMax)
        classes = UniqueTable(capacityMax: configuration.formatsMax)
        packets = PacketSlots()
        var random = SeededGenerator(seed: configuration.seed)
        sequence = UInt32.random(in: .min ... .max, using: &random)
        timestamp = UInt32.random(in: .min ... .max, using: &random)
        contributions.reserveCapacity(2 * configuration.speakersMax + 2)
        speakersNow.reserveCapacity(2 * configuration.speakersMax + 2)
    }

    // MARK: What the last tick made

    /// How many packets.
    package var encodeCount: Int { packets.count }

    /// The bytes of one of them, valid until the mixer is changed; none where the encoder failed.
    ///
    /// - Precondition: `place` is within 0..<`encodeCount`.
    @_lifetime(borrow self)
    package func encoded(_ place: Int) -> RawSpan { packets.bytes(place) }

    package func packet(_ place: Int) -> MixedPacket { packets[place] }

    /// Which of them an output gets; `nil` for one that there is not, or that came after the tick.
    package func encode(of output: UInt32) -> Int? {
        guard let index = outputIndex(output) else { return nil }
        return outputs[index].place
    }

    /// Who is heard, loudest or not.
    package var speakers: [MixSpeaker] { speakersNow }

    // MARK: What inputs are like

    package var inputCount: Int { inputPlaces.count }
    package var outputCount: Int { outputs.count }
    /// Formats that outputs have.
    package var formatCount: Int { classes.count }

    package func statistics(of input: UInt32) -> JitterStatistics? {
        guard let place = inputPlaces[input] else { return nil }
        return inputs[place].buffer.statistics
    }

    /// Where in its publisher's time, in 1/48,000 s, the next tick's sound of an input begins, as far as that is known: what was lost or is stretched comes a little off.
    package func nextTimestamp(of input: UInt32) -> UInt32? {
        guard let place = inputPlaces[input], let played = inputs[place].playedTimestamp else { return nil }
        return played &+ UInt32(MediaTimescale.audio.ticksPerSecond / 100)
    }

    /// As loud as it was in the last tick, whether it is heard or not.
    package func level(of input: UInt32) -> AudioLevel? {
        guard let place = inputPlaces[input] else { return nil }
        return inputs[place].level.audioLevel
    }

}

/// Places by number: looked up by bisection, so that nothing is hashed for a frame.
struct SortedPlaces {
    private var entries: [(id: UInt32, place: Int)] = []

    var count: Int { entries.count }

    private func index(of id: UInt32) -> Int {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if entries[middle].id < id { range = middle + 1..<range.upperBound } else { range = range.lowerBound..<middle }
        }
        return range.lowerBound
    }

    subscript(id: UInt32) -> Int? {
        let index = index(of: id)
        return index < entries.count && entries[index].id == id ? entries[index].place : nil
    }

    /// - Precondition: the number is not there.
    mutating func insert(_ id: UInt32, place: Int) { entries.insert((id, place), at: index(of: id)) }

    mutating func remove(_ id: UInt32) -> Int? {
        let index = index(of: id)
        guard index < entries.count, entries[index].id == id else { return nil }
        return entries.remove(at: index).place
    }
}

/// The packets of a tick: slots of one size, made before they are needed.
@safe
struct PacketSlots: ~Copyable {
    static let slotBytes = OpusFrameEncoder.packetBytesMax

    private var block = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)
    private var packets: [MixedPacket] = []

    deinit { unsafe block.deallocate() }

    var count: Int { packets.count }

    subscript(place: Int) -> MixedPacket { packets[place] }

    @_lifetime(borrow self)
    func bytes(_ place: Int) -> RawSpan {
        let start = place * Self.slotBytes
        let span = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: block[start..<start + packets[place].byteCount]))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Room for so many, and one more to throw away. What was there goes.
    mutating func reserve(_ count: Int) {
        let bytes = (count + 1) * Self.slotBytes
        guard unsafe block.count < bytes else { return }
        unsafe block.deallocate()
        unsafe block = .allocate(byteCount: bytes * 3 / 2, alignment: 16)
        packets.removeAll()
        unsafe packets.reserveCapacity(block.count / Self.slotBytes)
    }

    mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

    /// The room of the next packet.
    @_lifetime(&self)
    mutating func next() -> MutableRawSpan {
        let start = packets.count * Self.slotBytes
        let span = unsafe MutableRawSpan(_unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: block[start..<start + Self.slotBytes]))
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    /// - Returns: its place.
    mutating func append(_ packet: MixedPacket) -> Int {
        packets.append(packet)
        return packets.count - 1
    }
}
