import AudioEngine
import JitterBuffer
import RelayBase
import RelayRooms

/// One room's mix at its worker: the mixer, and where on which loop its packets go.
final class RoomMix {
    /// What goes to one loop.
    struct Share {
        let loop: Int
        /// The room on that loop.
        var room: Handle
        var listeners: [MixListener] = []
        var placement = MixPlacement()

        mutating func seat(mixCount: Int) { placement.assign(&listeners, mixCount: mixCount) }
    }

    /// Somebody who gets the mix, wherever.
    struct Output {
        var order: MixOrder
        /// Those that are not 1.
        var gains: [MixGain] = []
        /// Those that wait for their frame, in the order in which they came.
        var awaited: [MixGain] = []
        /// The mixer makes something for it.
        var isMade = false
    }

    let room: RoomNumber
    var mixer: RoomMixer
    var shares: [Share] = []
    var outputs: [UInt32: Output] = [:]
    /// `nil` while nobody takes anything.
    var nextTick: MonotonicInstant?
    var profile = JitterProfile.balanced
    /// What headers have is ahead of the mixer's own count by the ticks that were left out.
    private(set) var shedTicks: UInt32 = 0
    /// Some listener has changes that wait for their frames.
    var awaitsGains = false
    /// Encoders that the mixer had used when it was looked at last.
    var encodesCounted: UInt64 = 0

    /// Changes of one listener's that may wait for their frames: with more, the first is done at once.
    static let awaitedGainsMax = 16
    static let tickMilliseconds: UInt64 = 20
    /// Of one channel.
    static let tickSamples = UInt32(tickMilliseconds) * 48
    static let tickNanoseconds = tickMilliseconds * 1_000_000
    /// So many ticks are made up for; with more, some are left out.
    static let ticksMadeUpMax: UInt64 = 3

    init(_ room: RoomNumber, limits: Limits) {
        self.room = room
        var configuration = MixerConfiguration()
        configuration.tickMilliseconds = Int(RoomMix.tickMilliseconds)
        configuration.sampleRate = MixMembership.sampleRate
        configuration.speakersMax = limits.mixSpeakersMax
        configuration.inputsMax = limits.mixStreamsMax
        configuration.outputsMax = max(limits.participantsPerRoomMax, 1)
        // As many as there can be: bandwidths by channels, and the mode that measures.
        configuration.formatsMax = AudioBandwidth.allCases.count * WantedFormat.channelsMax * 2
        configuration.seed = room.value
        mixer = RoomMixer(configuration)
    }

    var sequence: UInt32 { mixer.sequence &+ shedTicks }
    var timestamp: UInt32 { mixer.timestamp &+ shedTicks &* RoomMix.tickSamples }

    func shed(_ ticks: UInt64) { shedTicks &+= UInt32(truncatingIfNeeded: ticks) }

    /// The best that its listeners can play.
    var audio: WantedFormat? {
        var best: WantedFormat?
        for (_, output) in outputs where output.isMade { if let bounds = output.order.bounds { best = bounds.union(best) } }
        return best
    }

    /// The most hurried of the listeners decides; the most careful profile is had when nobody needs another.
    var wantedProfile: JitterProfile {
        var profile: JitterProfile?
        for (_, output) in outputs where output.isMade {
            switch (profile, output.order.profile) {
            case (.lowLatency?, _), (_, .lowLatency): profile = .lowLatency
            case (.balanced?, _), (_, .balanced): profile = .balanced
            case (_, .smooth): profile = .smooth
            }
        }
        return profile ?? .balanced
    }

    /// Listeners that need an encoder for their gains.
    var personalCount: Int { outputs.values.count { !$0.gains.isEmpty } }

    func format(of order: MixOrder, _ bounds: WantedFormat) -> MixFormat {
        let channels = min(order.channels, bounds.channels)
        return MixFormat(
            participant: order.participant.value, bandwidth: bounds.bandwidth, channels: channels,
            bitsPerSecond: RoomMix.bitsPerSecond(bounds.bandwidth) * (channels == 2 ? 3 : 2) / 2, isMeasurement: order.isMeasurement)
    }

    /// Of one channel: good speech (RFC 6716 §2.1.1).
    private static func bitsPerSecond(_ bandwidth: AudioBandwidth) -> Int {
        switch bandwidth {
        case .narrowband: 12_000
        case .mediumband: 16_000
        case .wideband: 20_000
        case .superwideband: 28_000
        case .fullband: 32_000
        }
    }
}
