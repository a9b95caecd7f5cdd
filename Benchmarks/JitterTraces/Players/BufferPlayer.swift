import JitterBuffer
import MediaProtocol
import RelayBase

/// This project's buffer, pulled each 10 ms.
enum BufferPlayer {
    /// What a pull was.
    struct Pull {
        var time: Int64
        var decision: PlayoutDecision
        var targetMilliseconds: Int
        var levelMilliseconds: Int
        /// Of what is played, behind the fastest packet of the trace.
        var behindMilliseconds: Double
    }

    struct Result {
        var playout: Playout
        var pulls: [Pull]
        var statistics: JitterStatistics
    }

    static func configuration(_ trace: ArrivalTrace, profile: JitterProfile = .balanced) -> JitterConfiguration {
        var configuration = JitterConfiguration()
        configuration.sampleRate = SpeechSignal.sampleRate
        configuration.timescale = Int(trace.timescale)
        configuration.profile = profile
        return configuration
    }

    static func play(_ trace: ArrivalTrace, _ configuration: JitterConfiguration, phase: Int64 = 0) -> Result {
        let ticksPerSample = Double(trace.timescale) / Double(SpeechSignal.sampleRate)
        let log = DecodingLog()
        let decoder = SignalDecoder(
            sampleCount: Int((Double(trace.packetTicks) / ticksPerSample).rounded()), ticksPerSample: ticksPerSample,
            channels: configuration.channels,
            log: log)
        var buffer = AudioJitterBuffer(configuration, decoder: decoder)
        var playout = Playout(player: "segue", pointMilliseconds: 10)
        var pulls: [Pull] = []
        let arrivals = trace.arrivals
        let fastest = zip(trace.packets, trace.mediaTimes()).compactMap { packet, time in packet.received.map { $0 - time } }.min() ?? 0
        let firstTimestamp = trace.packets.first?.timestamp ?? 0
        let perPull = SpeechSignal.sampleRate / 100
        var samples = [Float](repeating: 0, count: perPull * configuration.channels)
        var payload = [UInt8](repeating: 0, count: 2_048)
        var next = 0
        var hasBegun = false
        var last = JitterStatistics()
        let end = trace.end
        var now = Schedule.firstPull(arrivals, phase: phase)
        while now <= end {
            let instant = MonotonicInstant(nanoseconds: UInt64(now))
            while next < arrivals.count, let received = arrivals[next].received, received <= now {
                let packet = arrivals[next]
                let count = SignalDecoder.write(packet, into: &payload)
                _ = buffer.insert(
                    JitterPacket(
                        sequence: packet.sequence, timestamp: packet.timestamp, isDiscontinuity: packet.isDiscontinuity, isSilence: packet.isSilence),
                    payload: unsafe payload.span.bytes.extracting(first: count), now: MonotonicInstant(nanoseconds: UInt64(received)))
                next += 1
            }
            var span = samples.mutableSpan
            let outcome = buffer.pull(into: &span, now: instant)
            let statistics = buffer.statistics
            var point = Playout.Point(time: now)
            let concealed = Double(statistics.concealedSamples - last.concealedSamples) / Double(perPull)
            point.weight = Double(log.samples) / Double(perPull)
            if log.samples > 0 {
                hasBegun = true
                point.delayMilliseconds = Double(statistics.delaySampleMilliseconds - last.delaySampleMilliseconds) / Double(log.samples)
            }
            log.samples = 0
            point.concealed = hasBegun ? min(1, concealed) : 0
            // Silence that no pause of the sender explains is concealment, whatever the buffer calls it.
            if outcome.decision == .wait || outcome.decision == .comfortNoise {
                if hasBegun, !log.isInPause { point.concealed = 1 } else { point.isPause = true }
            }
            playout.points.append(point)
            let ticks = Int64(Int32(bitPattern: outcome.mediaTimestamp &- firstTimestamp))
            pulls.append(
                Pull(
                    time: now, decision: outcome.decision, targetMilliseconds: buffer.targetMilliseconds, levelMilliseconds: buffer.levelMilliseconds,
                    behindMilliseconds: Double(now - fastest) / 1e6 - Double(ticks) * 1_000 / Double(trace.timescale)))
            last = statistics
            now += Schedule.grid
        }
        playout.finish()
        let all = Double(max(1, last.samplesPlayed))
        playout.stretchRatio = Double(last.removedByAccelerate + last.insertedByExpand) / all
        playout.droppedRatio = Double(last.late + last.discarded) / Double(max(1, trace.packets.count))
        return Result(playout: playout, pulls: pulls, statistics: last)
    }
}

/// How much was decoded since somebody looked.
final class DecodingLog {
    var samples = 0
    /// The last packet said that silence follows.
    var isInPause = false
}

/// Makes sound of packets that say where in the signal they are.
struct SignalDecoder: JitterDecoder {
    let sampleRate = SpeechSignal.sampleRate
    let channels: Int
    private let packetSamples: Int
    private let ticksPerSample: Double

    private let log: DecodingLog

    init(sampleCount: Int, ticksPerSample: Double, channels: Int, log: DecodingLog) {
        self.log = log
        packetSamples = sampleCount
        self.ticksPerSample = ticksPerSample
        self.channels = channels
    }

    /// - Returns: bytes of the payload.
    static func write(_ packet: TracePacket, into payload: inout [UInt8]) -> Int {
        for place in 0..<4 { payload[place] = UInt8(truncatingIfNeeded: packet.timestamp >> UInt32(24 - 8 * place)) }
        payload[4] = packet.isSilence ? 1 : 0
        return min(payload.count, max(5, packet.byteCount))
    }

    func sampleCount(of payload: RawSpan) -> Int { payload.byteCount >= 5 ? packetSamples : 0 }

    func redundantSampleCount(of payload: RawSpan) -> Int { 0 }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        guard payload.byteCount >= 5, samples.count >= packetSamples * channels else { return 0 }
        var timestamp: UInt32 = 0
        for place in 0..<4 { timestamp = timestamp << 8 | UInt32(unsafe payload.unsafeLoad(fromByteOffset: place, as: UInt8.self)) }
        let signal = SpeechSignal.samples
        var place = Int(Double(timestamp) / ticksPerSample) % signal.count
        for number in 0..<packetSamples {
            for channel in 0..<channels { samples[number * channels + channel] = signal[place] }
            place = place + 1 == signal.count ? 0 : place + 1
        }
        log.samples += packetSamples
        log.isInPause = unsafe payload.unsafeLoad(fromByteOffset: 4, as: UInt8.self) == 1
        return packetSamples
    }

    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }

    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }

    mutating func reset() {}
}
