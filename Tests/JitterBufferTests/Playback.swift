import JitterBuffer
import RelayBase

/// Plays a trace in virtual time.
struct Playback {
    var statistics = JitterStatistics()
    /// Of every pull.
    var decisions: [PlayoutDecision] = []
    var targets: [Int] = []
    /// Against the fastest packet; −1 where nothing plays.
    var delays: [Int] = []
    var samples: [Float] = []

    var concealedRatio: Double { Double(statistics.concealedSamples) / Double(max(statistics.samplesPlayed, 1)) }
    var meanDelay: Double {
        Double(statistics.delaySampleMilliseconds) / Double(max(statistics.samplesPlayed - statistics.concealedSamples - waitedSamples, 1))
    }
    var waitedSamples: UInt64 { UInt64(decisions.filter { $0 == .wait || $0 == .comfortNoise }.count) * 480 }
    var stretchRatio: Double {
        Double(statistics.removedByAccelerate + statistics.insertedByExpand) / Double(max(statistics.samplesPlayed, 1))
    }

    enum Sound: Sendable { case tone(Double), speechLike, silence, noise }

    /// - Parameters:
    ///   - phase: microseconds by which pulls are beside whole tens of milliseconds.
    static func play(
        _ trace: Trace, _ configuration: JitterConfiguration = JitterConfiguration(), sound: Sound = .speechLike, phase: Int64 = 3_000,
        isKeepingSamples: Bool = false, tailMilliseconds: Int64 = 500
    ) -> Playback {
        var playback = Playback()
        var buffer = AudioJitterBuffer(configuration, decoder: PlainDecoder(sampleRate: configuration.sampleRate, channels: configuration.channels))
        let arrivals = trace.arrivals
        var next = 0
        var now = phase
        let end = (arrivals.last?.1 ?? 0) + tailMilliseconds * 1000
        var out = [Float](repeating: 0, count: configuration.sampleRate / 100 * configuration.channels)
        let count = Int(trace.packetMicroseconds) * configuration.sampleRate / 1_000_000
        var payload = [Int16](repeating: 0, count: count * configuration.channels)
        while now < end {
            while next < arrivals.count, arrivals[next].1 <= now {
                let packet = trace.packets[arrivals[next].0]
                fill(&payload, sound, first: arrivals[next].0 * count, channels: configuration.channels, rate: configuration.sampleRate)
                let header = JitterPacket(
                    sequence: packet.sequence, timestamp: packet.timestamp, isDiscontinuity: packet.isDiscontinuity, isSilence: packet.isSilence)
                _ = buffer.insert(header, payload: unsafe payload.span.bytes, now: MonotonicInstant(nanoseconds: UInt64(arrivals[next].1) * 1000))
                next += 1
            }
            var span = out.mutableSpan
            let outcome = buffer.pull(into: &span, now: MonotonicInstant(nanoseconds: UInt64(now) * 1000))
            playback.decisions.append(outcome.decision)
            playback.targets.append(buffer.targetMilliseconds)
            playback.delays.append(buffer.delayMilliseconds(now: MonotonicInstant(nanoseconds: UInt64(now + 10_000) * 1000)) ?? -1)
            if isKeepingSamples { playback.samples.append(contentsOf: out) }
            now += 10_000
        }
        playback.statistics = buffer.statistics
        return playback
    }

    /// Speech's rhythm: two thirds of each 1.5 s a vowel of 120 Hz, the rest next to nothing.
    static func fill(_ payload: inout [Int16], _ sound: Sound, first: Int, channels: Int, rate: Int) {
        for frame in 0..<payload.count / channels {
            let place = first + frame
            let value: Double
            switch sound {
            case .silence: value = 0
            // Like nothing that was before: it cannot be stretched.
            case .noise: value = 0.4 * (Double(UInt32(truncatingIfNeeded: place) &* 2_654_435_761 >> 8 & 0xFFFF) / 32_768 - 1)
            case .tone(let frequency): value = 0.5 * wave((Double(place) * frequency / Double(rate)))
            case .speechLike:
                let inCycle = place % (rate * 3 / 2)
                let cycle = Double(place) * 120 / Double(rate)
                value = inCycle < rate ? 0.2 * wave(cycle) + 0.1 * wave(2 * cycle) + 0.05 * wave(5 * cycle) : 0.0003 * wave(cycle * 3.7)
            }
            for channel in 0..<channels { payload[frame * channels + channel] = Int16(value * 32_000) }
        }
    }

    /// A sine of period 1, by its parabolas: within 0.1 % of one.
    static func wave(_ turns: Double) -> Double {
        let t = turns - turns.rounded(.down)
        let x = t < 0.5 ? t : t - 0.5
        let parabola = 16 * x * (0.5 - x)
        let refined = parabola * (0.775 + 0.225 * parabola)
        return t < 0.5 ? refined : -refined
    }
}
