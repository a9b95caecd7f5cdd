import AudioEngine
import JitterBuffer
import MediaProtocol
import RelayBase

/// One stream that is played, and its jitter buffer.
final class Voice {
    let key: Int
    private var buffer: AudioJitterBuffer<StreamDecoder>
    private let timescale: Double
    private var frames: UInt64 = 0
    private var encrypted: UInt64 = 0
    private var restarts = 0
    private var last: (sequence: UInt32, timestamp: UInt32)?
    private var frameTicks: UInt32 = 0
    private let start: MonotonicInstant
    private var arrival: (at: MonotonicInstant, isSilence: Bool)?
    private var holes: [ArrivalHole] = []

    /// Longer than any frame takes to come, shorter than what is heard as a gap.
    private static let holeMillisecondsMin: UInt64 = 60
    private static let holesMax = 1_000
    /// How long after the last frame of a stream that has ended another may come.
    private static let lastFramesMilliseconds: UInt64 = 200

    private var isEnding = false
    /// Nothing is taken any more.
    private var isClosed = false
    /// Of an ending stream, as they were when it had been played to its end: what is made up after that is no loss.
    private var final: JitterStatistics?
    /// It has ended, and all of it was played.
    private(set) var isOver = false

    /// - Parameter start: of the recording.
    init(_ key: Int, _ description: PlayedDescription, _ plan: PlaybackPlan, start: MonotonicInstant) throws(AudioFault) {
        self.key = key
        self.start = start
        timescale = Double(description.timescale)
        var configuration = JitterConfiguration()
        configuration.sampleRate = Player.sampleRate
        configuration.channels = plan.channels
        configuration.timescale = description.timescale
        configuration.profile = plan.profile
        configuration.pinnedDelayMilliseconds = plan.delay
        configuration.isMeasurement = plan.isMeasurement
        buffer = AudioJitterBuffer(
            configuration,
            decoder: try StreamDecoder(description.audio, outputRate: Player.sampleRate, outputChannels: plan.channels))
    }

    func insert(_ frame: RawSpan, now: MonotonicInstant) {
        guard !isClosed, let header = try? MediaHeader(parsing: frame), header.kind == .audio else { return }
        guard !header.flags.contains(.encrypted) else {
            encrypted += 1
            return
        }
        guard let extensions = try? MediaExtensions(frame: frame, flags: header.flags) else { return }
        frames += 1
        learnDuration(header)
        noteArrival(header, now)
        _ = buffer.insertFrame(header: header, payload: extensions.payload(of: frame), packetTable: extensions.table(of: frame), now: now)
    }

    /// Of frames that follow each other, what lies between their timestamps is what the first one plays.
    private func learnDuration(_ header: MediaHeader) {
        defer { last = (header.sequence, header.timestamp) }
        guard let last, header.sequence == last.sequence &+ 1 else { return }
        let ticks = header.timestamp &- last.timestamp
        if ticks > 0, Double(ticks) <= timescale { frameTicks = ticks }
    }

    private func noteArrival(_ header: MediaHeader, _ now: MonotonicInstant) {
        defer { arrival = (now, header.flags.contains(.silence)) }
        guard let arrival, !arrival.isSilence, now.milliseconds(since: arrival.at) >= Self.holeMillisecondsMin, holes.count < Self.holesMax else {
            return
        }
        holes.append(
            ArrivalHole(
                seconds: Double(arrival.at.nanoseconds(since: start)) / 1e9, milliseconds: Double(now.nanoseconds(since: arrival.at)) / 1e6))
    }

    /// - Parameter isPaced: its last frames come behind the news of its end, evenly.
    func end(isPaced: Bool) {
        isEnding = true
        guard !isPaced else { return }
        isClosed = true
        buffer.flush()
    }

    func restart() {
        restarts += 1
        buffer.reset()
    }

    func configure(_ plan: PlaybackPlan) {
        var configuration = buffer.configuration
        configuration.profile = plan.profile
        configuration.isMeasurement = plan.isMeasurement
        buffer.configure(configuration)
    }

    /// Exactly 10 ms.
    ///
    /// - Returns: whether any of it was sent; else it is silence or made up.
    func pull(into samples: inout [Float], now: MonotonicInstant) -> Bool {
        var span = samples.mutableSpan
        let outcome = buffer.pull(into: &span, now: now)
        if isEnding { lookAtEnd(isAudible: outcome.isAudible, now: now) }
        return outcome.isAudible || outcome.decision != .wait
    }

    private func lookAtEnd(isAudible: Bool, now: MonotonicInstant) {
        guard buffer.levelMilliseconds == 0 else {
            final = nil
            return
        }
        if isClosed { return isOver = !isAudible }
        if final == nil { final = buffer.statistics }
        isOver = arrival.map { now.milliseconds(since: $0.at) >= Self.lastFramesMilliseconds } ?? true
    }

    var statistics: PlayedStatistics {
        var statistics = PlayedStatistics(buffer: final ?? buffer.statistics)
        statistics.frameMilliseconds = timescale > 0 ? Double(frameTicks) * 1_000 / timescale : 0
        statistics.frames = frames
        statistics.encrypted = encrypted
        statistics.restarts = restarts
        statistics.holes = holes
        return statistics
    }
}
