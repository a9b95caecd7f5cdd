import AudioEngine
import JitterBuffer
import MediaProtocol
import RelayBase
import Signalling

/// Paced delivery with the policy `conceal`: what came is decoded, what is missing is made, and all of it is encoded anew in frames of 20 ms.
struct Concealer: ~Copyable {
    static let packetBytesMax = MediaHeader.byteCount + OpusFrameEncoder.packetBytesMax
    /// Without anything to play for so many ticks it sleeps until something comes.
    private static let idleTicksMax = 50
    private static let sampleRate = 48_000
    private static let pullCount = sampleRate / 100

    private var buffer: AudioJitterBuffer<StreamDecoder>
    private var encoder: OpusFrameEncoder
    private var meter = LevelMeter()
    private var samples: [Float]
    private let channels: Int
    private let stream: StreamID
    private let ticksPerFrame: UInt32
    /// `nil` while it sleeps.
    private(set) var nextTick: MonotonicInstant?
    private var sequence: UInt32 = 0
    private var timestamp: UInt32 = 0
    private var idleTicks = 0
    /// Its next frame begins something.
    private var isBeginning = true

    /// - Throws: `unsupportedCodec` for all but Opus, since the stream's codec stays what it is.
    init(_ info: RelayMessage.StreamInfo, _ variant: PacedVariant, isMeasurement: Bool) throws(AudioFault) {
        guard let description = AudioStreamDescription(info), Concealer.conceals(info) else { throw .unsupportedCodec }
        let channels = min(Int(description.channels), 2)
        let decoder = try StreamDecoder(description, outputRate: Concealer.sampleRate, outputChannels: channels)
        var configuration = PacedBuffer.configuration(info, variant)
        configuration.sampleRate = Concealer.sampleRate
        configuration.channels = channels
        configuration.isMeasurement = isMeasurement
        let encoder = try OpusFrameEncoder(
            sampleRate: Concealer.sampleRate, channels: channels, OpusSettings(bitsPerSecond: channels == 2 ? 48_000 : 32_000))
        self.channels = channels
        self.encoder = encoder
        buffer = AudioJitterBuffer(configuration, decoder: decoder)
        stream = StreamID(info.stream)
        ticksPerFrame = UInt32(clamping: info.ticksPerSecond / 50)
        samples = [Float](repeating: 0, count: Concealer.pullCount * 2 * channels)
    }

    /// Whether it is a stream that is decoded here and stays what it is.
    static func conceals(_ info: RelayMessage.StreamInfo) -> Bool {
        AudioStreamDescription(info).map { $0.codec == .opus && (1...2).contains($0.channels) } ?? false
    }

    mutating func measure(_ isMeasurement: Bool) {
        var configuration = buffer.configuration
        configuration.isMeasurement = isMeasurement
        buffer.configure(configuration)
    }

    var statistics: JitterStatistics { buffer.statistics }
    var isEmpty: Bool { buffer.levelMilliseconds == 0 || nextTick == nil }

    mutating func insert(_ header: MediaHeader, _ frame: RawSpan, _ extensions: MediaExtensions, now: MonotonicInstant) {
        _ = buffer.insertFrame(header: header, payload: extensions.payload(of: frame), packetTable: extensions.table(of: frame), now: now)
        guard nextTick == nil else { return }
        nextTick = now
        idleTicks = 0
        isBeginning = true
    }

    mutating func reset() {
        buffer.reset()
        isBeginning = true
    }

    /// Leaves out so many ticks.
    mutating func shed(_ ticks: UInt64) {
        let ticks = UInt32(truncatingIfNeeded: ticks)
        nextTick = nextTick?.advanced(byNanoseconds: UInt64(ticks) * RoomMix.tickNanoseconds)
        sequence &+= ticks
        timestamp &+= ticks &* ticksPerFrame
    }

    /// Makes the next frame, header and all.
    ///
    /// - Parameter frame: room for ``packetBytesMax``.
    /// - Returns: its bytes; 0 when there is nothing to say.
    mutating func tick(into frame: UnsafeMutableRawBufferPointer, now: MonotonicInstant) -> Int {
        nextTick = nextTick?.advanced(byNanoseconds: RoomMix.tickNanoseconds)
        var isWaiting = true
        var mediaTimestamp: UInt32 = 0
        // Taken out while it is filled: two parts of one value cannot be changed at once.
        var block: [Float] = []
        swap(&block, &samples)
        defer { swap(&block, &samples) }
        for half in 0..<2 {
            let start = half * Concealer.pullCount * channels
            var span = block.mutableSpan
            var room = span._mutatingExtracting(start..<start + Concealer.pullCount * channels)
            let outcome = buffer.pull(into: &room, now: now)
            if half == 0 { mediaTimestamp = outcome.mediaTimestamp }
            if outcome.decision != .wait { isWaiting = false }
        }
        idleTicks = isWaiting ? idleTicks + 1 : 0
        if isWaiting, isBeginning || idleTicks >= Concealer.idleTicksMax {
            if idleTicks >= Concealer.idleTicksMax {
                nextTick = nil
                isBeginning = true
            }
            return 0
        }
        return unsafe encode(block, into: frame, mediaTimestamp)
    }

    private mutating func encode(_ samples: [Float], into frame: UnsafeMutableRawBufferPointer, _ mediaTimestamp: UInt32) -> Int {
        if isBeginning { timestamp = mediaTimestamp }
        let level = meter.measure(samples.span, milliseconds: 20)
        var room = unsafe MutableRawSpan(_unsafeBytes: UnsafeMutableRawBufferPointer(rebasing: frame[MediaHeader.byteCount...]))
        let byteCount = encoder.encode(samples.span, into: &room)
        let header = MediaHeader(
            kind: .audio, flags: isBeginning && sequence > 0 ? .discontinuity : [], level: level.audioLevel, stream: stream, sequence: sequence,
            timestamp: timestamp)
        unsafe header.write(into: frame)
        isBeginning = false
        sequence &+= 1
        timestamp &+= ticksPerFrame
        return byteCount > 0 ? MediaHeader.byteCount + byteCount : 0
    }
}
