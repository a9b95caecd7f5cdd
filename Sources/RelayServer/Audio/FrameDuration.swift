import MediaProtocol
import Signalling

/// How long an audio frame plays, as far as that shows without decoding it: in ticks of its stream's timescale; 0: not known.
struct FrameDuration {
    private enum Form {
        case opus
        /// Bytes for all channels of one sample, and samples a second.
        case samples(byteCount: Int, perSecond: Int)
        case unknown
    }

    private let form: Form
    private let ticksPerSecond: Int
    /// What the publisher has said of its frames.
    private let declared: UInt32

    init(_ info: RelayMessage.StreamInfo) {
        ticksPerSecond = info.ticksPerSecond
        let channels = info.description?.channels ?? 1
        let rate = Int(info.description?.sampleRate ?? 0)
        form =
            switch info.codec {
            case "opus": .opus
            case "pcmu", "pcma": .samples(byteCount: channels, perSecond: rate > 0 ? rate : 8_000)
            case "pcm_s16": .samples(byteCount: channels * 2, perSecond: rate > 0 ? rate : 48_000)
            default: .unknown
            }
        declared = UInt32(clamping: Int(((info.description?.frameMilliseconds ?? 0) * Double(info.ticksPerSecond) / 1_000).rounded()))
    }

    /// - Parameters:
    ///   - frame: validated.
    ///   - payload: where its payload begins.
    func ticks(of frame: RawSpan, _ header: MediaHeader, payload: Int) -> UInt32 {
        guard !header.flags.contains(.encrypted), !header.flags.contains(.extensionPresent), payload < frame.byteCount else { return declared }
        switch form {
        case .opus:
            let second = frame.byteCount > payload + 1 ? byte(frame, payload + 1) : nil
            return FrameDuration.opusTicks(toc: byte(frame, payload), second: second, ticksPerSecond: ticksPerSecond) ?? declared
        case .samples(let byteCount, let perSecond):
            let samples = (frame.byteCount - payload) / byteCount
            return UInt32(clamping: samples * ticksPerSecond / perSecond)
        case .unknown: return declared
        }
    }

    private func byte(_ frame: RawSpan, _ place: Int) -> UInt8 { unsafe frame.unsafeLoad(fromByteOffset: place, as: UInt8.self) }

    /// RFC 6716 §3.1 and §3.2: the first byte says how long a frame is and how many there are; of code 3, the second.
    ///
    /// - Returns: `nil` for what no packet can be.
    static func opusTicks(toc: UInt8, second: UInt8?, ticksPerSecond: Int) -> UInt32? {
        // In sixteenths of 40 ms: 2.5 ms is one.
        let units: Int
        switch toc >> 3 {
        case 0..<12: units = [4, 8, 16, 24][Int(toc >> 3 & 3)]
        case 12..<16: units = toc >> 3 & 1 == 0 ? 4 : 8
        default: units = 1 << Int(toc >> 3 & 3)
        }
        let frames: Int
        switch toc & 3 {
        case 0: frames = 1
        case 1, 2: frames = 2
        default:
            guard let second, second & 63 > 0 else { return nil }
            frames = Int(second & 63)
        }
        // 120 ms at most.
        guard units * frames <= 48 else { return nil }
        return UInt32(clamping: units * frames * ticksPerSecond / 400)
    }
}
