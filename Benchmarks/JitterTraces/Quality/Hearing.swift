import AudioEngine
import JitterBuffer
import RelayBase

/// What is heard at the end: sound through an encoder, a trace, this project's buffer and the decoder.
enum Hearing {
    static let sampleRate = 16_000
    private static let frame = 320

    /// Opus packets of 20 ms.
    static func encode(_ samples: [Float], bitsPerSecond: Int = 32_000) throws(TraceFault) -> [[UInt8]] {
        let settings = OpusSettings(
            bitsPerSecond: bitsPerSecond, bandwidth: .wideband, complexity: 9, usesInbandFEC: true, expectedLossPercent: 5)
        guard var encoder = try? OpusFrameEncoder(sampleRate: sampleRate, channels: 1, settings, application: .voice) else {
            throw TraceFault("Opus does not do \(sampleRate) Hz")
        }
        var packets: [[UInt8]] = []
        var room = [UInt8](repeating: 0, count: OpusFrameEncoder.packetBytesMax)
        for begin in stride(from: 0, to: samples.count - frame + 1, by: frame) {
            let part = Array(samples[begin..<begin + frame])
            var span = room.mutableSpan
            var bytes = unsafe span.mutableBytes
            let count = encoder.encode(part.span, into: &bytes)
            guard count > 0 else { throw TraceFault("Opus gave no packet") }
            packets.append(Array(room[..<count]))
        }
        return packets
    }

    /// - Parameters:
    ///   - packets: by media time: that of a trace's packet is the one of its timestamp.
    ///   - adjust: called before each pull, with its number.
    static func play<Decoder: JitterDecoder & ~Copyable>(
        _ packets: [[UInt8]], over trace: ArrivalTrace, by decoder: consuming Decoder, _ configuration: JitterConfiguration,
        adjust: (Int, inout JitterConfiguration) -> Bool = { _, _ in false }
    ) -> (samples: [Float], statistics: JitterStatistics, decisions: [PlayoutDecision]) {
        var configuration = configuration
        configuration.sampleRate = sampleRate
        configuration.timescale = Int(trace.timescale)
        var buffer = AudioJitterBuffer(configuration, decoder: decoder)
        let media = trace.mediaTimes()
        let step = trace.packetNanoseconds
        let arrivals = trace.packets.indices.filter { trace.packets[$0].received != nil && Int(media[$0] / step) < packets.count }
            .sorted { (trace.packets[$0].received ?? 0, $0) < (trace.packets[$1].received ?? 0, $1) }
        guard let first = arrivals.first, let last = arrivals.last else { return ([], buffer.statistics, []) }
        var now = ((trace.packets[first].received ?? 0) + Schedule.grid - 1) / Schedule.grid * Schedule.grid
        let end = trace.packets[last].received ?? 0
        var samples: [Float] = []
        var decisions: [PlayoutDecision] = []
        var pull = [Float](repeating: 0, count: sampleRate / 100)
        var next = 0
        while now <= end {
            while next < arrivals.count, let received = trace.packets[arrivals[next]].received, received <= now {
                let packet = trace.packets[arrivals[next]]
                let payload = packets[Int(media[arrivals[next]] / step)]
                _ = buffer.insert(
                    JitterPacket(sequence: packet.sequence, timestamp: packet.timestamp), payload: unsafe payload.span.bytes,
                    now: MonotonicInstant(nanoseconds: UInt64(received)))
                next += 1
            }
            if adjust(decisions.count, &configuration) { buffer.configure(configuration) }
            var span = pull.mutableSpan
            decisions.append(buffer.pull(into: &span, now: MonotonicInstant(nanoseconds: UInt64(now))).decision)
            samples += pull
            now += Schedule.grid
        }
        return (samples, buffer.statistics, decisions)
    }

    /// A trace on which nothing happens.
    static func even(seconds: Int) -> ArrivalTrace {
        var trace = ArrivalTrace(name: "even", origin: .generated)
        for number in 0..<seconds * 50 {
            let sent = Int64(number) * 20_000_000
            trace.packets.append(
                TracePacket(sequence: UInt32(number), timestamp: UInt32(number) * 960, sent: sent, received: sent + 5_000_000, byteCount: 160))
        }
        return trace
    }

    /// Moves a pinned delay between 40 and 160 ms each 3 s, so that sound has to be stretched all the time.
    static func swing(_ pull: Int, _ configuration: inout JitterConfiguration) -> Bool {
        guard pull % 300 == 0 else { return false }
        configuration.pinnedDelayMilliseconds = pull / 300 % 2 == 0 ? 40 : 160
        return true
    }
}

/// Decodes Float32 as it lies in memory, so that what is heard of a buffer is the buffer alone.
struct PlainDecoder: JitterDecoder {
    let sampleRate = Hearing.sampleRate
    let channels = 1

    static func packets(_ samples: [Float]) -> [[UInt8]] {
        stride(from: 0, to: samples.count - 319, by: 320).map { begin in
            samples[begin..<begin + 320].flatMap { sample in (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> UInt32(8 * $0)) } }
        }
    }

    func sampleCount(of payload: RawSpan) -> Int { payload.byteCount / 4 }
    func redundantSampleCount(of payload: RawSpan) -> Int { 0 }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        let count = min(payload.byteCount / 4, samples.count)
        for place in 0..<count {
            samples[place] = Float(bitPattern: unsafe payload.unsafeLoadUnaligned(fromByteOffset: 4 * place, as: UInt32.self))
        }
        return count
    }

    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func reset() {}
}
