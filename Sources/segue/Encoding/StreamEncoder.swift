import AudioEngine
import MediaProtocol
import RelayBase

/// Encodes the frames of a stream, each when it is due and as it is wanted then.
final class StreamEncoder {
    /// A frame as it goes out.
    struct Frame {
        var payload: [UInt8]
        var level: AudioLevel
        /// The speaker is silent, and nothing comes until the next frame.
        var isSilence: Bool
    }

    /// What is encoded now.
    struct Format: Equatable {
        var bandwidth: AudioBandwidth
        var channels: Int
    }

    private enum Codec {
        case samples(PCMFormat)
        case opus
    }

    private let plan: EncodingPlan
    private let channels: Int
    private let codec: Codec
    private var encoder: OpusFrameEncoder?
    private(set) var format: Format
    private var meter = LevelMeter()
    private var packet: [UInt8]
    private var silentFrames = 0

    /// In silence a packet is sent so often, in frames: 400 ms, as Opus itself does.
    private static let silenceInterval = 20
    /// A packet that says nothing but that there is silence (RFC 6716 §2.1.9).
    private static let silenceBytesMax = 2

    /// - Parameter channels: of the frames that come.
    init(_ plan: EncodingPlan, channels: Int) throws(AudioFault) {
        self.plan = plan
        self.channels = channels
        format = Format(bandwidth: plan.settings.bandwidth, channels: channels)
        if let samples = PCMFormat(plan.codec) {
            codec = .samples(samples)
            packet = Array(repeating: 0, count: plan.samplesPerFrame * channels * samples.bytesPerSample)
        } else {
            codec = .opus
            packet = Array(repeating: 0, count: OpusFrameEncoder.packetBytesMax)
            encoder = try Self.encoder(plan, channels)
        }
    }

    private static func encoder(_ plan: EncodingPlan, _ channels: Int) throws(AudioFault) -> OpusFrameEncoder {
        try OpusFrameEncoder(sampleRate: plan.sampleRate, channels: channels, plan.settings(channels: channels))
    }

    /// The identification header of Opus (RFC 7845 §5.1), which subscribers get as the stream's configuration.
    static func opusHead(_ plan: EncodingPlan, channels: Int, path: String) throws(CommandFailure) -> [UInt8] {
        let lookahead: Int
        do throws(AudioFault) {
            lookahead = try encoder(plan, channels).lookahead
        } catch {
            throw CommandFailure(code: .failure, message: "\(path): no Opus encoder: \(error)")
        }
        let skip = UInt16(clamping: lookahead * 48_000 / plan.sampleRate)
        return OpusHead.encoded(channels: UInt8(channels), preSkip: skip, inputRate: UInt32(plan.sampleRate))
    }

    /// What the best of the subscribers can use: the encoder makes no more than that, and no more than it was set to.
    ///
    /// - Returns: whether that changes anything.
    func fit(bandwidth: AudioBandwidth, channels wanted: Int) -> Bool {
        guard plan.followsWanted, encoder != nil else { return false }
        let fitted = Format(bandwidth: min(bandwidth, plan.settings.bandwidth), channels: min(max(wanted, 1), channels))
        guard fitted != format else { return false }
        if fitted.channels != format.channels {
            // A fresh encoder's first packet refers to none before it.
            guard let fresh = try? Self.encoder(plan, fitted.channels) else { return false }
            encoder = consume fresh
        }
        var settings = plan.settings(channels: fitted.channels)
        settings.bandwidth = fitted.bandwidth
        encoder?.apply(settings)
        format = fitted
        return true
    }

    /// - Parameter samples: one frame of ``EncodingPlan/samplesPerFrame``, as bytes.
    /// - Returns: `nil`: it is silent, and that was said.
    func encode(_ samples: [UInt8]) -> Frame? {
        let values = unsafe samples.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { unsafe bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
        let level = meter.measure(values.span, milliseconds: Float(EncodingPlan.frameMilliseconds)).audioLevel
        let count: Int
        switch codec {
        case .samples(let format):
            var span = packet.mutableSpan
            var room = unsafe span.mutableBytes
            count = format.encode(values.span, into: &room)
        case .opus: count = encodeOpus(values)
        }
        guard count > 0 else { return nil }
        let isSilence = plan.settings.isDiscontinuous && count <= Self.silenceBytesMax
        silentFrames = isSilence ? silentFrames + 1 : 0
        guard silentFrames % Self.silenceInterval <= 1 else { return nil }
        return Frame(payload: Array(packet[..<count]), level: level, isSilence: isSilence)
    }

    private func encodeOpus(_ values: [Float]) -> Int {
        var span = packet.mutableSpan
        var room = unsafe span.mutableBytes
        guard format.channels < channels else { return encoder?.encode(values.span, into: &room) ?? 0 }
        var mono: [Float] = []
        mono.reserveCapacity(values.count / channels)
        for frame in 0..<values.count / channels {
            mono.append(values[(frame * channels)..<(frame * channels + channels)].reduce(0, +) / Float(channels))
        }
        return encoder?.encode(mono.span, into: &room) ?? 0
    }
}
