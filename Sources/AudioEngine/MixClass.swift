internal import RelayBase

/// Somebody who is heard in this tick, and how.
@safe
struct MixContribution {
    let input: UInt32
    let participant: UInt32
    /// The window's samples, valid during the tick.
    let window: UnsafePointer<Float>
    let channels: Int
    let gain: Float
    let gainNext: Float
    let level: MeasuredLevel
}

/// All outputs of one format: their shared mix and its encoder, and encoders for those who hear another mix.
struct MixClass: ~Copyable {
    let format: MixFormat
    /// Outputs that have this format.
    var outputCount = 0
    /// Of these, how many hear the shared mix in this tick.
    var sharedCount = 0
    private(set) var shared: MixLane
    private(set) var own: UniqueTable<MixLane>
    /// Places of `own` that nobody uses.
    private var free: [Int] = []
    /// Limited; until the mix of a tick is made, that of the tick before.
    private var sharedMix: SampleBlock
    private var ownMix: SampleBlock
    private var gains: SampleBlock
    private let sampleCount: Int
    private let frameCount: Int
    private let fadeCount: Int

    init(_ format: MixFormat, _ mixer: MixerConfiguration) throws(AudioFault) {
        let lane = try MixLane(format, mixer)
        self.format = format
        shared = lane
        own = UniqueTable(capacityMax: mixer.outputsMax)
        frameCount = mixer.sampleRate * mixer.tickMilliseconds / 1_000
        fadeCount = mixer.sampleRate / 200
        sampleCount = frameCount * format.channels
        sharedMix = SampleBlock(count: sampleCount)
        ownMix = SampleBlock(count: sampleCount)
        gains = SampleBlock(count: frameCount)
    }

    // MARK: Encoders of single outputs

    /// How many encoders there are for single outputs, used or not.
    var ownCount: Int { own.count }
    var freeCount: Int { free.count }

    /// Makes another encoder for a single output.
    mutating func addOwn(_ mixer: MixerConfiguration) throws(AudioFault) {
        guard let handle = own.insert(try MixLane(format, mixer)) else { throw .limit }
        free.reserveCapacity(own.count)
        free.append(Int(handle.index))
    }

    /// Takes an encoder, which goes on from the shared mix of the tick before; to be called before this tick's is made.
    ///
    /// - Parameter isFresh: it begins with silence instead, for whoever is in that mix himself.
    mutating func takeOwn(isFresh: Bool, scratch: inout PacketSlots) -> Int? {
        guard let place = free.popLast() else { return nil }
        if isFresh {
            own[place].begin()
            return place
        }
        own[place].limiter.resume(from: shared.limiter)
        Self.warmUp(&own[place], sharedMix, scratch: &scratch)
        return place
    }

    mutating func giveBack(_ place: Int) { free.append(place) }

    /// Prepares the shared encoder for listeners who come from another; to be called before this tick's mix is made.
    mutating func join(tick: UInt64, scratch: inout PacketSlots) {
        if shared.lastTick == tick - 1 {
            shared.breakPrediction()
        } else {
            Self.warmUp(&shared, sharedMix, scratch: &scratch)
        }
    }

    private static func warmUp(_ lane: inout MixLane, _ mix: borrowing SampleBlock, scratch: inout PacketSlots) {
        var room = scratch.next()
        lane.warmUp(mix.span(0..<mix.count), scratch: &room)
    }

    // MARK: Mixing

    /// Makes the mix of everybody.
    mutating func mixShared(_ contributions: [MixContribution]) {
        unsafe sharedMix.base.update(repeating: 0, count: sampleCount)
        for contribution in contributions {
            unsafe MixKernel.fade(gains.base, from: contribution.gain, to: contribution.gainNext, fadeCount: fadeCount, count: frameCount)
            unsafe add(contribution, to: sharedMix.base, pan: 0)
        }
        unsafe shared.limiter.process(sharedMix.base, count: sampleCount)
    }

    /// Makes the mix of one output: without its participant's own inputs, and with its gains.
    mutating func mixOwn(_ place: Int, of output: borrowing MixOutput, _ contributions: [MixContribution], clock: UInt64) {
        unsafe ownMix.base.update(repeating: 0, count: sampleCount)
        for contribution in contributions where contribution.participant != output.format.participant {
            unsafe MixKernel.fade(gains.base, from: contribution.gain, to: contribution.gainNext, fadeCount: fadeCount, count: frameCount)
            var pan: Float = 0
            if !format.isMeasurement, let gain = output.gain(of: contribution.input) {
                unsafe MixKernel.multiply(gains.base, channels: 1, count: frameCount, by: gain.ramp, clock: clock)
                pan = gain.pan
            }
            unsafe add(contribution, to: ownMix.base, pan: pan)
        }
        if !format.isMeasurement {
            unsafe MixKernel.multiply(ownMix.base, channels: format.channels, count: frameCount, by: output.ramp, clock: clock)
        }
        unsafe own[place].limiter.process(ownMix.base, count: sampleCount)
    }

    private func add(_ contribution: MixContribution, to mix: UnsafeMutablePointer<Float>, pan: Float) {
        unsafe MixKernel.add(
            contribution.window, channels: contribution.channels, to: mix, mixChannels: format.channels, gains: gains.base, count: frameCount,
            pan: pan)
    }

    // MARK: Encoding

    /// - Returns: bytes, level in dBov, and whether silence only goes on.
    mutating func encodeShared(tick: UInt64, into packets: inout PacketSlots) -> (byteCount: Int, decibels: Float, isSilence: Bool) {
        Self.encode(&shared, sharedMix, tick: tick, into: &packets)
    }

    /// The same of what ``mixOwn(_:of:_:clock:)`` made last.
    mutating func encodeOwn(_ place: Int, tick: UInt64, into packets: inout PacketSlots) -> (byteCount: Int, decibels: Float, isSilence: Bool) {
        Self.encode(&own[place], ownMix, tick: tick, into: &packets)
    }

    private static func encode(
        _ lane: inout MixLane, _ mix: borrowing SampleBlock, tick: UInt64, into packets: inout PacketSlots
    ) -> (byteCount: Int, decibels: Float, isSilence: Bool) {
        let samples = mix.span(0..<mix.count)
        let meanSquare = LevelMeter.meanSquare(samples)
        var room = packets.next()
        let made = lane.encode(samples, isSilent: meanSquare == 0, tick: tick, into: &room)
        return (made.byteCount, LevelMeter.decibels(meanSquare: meanSquare), made.isSilence)
    }
}
