/// One encoder of a mix, with its limiter: the shared one of a format, or that of one output.
struct MixLane: ~Copyable {
    /// So much silence is encoded before packets only say that it goes on: decoders fade to it.
    private static let encodedSilenceMilliseconds = 100

    var limiter: SoftLimiter
    private var encoder: OpusFrameEncoder
    private let tickMilliseconds: Int
    /// The tick that was encoded last; 0: none.
    private(set) var lastTick: UInt64 = 0
    private var silentMilliseconds = 0
    /// The first byte of the last packet (RFC 6716 §3.1).
    private var lastTOC: UInt8?

    init(_ format: MixFormat, _ mixer: MixerConfiguration) throws(AudioFault) {
        let settings = OpusSettings(bitsPerSecond: format.bitsPerSecond, bandwidth: format.bandwidth, complexity: mixer.complexity)
        encoder = try OpusFrameEncoder(sampleRate: mixer.sampleRate, channels: format.channels, settings, application: .lowDelay)
        limiter = SoftLimiter(sampleRate: mixer.sampleRate, channels: format.channels, isHard: format.isMeasurement)
        tickMilliseconds = mixer.tickMilliseconds
    }

    /// Somebody comes who heard another lane, or none: the next packet refers to none before.
    mutating func breakPrediction() { encoder.breakPrediction() }

    /// Begins with nothing before.
    mutating func begin() {
        limiter.reset()
        encoder.reset()
        encoder.breakPrediction()
        silentMilliseconds = 0
    }

    /// Begins as if it had encoded what was heard in the tick before, of which the first samples of the next packet are a part: windows overlap (RFC 6716 §4.3.7).
    ///
    /// - Parameters:
    ///   - before: what was heard, limited.
    ///   - scratch: room for a packet, which is thrown away.
    mutating func warmUp(_ before: Span<Float>, scratch: inout MutableRawSpan) {
        encoder.reset()
        encoder.breakPrediction()
        _ = encoder.encode(before, into: &scratch)
        encoder.breakPrediction()
        silentMilliseconds = 0
    }

    /// - Parameter isSilent: the samples are all 0.
    /// - Returns: bytes, and whether they only say that silence goes on.
    mutating func encode(_ samples: Span<Float>, isSilent: Bool, tick: UInt64, into packet: inout MutableRawSpan) -> (byteCount: Int, isSilence: Bool)
    {
        lastTick = tick
        if isSilent {
            if silentMilliseconds >= Self.encodedSilenceMilliseconds, let toc = lastTOC {
                // One frame of no bytes (RFC 6716 §3.2.2 with §2.1.9).
                packet.storeBytes(of: toc & 0xFC, as: UInt8.self)
                return (1, true)
            }
            silentMilliseconds += tickMilliseconds
        } else {
            if silentMilliseconds >= Self.encodedSilenceMilliseconds {
                encoder.reset()
                encoder.breakPrediction()
            }
            silentMilliseconds = 0
        }
        let count = encoder.encode(samples, into: &packet)
        if count > 0 { lastTOC = unsafe packet.unsafeLoad(fromByteOffset: 0, as: UInt8.self) }
        return (count, false)
    }
}
