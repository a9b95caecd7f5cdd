internal import JitterBuffer
internal import MediaProtocol
internal import RelayBase

/// One stream that goes into a mix: its jitter buffer, and the sound of the coming tick.
///
/// What is mixed lags 5 ms behind what is known: the first 5 ms of a tick's window are the last of the tick before. So a voice that begins anywhere in a tick is faded in before it
/// begins, and nothing of it is lost.
struct MixerInput: ~Copyable {
    let id: UInt32
    let participant: UInt32
    /// 1 or 2, of what is decoded.
    let channels: Int
    var buffer: AudioJitterBuffer<StreamDecoder>
    /// Held back, and then the tick's.
    private var samples: SampleBlock
    private var meter = LevelMeter()
    private(set) var level = MeasuredLevel.silent
    /// Where in the publisher's time the sound of the last pull begins; `nil`: nothing was pulled yet.
    private(set) var playedTimestamp: UInt32?
    /// There is anything but zeros in what is held back or new.
    private var isSounding = false
    /// It has been removed, and goes when it has faded.
    var isLeaving = false
    /// 0 or 1, at the window's first sample, and from when its fade is over.
    private(set) var gain: Float = 0
    private(set) var gainNext: Float = 0

    /// Sample counts are per channel.
    let heldCount: Int
    let pullCount: Int
    let tickCount: Int

    init(
        id: UInt32, participant: UInt32, _ description: AudioStreamDescription, profile: JitterProfile, isMeasurement: Bool,
        mixer: MixerConfiguration
    ) throws(AudioFault) {
        let channels = min(Int(description.channels), 2)
        let decoder = try StreamDecoder(description, outputRate: mixer.sampleRate, outputChannels: channels)
        var configuration = JitterConfiguration()
        configuration.sampleRate = mixer.sampleRate
        configuration.channels = channels
        configuration.timescale = Int(MediaTimescale.audio.ticksPerSecond)
        configuration.profile = profile
        configuration.isMeasurement = isMeasurement
        configuration.bufferedMillisecondsMax = Self.bufferedMillisecondsMax
        configuration.bytesMax = Self.bytesMax(bytesPerSecond: decoder.samples.map { $0.byteCount * $0.perSecond } ?? 0)
        self.id = id
        self.participant = participant
        self.channels = channels
        buffer = AudioJitterBuffer(configuration, decoder: decoder)
        heldCount = mixer.sampleRate / 200
        pullCount = mixer.sampleRate / 100
        tickCount = mixer.sampleRate * mixer.tickMilliseconds / 1_000
        samples = SampleBlock(count: (heldCount + tickCount) * channels)
    }

    private static let bufferedMillisecondsMax = 3_000

    /// Room for what may be buffered; of Opus, of 170 kbit/s. More bytes a second are buffered for less long.
    private static func bytesMax(bytesPerSecond: Int) -> Int {
        (bytesPerSecond * bufferedMillisecondsMax / 1_000).clamped(to: 64 << 10...1 << 20)
    }

    /// What is mixed of it in this tick.
    var contribution: MixContribution {
        unsafe MixContribution(
            input: id, participant: participant, window: UnsafePointer(samples.base), channels: channels, gain: gain, gainNext: gainNext, level: level
        )
    }

    /// Also while a speaker pauses: who has an encoder of his own keeps it between words.
    var isHeard: Bool { gain != 0 || gainNext != 0 }

    /// Takes the coming tick's sound out of the buffer.
    mutating func pull(now: MonotonicInstant) {
        var wasAudible = false
        level = .silent
        for place in stride(from: 0, to: tickCount, by: pullCount) {
            let range = (heldCount + place) * channels..<(heldCount + place + pullCount) * channels
            guard !isLeaving else {
                samples.clear(range)
                continue
            }
            let outcome = Self.pull(&buffer, into: &samples, range, now: now)
            guard outcome.decision != .wait else { continue }
            playedTimestamp = outcome.mediaTimestamp
            let measured = Self.measure(&meter, &samples, range)
            if measured.decibels > level.decibels { level = measured }
            wasAudible = true
        }
        isSounding = isSounding || wasAudible
    }

    private static func pull(
        _ buffer: inout AudioJitterBuffer<StreamDecoder>, into samples: inout SampleBlock, _ range: Range<Int>, now: MonotonicInstant
    ) -> PlayoutOutcome {
        var span = samples.mutableSpan(range)
        return buffer.pull(into: &span, now: now)
    }

    private static func measure(_ meter: inout LevelMeter, _ samples: inout SampleBlock, _ range: Range<Int>) -> MeasuredLevel {
        let measured = meter.measure(samples.span(range), milliseconds: 10)
        // A decoder gave what is no sound: not into the mix.
        if measured.decibels <= -127 { samples.clear(range) }
        return measured
    }

    /// Whether it is heard after the fade of the coming window.
    mutating func choose(_ isChosen: Bool) { gainNext = isChosen && !isLeaving ? 1 : 0 }

    /// The window has been mixed: what was not is held back for the next.
    mutating func finishTick() {
        gain = gainNext
        guard isSounding else { return }
        samples.move(tickCount * channels..<(tickCount + heldCount) * channels, to: 0)
        isSounding = level.decibels > -127
        if !isSounding { samples.clear(0..<heldCount * channels) }
    }
}
