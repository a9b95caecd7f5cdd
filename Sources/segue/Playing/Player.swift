import AudioEngine
import Glibc
import JitterBuffer
import MediaProtocol
import RelayBase

/// Every audio stream through a jitter buffer of its own, pulled 10 ms at a time and summed.
///
/// It reads no clock and writes no file: times come in, in order, and sound comes out. One thread's.
final class Player {
    static let sampleRate = 48_000
    static let tickNanoseconds: UInt64 = 10_000_000
    /// Decoding so many takes a small part of a tick.
    static let streamsMax = 32

    private var plan: PlaybackPlan
    /// Those that sound or may; statistics of others are kept.
    private var voices: [Voice] = []
    private var ended: [Int: PlayedStatistics] = [:]
    private var pulled: [Float]
    private var mix: [Float]
    private(set) var ticks: UInt64 = 0
    private var silentTicks: UInt64 = 0
    private var peak: Float = 0
    private var beyondFullScale: UInt64 = 0

    private let start: MonotonicInstant

    /// - Parameter start: when the first sample plays.
    init(_ plan: PlaybackPlan, start: MonotonicInstant) {
        self.plan = plan
        self.start = start
        pulled = Array(repeating: 0, count: Self.sampleRate / 100 * plan.channels)
        mix = pulled
    }

    /// - Returns: why it cannot be played; `nil`: it is.
    func open(_ key: Int, _ description: PlayedDescription) -> String? {
        guard voices.count < Self.streamsMax else { return "not played: more than \(Self.streamsMax) streams at once" }
        do throws(AudioFault) {
            voices.append(try Voice(key, description, plan, start: start))
        } catch {
            return "not played: \(error)"
        }
        return nil
    }

    /// A whole frame, header first, as it arrived.
    func insert(_ key: Int, _ frame: RawSpan, now: MonotonicInstant) {
        voice(key)?.insert(frame, now: now)
    }

    /// What is buffered is played, and then nothing more is expected.
    func end(_ key: Int) {
        voice(key)?.end(isPaced: plan.isPaced)
    }

    /// All buffers begin anew, at the live edge: what they hold is dropped.
    func restart() {
        for voice in voices { voice.restart() }
    }

    /// Those to come as well.
    func configure(_ profile: JitterProfile, isMeasurement: Bool) {
        plan.profile = profile
        plan.isMeasurement = isMeasurement
        for voice in voices { voice.configure(plan) }
    }

    /// The next 10 ms of all.
    func pull(now: MonotonicInstant, _ take: ([Float]) -> Void) {
        ticks += 1
        for place in mix.indices { mix[place] = 0 }
        var isSilent = true
        for voice in voices {
            guard voice.pull(into: &pulled, now: now) else { continue }
            isSilent = false
            for place in mix.indices { mix[place] += pulled[place] }
        }
        if isSilent { silentTicks += 1 }
        for sample in mix {
            peak = max(peak, sample.magnitude)
            if sample.magnitude > 1 { beyondFullScale += 1 }
        }
        retire()
        take(mix)
    }

    private func retire() {
        guard voices.contains(where: \.isOver) else { return }
        for voice in voices where voice.isOver { ended[voice.key] = voice.statistics }
        voices.removeAll(where: \.isOver)
    }

    private func voice(_ key: Int) -> Voice? { voices.first { $0.key == key } }

    var statistics: [Int: PlayedStatistics] {
        var all = ended
        for voice in voices { all[voice.key] = voice.statistics }
        return all
    }

    var summary: PlaybackSummary {
        func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
        return PlaybackSummary(
            path: plan.path, seconds: rounded(Double(ticks) / 100), monotonicMilliseconds: Double(start.nanoseconds) / 1e6,
            silentSeconds: rounded(Double(silentTicks) / 100), peakDecibels: peak > 0 ? rounded(20 * log10(Double(peak))) : nil,
            samplesBeyondFullScale: beyondFullScale)
    }
}
