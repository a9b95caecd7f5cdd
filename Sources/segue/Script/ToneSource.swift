import Glibc
import MediaProtocol
import RelayBase
import Signalling

/// The microphone of a client that has none: a quiet tone in G.711 µ-law, 20 ms a frame.
struct ToneSource {
    static let frameMilliseconds: UInt64 = 20
    private static let samplesPerSecond = 8_000
    private static let samplesPerFrame = 160
    static let hertz = 400.0
    static let hertzBounds = 50.0...3_400.0
    private static let amplitude = 2_000.0
    private static let ticksPerFrame: UInt32 = 960

    static var announcement: ClientRequest.Publish {
        var description = Signalling.StreamDescription()
        description.sampleRate = Double(samplesPerSecond)
        description.channels = 1
        description.frameMilliseconds = Double(frameMilliseconds)
        return .init(kind: .audio, codec: "pcmu", description: description, source: "microphone")
    }

    let stream: StreamID
    /// Of the frame whose header ``next(now:isSilent:)`` has given last.
    private(set) var payload: [UInt8] = []
    private let hertz: Double
    private(set) var due: MonotonicInstant
    private let start: MonotonicInstant
    private var sequence: UInt32 = 0
    private var wasSilent = true

    init(stream: UInt32, hertz: Double = ToneSource.hertz, now: MonotonicInstant) {
        self.stream = StreamID(stream)
        self.hertz = hertz
        start = now
        due = now
    }

    /// Its phase is that of its time, so that what was left out is not heard as a step between what was not.
    private mutating func sound(_ frame: UInt64) {
        payload = (0..<Self.samplesPerFrame).map { sample in
            let seconds = (Double(frame) * Double(Self.samplesPerFrame) + Double(sample)) / Double(Self.samplesPerSecond)
            return Self.muLaw(Int((Self.amplitude * sin(2 * Double.pi * (hertz * seconds).truncatingRemainder(dividingBy: 1))).rounded()))
        }
    }

    /// The next frame's header when its time has come. Frames that nobody asked for in time are not sent, and the next says that there was a hole.
    mutating func next(now: MonotonicInstant, isSilent: Bool) -> MediaHeader? {
        guard now >= due else { return nil }
        let frames = now.milliseconds(since: start) / Self.frameMilliseconds
        let isLate = now.milliseconds(since: due) > Self.frameMilliseconds * 10
        due = start.advanced(byMilliseconds: (frames + 1) * Self.frameMilliseconds)
        guard !isSilent else {
            wasSilent = true
            return nil
        }
        let header = MediaHeader(
            kind: .audio, flags: wasSilent || isLate ? .discontinuity : [], stream: stream, sequence: sequence,
            timestamp: UInt32(truncatingIfNeeded: frames) &* Self.ticksPerFrame)
        sound(frames)
        wasSilent = false
        sequence &+= 1
        return header
    }

    /// ITU-T G.711, µ-law: sign, three bits of exponent, four of mantissa, inverted.
    ///
    /// - Parameter sample: linear, 16 bits.
    static func muLaw(_ sample: Int) -> UInt8 {
        let bias = 132
        let magnitude = min(sample.magnitude, 32_635) + UInt(bias)
        let exponent = max(0, UInt.bitWidth - 1 - magnitude.leadingZeroBitCount - 7)
        let mantissa = magnitude >> UInt(exponent + 3) & 0x0F
        let sign: UInt = sample < 0 ? 0x80 : 0
        return ~UInt8(truncatingIfNeeded: sign | UInt(exponent) << 4 | mantissa)
    }
}
