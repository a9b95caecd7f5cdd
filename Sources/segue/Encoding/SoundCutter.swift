import AudioEngine
import MediaFiles
import MediaProtocol

/// Decodes a file's sound and cuts it into frames of one length on one timeline, still to be encoded: that is done when each is due, as it is wanted then.
final class SoundCutter {
    /// How the stream is published.
    let stream: MediaFileStream
    private let plan: EncodingPlan
    private var decoder: StreamDecoder
    private let channels: Int
    /// Of the file's packets where they are samples, and one after the other plays for a known time; else 0.
    private let bytesPerFrame: Int
    private let bytesPerSecond: Int
    /// What one packet of the file decodes to.
    private var decoded: [Float]
    /// What is not cut yet, interleaved.
    private var waiting: [Float] = []
    /// A packet with its times; frames are cut after its pattern.
    private var pattern: MediaSample?
    /// Of the first sample that waits.
    private var ticks: Int64 = 0
    /// Where the timeline began.
    private var origin: (ticks: Int64, nanoseconds: Int64) = (0, 0)

    private static let ticksPerSecond = Int64(MediaTimescale.audio.ticksPerSecond)
    /// A packet that is further off its place than this begins anew there.
    private static let jumpTicks: Int64 = 960
    private static let packetMillisecondsMax = 120
    private static let decodedMillisecondsMax = 100

    /// - Throws: `CommandFailure` when it cannot be decoded here.
    init?(_ source: MediaFileStream, path: String, _ plan: EncodingPlan) throws(CommandFailure) {
        guard case .audio(let audio) = source.description else { return nil }
        self.plan = plan
        channels = plan.channels(of: Int(audio.channels))
        bytesPerFrame = (PCMFormat(audio.codec)?.bytesPerSample ?? 0) * Int(audio.channels)
        bytesPerSecond = bytesPerFrame * Int(audio.sampleRate)
        do throws(AudioFault) {
            decoder = try StreamDecoder(audio, outputRate: plan.sampleRate, outputChannels: channels)
        } catch {
            throw CommandFailure(code: .failure, message: "\(path): \(source.codecString) cannot be decoded here, which --encode must")
        }
        decoded = Array(repeating: 0, count: plan.sampleRate * Self.packetMillisecondsMax / 1_000 * channels)
        stream = source.encoded(
            as: .audio(
                AudioStreamDescription(
                    codec: plan.codec, sampleRate: UInt32(plan.sampleRate), channels: UInt8(channels),
                    frameMicroseconds: UInt32(EncodingPlan.frameMilliseconds * 1_000))),
            codecString: plan.codec.name,
            configuration: plan.codec == .opus ? try StreamEncoder.opusHead(plan, channels: channels, path: path) : [])
    }

    /// - Returns: the frames that are whole now; their payloads are samples.
    func take(_ sample: MediaSample) -> [MediaSample] {
        var frames: [MediaSample] = []
        let due = ticks + Int64(waiting.count / channels) * Self.ticksPerSecond / Int64(plan.sampleRate)
        if pattern == nil || abs(sample.decodeTimestamp - due) > Self.jumpTicks {
            frames += finish()
            ticks = sample.decodeTimestamp
            origin = (ticks, sample.decodeNanoseconds)
            decoder.reset()
        }
        pattern = sample
        decode(sample.payload)
        let size = plan.samplesPerFrame * channels
        var start = 0
        while waiting.count - start >= size {
            frames += frame(waiting[start..<start + size])
            start += size
        }
        waiting.removeFirst(start)
        return frames
    }

    /// The rest, filled up with silence; the next packet begins a timeline of its own.
    func finish() -> [MediaSample] {
        defer { pattern = nil }
        guard !waiting.isEmpty else { return [] }
        let missing = plan.samplesPerFrame * channels - waiting.count
        defer { waiting.removeAll(keepingCapacity: true) }
        return frame((waiting + Array(repeating: 0, count: missing))[...])
    }

    /// Packets of samples may be longer than a decoder takes at a time.
    private func decode(_ payload: [UInt8]) {
        let bytes = unsafe payload.span.bytes
        let step = bytesPerSecond > 0 ? bytesPerFrame * (bytesPerSecond / bytesPerFrame * Self.decodedMillisecondsMax / 1_000) : bytes.byteCount
        var start = 0
        while start < bytes.byteCount, step > 0 {
            let end = min(start + step, bytes.byteCount)
            var room = decoded.mutableSpan
            let count = decoder.decode(bytes.extracting(start..<end), into: &room)
            waiting.append(contentsOf: decoded[..<(count * channels)])
            start = end
        }
    }

    private func frame(_ samples: ArraySlice<Float>) -> [MediaSample] {
        guard var frame = pattern else { return [] }
        frame.decodeNanoseconds = origin.nanoseconds + (ticks - origin.ticks) * 1_000_000_000 / Self.ticksPerSecond
        frame.presentationNanoseconds = frame.decodeNanoseconds
        frame.decodeTimestamp = ticks
        frame.presentationTimestamp = ticks
        frame.duration = UInt32(Self.ticksPerSecond) * UInt32(EncodingPlan.frameMilliseconds) / 1_000
        frame.payload = unsafe samples.withUnsafeBytes { unsafe Array($0) }
        frame.isKey = false
        frame.isDiscardable = false
        ticks += Int64(frame.duration)
        return [frame]
    }
}
