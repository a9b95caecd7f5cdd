import MediaProtocol
import RelayBase

/// How far pictures' time is from sound's: by the capture times of both streams where there are any, else by their timestamps, which then count from one zero.
///
/// Timestamps of both wrap, each after hours of its own; they are followed across that.
struct VideoAlignment: Sendable {
    /// A timestamp as it came, and as it would be had it never wrapped.
    private struct Place: Sendable {
        var timestamp: UInt32
        var unwrapped: Int64

        func unwrap(_ other: UInt32) -> Int64 { unwrapped + Int64(Int32(bitPattern: other &- timestamp)) }

        mutating func follow(_ other: UInt32) { self = Place(timestamp: other, unwrapped: unwrap(other)) }
    }

    private let scale: TickScale
    private var picture: Place?
    private var sound: Place?
    private var capture: (microseconds: Int64, unwrapped: Int64)?
    /// For streams that were joined after one of them had wrapped, or begin before zero.
    private var correction: Int64 = 0

    /// Pictures are not further than this from their sound; what seems to be belongs to something else.
    private static var apartMicrosecondsMax: Int64 { 10_000_000 }
    private static var pictureWraps: ClosedRange<Int64> { -1...3 }
    private static var soundWraps: ClosedRange<Int64> { -1...2 }

    init(scale: TickScale) {
        self.scale = scale
    }

    mutating func observe(timestamp: UInt32, capturedAt: NTPTime?) {
        if picture == nil { picture = Place(timestamp: timestamp, unwrapped: Int64(timestamp)) }
        picture?.follow(timestamp)
        if let capturedAt, let picture { capture = (capturedAt.microseconds, picture.unwrapped) }
    }

    /// Follows the sound's clock.
    ///
    /// - Parameters:
    ///   - timestamp: of a picture, which by its arrival would be due at `own`.
    mutating func observe(_ audio: AudioClock, timestamp: UInt32, own: Int64) {
        if sound == nil { sound = Place(timestamp: audio.timestamp, unwrapped: Int64(audio.timestamp)) }
        sound?.follow(audio.timestamp)
        guard due(timestamp, audio, own: own) == nil else { return }
        let wrap = Int64(1) << 32
        let pictureWrap = scale.microseconds(wrap)
        let soundWrap = TickScale(timescale: audio.timescale, sampleRate: audio.timescale).microseconds(wrap)
        let before = correction
        for pictures in Self.pictureWraps {
            for sounds in Self.soundWraps {
                correction = pictures * pictureWrap - sounds * soundWrap
                if due(timestamp, audio, own: own) != nil { return }
            }
        }
        correction = before
    }

    /// When a picture is due by the sound's clock; `nil` when that clock has nothing to do with it.
    func due(_ timestamp: UInt32, _ audio: AudioClock, own: Int64) -> Int64? {
        let ahead: Int64
        let unwrapped = picture?.unwrap(timestamp) ?? Int64(timestamp)
        if let capture, let heard = audio.capturedAt {
            ahead = capture.microseconds + scale.microseconds(unwrapped - capture.unwrapped) - heard.microseconds
        } else {
            let heard = sound?.unwrap(audio.timestamp) ?? Int64(audio.timestamp)
            let scale = TickScale(timescale: audio.timescale, sampleRate: audio.timescale)
            ahead = self.scale.microseconds(unwrapped) - scale.microseconds(heard) + correction
        }
        let due = audio.heardAt.microseconds + ahead
        return (due - own).magnitude < UInt64(Self.apartMicrosecondsMax) ? due : nil
    }

    mutating func reset() {
        picture = nil
        sound = nil
        capture = nil
        correction = 0
    }
}

extension NTPTime {
    /// Since 1900, in the era of the format.
    fileprivate var microseconds: Int64 {
        Int64(rawValue >> 32) * 1_000_000 + Int64(((rawValue & 0xFFFF_FFFF) * 1_000_000) >> 32)
    }
}
