package import RelayBase

/// Packets of sound in, as they come; 10 ms of sound out, whenever asked: the class of NetEQ, for media that comes over TCP.
///
/// Its time axis is the sender's. A packet's *delay* is how much later than the fastest of late it comes or plays, so the level of the buffer, which bursts throw about,
/// decides nothing: sound plays as it is while its delay is near the target, and faster or slower until it is. Where the next packet is missing, sound is concealed and
/// its place is kept: what a stall held up is played when it comes, and what the delay has grown by shrinks again (``PlayoutControl``).
///
/// ``insert(_:payload:now:)`` and ``pull(into:now:)`` allocate nothing, lock nothing, and never fail. One owner at a time; `now` never goes back.
package struct AudioJitterBuffer<Decoder: JitterDecoder & ~Copyable>: ~Copyable {
    package internal(set) var configuration: JitterConfiguration
    var decoder: Decoder
    let scale: TickScale
    var store: PacketStore
    var timeline: MediaTimeline
    var arrivals = ArrivalStatistics()
    var target: DelayTarget
    var control = PlayoutControl()
    var queue: SampleQueue
    var stretch: TimeStretch
    var expansion: ExpandConcealment
    var noise: ComfortNoise
    var counters = JitterStatistics()
    var concealment: ConcealmentCounter
    var history = PlayedPackets()
    var pulls = PullStatistics()

    /// Samples per channel of 10 ms.
    let pullCount: Int
    /// And of the longest packet.
    let packetCountMax: Int
    /// Timestamps that are less apart than this belong together: senders round.
    let roundingTicks: Int64

    /// Nothing plays until the first packet is due.
    var isWaiting = true
    /// Where what was decoded last ends on the time axis.
    var endTicks: Int64 = 0
    var sequence: UInt32 = 0
    /// What the last packet played.
    var packetTicks: Int64 = 0
    /// What was decoded last was the last before silence.
    var isSilence = false
    /// Concealed since a packet was missing, samples per channel.
    var bridged = 0
    /// Nothing was there to go on with: not one lost packet, but all.
    var isStarved = false
    /// The next packet does not follow on what was decoded last.
    var mustJoin = false
    /// The next packet comes after silence.
    var isFirst = false
    /// Everything that is stored plays out at once, then the buffer begins anew.
    var isDraining = false
    var isQuiet = false
    var timestamp: UInt32 = 0
    /// Of ``JitterStatistics/delaySampleMilliseconds``, what is less than one, in microseconds.
    var delayRest: Int64 = 0

    /// Without any packet for so long, the stream counts as stopped: nothing is concealed any more.
    static var starvedSecondsMax: Int { 10 }
    /// Longer than that nobody believes what a decoder makes of nothing.
    static var decodersConcealmentMilliseconds: Int { 100 }
    /// And longer than that the background is no comfort any more: the sender has stopped.
    static var noiseMillisecondsMax: Int { 1_000 }

    /// - Precondition: the decoder makes 8 to 48 kHz and 1 or 2 channels, as the configuration says.
    package init(_ configuration: JitterConfiguration, decoder: consuming Decoder) {
        precondition((8_000...48_000).contains(configuration.sampleRate) && (1...2).contains(configuration.channels), "8 to 48 kHz, mono or stereo")
        precondition(decoder.sampleRate == configuration.sampleRate && decoder.channels == configuration.channels, "a decoder for this buffer")
        let rate = configuration.sampleRate
        let channels = configuration.channels
        self.configuration = configuration
        self.decoder = decoder
        scale = TickScale(timescale: configuration.timescale, sampleRate: rate)
        pullCount = rate / 100
        packetCountMax = rate * 12 / 100
        roundingTicks = scale.timescale / 1000
        store = PacketStore(
            packetsMax: configuration.packetsMax, bytesMax: configuration.bytesMax,
            durationTicksMax: scale.ticks(microseconds: Int64(max(configuration.bufferedMillisecondsMax, 20)) * 1000))
        timeline = MediaTimeline(scale: scale)
        target = DelayTarget(configuration)
        stretch = TimeStretch(sampleRate: rate, channels: channels)
        expansion = ExpandConcealment(sampleRate: rate, channels: channels, seed: 1)
        noise = ComfortNoise(sampleRate: rate, channels: channels, seed: 2)
        queue = SampleQueue(
            channels: channels, historyMax: expansion.historyCount, countMax: 2 * stretch.neededCount + packetCountMax + 2 * stretch.insertedMax)
        concealment = ConcealmentCounter(sampleRate: rate)
    }

    /// Takes profile, bounds of the delay, pinned delay and measurement; rate, channels, timescale and hard bounds stay as they were.
    package mutating func configure(_ configuration: JitterConfiguration) {
        self.configuration.profile = configuration.profile
        self.configuration.delayMillisecondsMin = configuration.delayMillisecondsMin
        self.configuration.delayMillisecondsMax = configuration.delayMillisecondsMax
        self.configuration.pinnedDelayMilliseconds = configuration.pinnedDelayMilliseconds
        self.configuration.isMeasurement = configuration.isMeasurement
        target.configure(self.configuration)
    }

    /// Plays out what is there, as soon as can be, and begins anew with what comes from now on.
    package mutating func flush() {
        if isWaiting && store.count == 0 { return reset() }
        isDraining = true
        timeline.restart()
    }

    /// Silence from now on: what is there is dropped and counted. What was learnt of the path stays.
    package mutating func reset() {
        counters.discarded &+= UInt64(store.count)
        store.removeAll()
        queue.removeAll()
        decoder.reset()
        timeline.reset()
        arrivals.reset()
        stop()
    }

    /// Back to waiting for a first packet.
    mutating func stop() {
        expansion.reset()
        control.reset()
        concealment.end()
        isWaiting = true
        isDraining = false
        isSilence = false
        isStarved = false
        mustJoin = false
        bridged = 0
    }

    // MARK: What it is like

    package var statistics: JitterStatistics {
        var statistics = counters
        statistics.targetMilliseconds = UInt32(clamping: targetMilliseconds)
        statistics.levelMilliseconds = UInt32(clamping: levelMilliseconds)
        statistics.driftPartsPerMillion = arrivals.driftPartsPerMillion
        return statistics
    }

    package var targetMilliseconds: Int { Int(clamping: target.microseconds / 1000) }

    /// What is there and has not been played.
    package var levelMilliseconds: Int {
        Int(clamping: (scale.microseconds(samples: queue.count) + scale.microseconds(store.durationTicks)) / 1000)
    }

    /// How long after the fastest packet would have come, what is next plays; `nil` while nothing does.
    package func delayMilliseconds(now: MonotonicInstant) -> Int? {
        isWaiting ? nil : Int(clamping: delay(of: endTicks, now: now.microseconds) / 1000)
    }

    /// The delay of what would be played next at a place of the time axis.
    func delay(of ticks: Int64, now: Int64) -> Int64 {
        arrivals.delay(media: scale.microseconds(ticks), now: now + scale.microseconds(samples: queue.count))
    }
}
