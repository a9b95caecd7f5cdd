package import JitterBuffer
package import MediaProtocol
internal import RelayBase

/// Decodes the packets of an audio stream, of whatever codec, to the sample rate and the channels that are wanted of it.
///
/// Opus decodes to any of its rates by itself. Samples (`pcm_s16`, `pcmu`, `pcma`) are brought to the output's channels and then to its rate; they have
/// no concealment of their own, which leaves it to the jitter buffer.
package struct StreamDecoder: ~Copyable, JitterDecoder {
    package let sampleRate: Int
    package let channels: Int
    private var opus: OpusFrameDecoder?
    private var pcm: PCMStage

    /// - Parameters:
    ///   - description: of the stream, as it was published. An Opus stream's channels may be 1 or 2 only.
    ///   - outputRate: of what comes out: 8,000, 12,000, 16,000, 24,000 or 48,000.
    ///   - outputChannels: of what comes out: 1 or 2.
    package init(_ description: AudioStreamDescription, outputRate: Int, outputChannels: Int) throws(AudioFault) {
        guard AudioBandwidth.sampleRates.contains(outputRate) else { throw .sampleRate }
        guard (1...2).contains(outputChannels) else { throw .channels }
        guard (1...8).contains(description.channels) else { throw .channels }
        guard description.codec != .opus || description.channels <= 2 else { throw .unsupportedCodec }
        let isOpus = description.codec == .opus
        guard let format = isOpus ? .s16 : PCMFormat(description.codec) else { throw .unsupportedCodec }
        let decoder = isOpus ? try OpusFrameDecoder(sampleRate: outputRate, channels: outputChannels) : nil
        let stage = try PCMStage(
            format, inputRate: isOpus ? outputRate : Int(description.sampleRate), inputChannels: Int(description.channels), outputRate: outputRate,
            outputChannels: outputChannels)
        sampleRate = outputRate
        channels = outputChannels
        opus = decoder
        pcm = stage
    }

    /// - Parameter codec: its name on the wire.
    package init(codec: String, sampleRate: Int, channels: Int, outputRate: Int, outputChannels: Int) throws(AudioFault) {
        guard case .audio(let audio)? = MediaCodec(codecString: codec) else { throw .unsupportedCodec }
        guard let rate = UInt32(exactly: sampleRate) else { throw .sampleRate }
        guard let count = UInt8(exactly: channels) else { throw .channels }
        try self.init(
            AudioStreamDescription(codec: audio, sampleRate: rate, channels: count), outputRate: outputRate, outputChannels: outputChannels)
    }

    package var samples: PacketSamples? {
        opus == nil ? PacketSamples(byteCount: pcm.bytesPerFrame, perSecond: pcm.resampler.inputRate) : nil
    }

    package func sampleCount(of payload: RawSpan) -> Int {
        if opus != nil { return opus?.sampleCount(of: payload) ?? 0 }
        return pcm.frameCount(of: payload) * sampleRate / pcm.resampler.inputRate
    }

    package func redundantSampleCount(of payload: RawSpan) -> Int { opus?.redundantSampleCount(of: payload) ?? 0 }

    package mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        if opus != nil { return opus?.decode(payload, into: &samples) ?? 0 }
        return pcm.decode(payload, into: &samples)
    }

    package mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        opus?.decodeRedundancy(of: payload, sampleCount: sampleCount, into: &samples) ?? 0
    }

    package mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        opus?.conceal(sampleCount: sampleCount, into: &samples) ?? 0
    }

    package mutating func reset() {
        opus?.reset()
        pcm.resampler.reset()
    }
}

/// Samples of a stream, brought to the output's channels and then to its rate, piece by piece.
private struct PCMStage: ~Copyable {
    /// Pieces a second: each is 10 ms.
    private static let piecesPerSecond = 100

    let format: PCMFormat
    let inputChannels: Int
    let outputChannels: Int
    var resampler: Resampler
    private var piece: SampleBlock

    init(_ format: PCMFormat, inputRate: Int, inputChannels: Int, outputRate: Int, outputChannels: Int) throws(AudioFault) {
        let resampler = try Resampler(inputRate: inputRate, outputRate: outputRate, channels: outputChannels)
        self.format = format
        self.inputChannels = inputChannels
        self.outputChannels = outputChannels
        self.resampler = resampler
        piece = SampleBlock(count: (inputRate / Self.piecesPerSecond + 1) * outputChannels)
    }

    var bytesPerFrame: Int { format.bytesPerSample * inputChannels }

    /// Samples per channel of a payload of whole samples that plays 120 ms at most; otherwise 0.
    func frameCount(of payload: RawSpan) -> Int {
        let (frames, rest) = payload.byteCount.quotientAndRemainder(dividingBy: bytesPerFrame)
        return rest == 0 && frames <= resampler.inputRate * 3 / 25 ? frames : 0
    }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        let frames = frameCount(of: payload)
        // Copied: what lends samples of a block lends all that it is a part of.
        let (format, inputChannels, outputChannels) = (format, inputChannels, outputChannels)
        var made = 0
        var from = 0
        while from < frames, made * outputChannels < samples.count {
            let count = min(frames - from, piece.count / outputChannels)
            var decoded = piece.mutableSpan(0..<count * outputChannels)
            format.decode(payload, frames: from..<from + count, channels: inputChannels, into: &decoded, outputChannels: outputChannels)
            var room = samples._mutatingExtracting(made * outputChannels..<samples.count)
            made += Self.convert(piece, count: count, by: &resampler, into: &room)
            from += count
        }
        return made
    }

    private static func convert(_ piece: borrowing SampleBlock, count: Int, by resampler: inout Resampler, into room: inout MutableSpan<Float>) -> Int
    {
        resampler.process(piece.span(0..<count * resampler.channels), into: &room).made
    }
}
