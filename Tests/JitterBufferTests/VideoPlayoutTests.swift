import JitterBuffer
import MediaProtocol
import RelayBase
import Testing

@Suite("Playout of video")
struct VideoPlayoutTests {
    static let start: Int64 = 5_000_000

    /// A frame of the stream, of 30 pictures a second unless told otherwise.
    static func frame(
        _ number: Int, flags: MediaFlags = [], ticksPerFrame: Int = 3_000, firstTimestamp: UInt32 = 0, layer: MediaLayer = .base, bytes: Int = 40,
        extensions: [UInt8] = []
    ) -> [UInt8] {
        var header = MediaHeader(
            kind: .video, flags: extensions.isEmpty ? flags : flags.union(.extensionPresent), layer: layer, stream: StreamID(1),
            sequence: UInt32(truncatingIfNeeded: number), timestamp: firstTimestamp &+ UInt32(truncatingIfNeeded: number * ticksPerFrame))
        if number == 0 { header.flags.insert(.key) }
        var frame = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(bytes, 16))
        unsafe frame.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        frame.insert(contentsOf: extensions, at: 16)
        return frame
    }

    struct Shown: Equatable {
        var number: Int
        var at: Int64
        var isShown: Bool
    }

    /// Frames with when they come (milliseconds), the sound heard at each millisecond (its media time in milliseconds), and what was given out.
    static func play(
        _ frames: [(at: Int, bytes: [UInt8])], milliseconds: Int, configuration: VideoPlayoutConfiguration = VideoPlayoutConfiguration(),
        sound: (Int) -> AudioClock? = { _ in nil }
    ) -> (shown: [Shown], statistics: VideoPlayoutStatistics) {
        var playout = VideoPlayout(configuration)
        var shown: [Shown] = []
        var next = 0
        let frames = frames.sorted { $0.at < $1.at }
        for millisecond in 0..<milliseconds {
            let now = instant(millisecond)
            while next < frames.count, frames[next].at <= millisecond {
                _ = insert(frames[next].bytes, into: &playout, at: millisecond)
                next += 1
            }
            while true {
                let release = playout.release(now: now, audio: sound(millisecond))
                if release == .nothing { break }
                let number =
                    playout.released.byteCount > 16
                    ? Int(unsafe playout.released.unsafeLoad(fromByteOffset: playout.released.byteCount - 1, as: UInt8.self)) : 0
                shown.append(Shown(number: number, at: Int64(millisecond), isShown: release != .decodeOnly))
            }
        }
        return (shown, playout.statistics)
    }

    static func insert(_ frame: [UInt8], into playout: inout VideoPlayout, at millisecond: Int) -> InsertOutcome {
        unsafe playout.insert(frame.span.bytes, now: instant(millisecond))
    }

    static func instant(_ millisecond: Int) -> MonotonicInstant {
        MonotonicInstant.zero.advanced(byMilliseconds: UInt64(5_000 + millisecond))
    }

    /// Sound whose media time `at` milliseconds is heard `delay` later.
    static func clock(delay: Int, first: UInt32 = 0, capturedAt: NTPTime? = nil) -> (Int) -> AudioClock? {
        { millisecond in
            AudioClock(
                timestamp: first &+ UInt32(truncatingIfNeeded: (millisecond - delay) * 48), heardAt: instant(millisecond), capturedAt: capturedAt)
        }
    }

    /// Each frame comes `delay(number)` milliseconds after its time.
    static func stream(_ count: Int, delay: (Int) -> Int, flags: (Int) -> MediaFlags = { _ in [] }) -> [(at: Int, bytes: [UInt8])] {
        (0..<count).map { (at: $0 * 100 / 3 + delay($0), bytes: frame($0, flags: flags($0))) }
    }

    @Test("with sound every picture is shown within 40 ms of it, however unevenly it comes", arguments: [120, 200, 400])
    func lipSync(delay: Int) {
        var generator = SeededGenerator(seed: 4)
        let frames = Self.stream(200, delay: { _ in Int.random(in: 10...100, using: &generator) })
        let (shown, statistics) = Self.play(frames, milliseconds: 7_500, sound: Self.clock(delay: delay))
        #expect(statistics.shown == 200 && statistics.isHeldToAudio && statistics.freezes == 0)
        for picture in shown {
            let skew = Double(picture.at) - Double(picture.number) * 100 / 3 - Double(delay)
            #expect(skew.magnitude <= 40, "picture \(picture.number): \(skew) ms")
        }
        #expect(statistics.skewMillisecondsMax <= 40 && statistics.audioDelayWantedMilliseconds == 0)
    }

    @Test("sound that is held up, or skips, takes the pictures along")
    func audioJumps() {
        let sound: (Int) -> AudioClock? = { millisecond in
            // 500 ms of concealment at 2 s, caught up at 4 s.
            let heard = millisecond - 150 - max(0, min(millisecond - 2_000, 500)) + (millisecond >= 4_000 ? 500 : 0)
            return AudioClock(timestamp: UInt32(truncatingIfNeeded: heard * 48), heardAt: Self.instant(millisecond))
        }
        let (shown, statistics) = Self.play(Self.stream(180, delay: { _ in 20 }), milliseconds: 7_000, sound: sound)
        #expect(statistics.shown > 160 && statistics.skewMillisecondsMax <= 40)
        for picture in shown where picture.isShown {
            let heard = Double(Int32(bitPattern: sound(Int(picture.at))?.timestamp ?? 0)) / 48
            #expect((heard - Double(picture.number) * 100 / 3).magnitude <= 41)
        }
        #expect(shown.map(\.number) == Array(0..<180).map { $0 & 255 }, "what others need is decoded all the same")
    }

    @Test("without sound pictures come evenly, on what their own arrival makes necessary")
    func ownClock() {
        var generator = SeededGenerator(seed: 9)
        let frames = Self.stream(240, delay: { _ in Int.random(in: 5...45, using: &generator) })
        let (shown, statistics) = Self.play(frames, milliseconds: 9_000)
        #expect(statistics.shown == 240 && !statistics.isHeldToAudio && statistics.freezes == 0)
        let late = shown.dropFirst(60)
        let steps = zip(late.dropFirst(), late).map { $0.0.at - $0.1.at }
        #expect(steps.filter { (25...42).contains($0) }.count * 100 >= steps.count * 95)
        #expect(statistics.targetMilliseconds >= 30 && statistics.targetMilliseconds <= 70)
    }

    @Test("late frames that nobody needs are dropped, the others decoded and not shown; a standing picture is counted")
    func late() {
        // From frame 60 on the connection stands for a second.
        let frames = Self.stream(
            180, delay: { (60..<90).contains($0) ? max(20, 3_000 - $0 * 100 / 3 + 20) : 20 }, flags: { $0 % 2 == 1 ? .discardable : [] })
        let (shown, statistics) = Self.play(frames, milliseconds: 7_000, sound: Self.clock(delay: 150))
        let decoded = shown.filter { !$0.isShown }.map(\.number)
        #expect(!decoded.isEmpty && decoded.allSatisfy { $0 % 2 == 0 && (60..<90).contains($0) })
        #expect(statistics.late > 0 && statistics.late + statistics.shown + statistics.decodedOnly == 180)
        #expect(statistics.freezes == 1 && (800...1_100).contains(statistics.freezeMilliseconds), "\(statistics.freezeMilliseconds)")
        #expect(statistics.skewMillisecondsMax <= 40)
    }

    @Test("a key frame that is due makes what is before it needless")
    func skip() {
        let frames = Self.stream(180, delay: { (60..<90).contains($0) ? max(20, 3_000 - $0 * 100 / 3 + 20) : 20 }, flags: { $0 == 85 ? .key : [] })
        let (shown, statistics) = Self.play(frames, milliseconds: 7_000, sound: Self.clock(delay: 150))
        #expect(!shown.contains { (60..<85).contains($0.number) })
        #expect(shown.contains { $0.number == 85 } && statistics.late == 25)
    }

    @Test("what comes after its time, and is needed, makes all useless up to the next key frame")
    func lostReference() {
        let frames = Self.stream(120, delay: { $0 == 40 ? 410 : 20 }, flags: { $0 == 70 ? .key : [] })
        var (shown, statistics) = Self.play(frames, milliseconds: 5_000, sound: Self.clock(delay: 100))
        // 40 comes when 49 has been shown.
        #expect(shown.map(\.number) == Array(0..<40) + Array(41..<50) + Array(70..<120))
        #expect(statistics.late == 1 && statistics.undecodable == 20 && statistics.freezes == 1)
        let discardable = Self.stream(120, delay: { $0 == 40 ? 410 : 20 }, flags: { $0 == 40 ? .discardable : [] })
        (shown, statistics) = Self.play(discardable, milliseconds: 5_000, sound: Self.clock(delay: 100))
        #expect(shown.map(\.number) == Array(0..<40) + Array(41..<120) && statistics.undecodable == 0)
    }

    @Test("nothing is shown before the first key frame, and after a reset")
    func key() {
        var playout = VideoPlayout(VideoPlayoutConfiguration())
        for number in 1...3 { _ = Self.insert(Self.frame(number), into: &playout, at: number * 33) }
        #expect(playout.release(now: Self.instant(1_000), audio: nil) == .nothing)
        let needsKeyFrame = playout.needsKeyFrame
        #expect(needsKeyFrame && playout.statistics.undecodable == 3)
        _ = Self.insert(Self.frame(30, flags: .key), into: &playout, at: 1_000)
        playout.reset()
        _ = Self.insert(Self.frame(31), into: &playout, at: 1_033)
        #expect(playout.release(now: Self.instant(3_000), audio: nil) == .nothing)
        #expect(playout.statistics.discarded == 1)
    }

    @Test("pictures that are always behind their sound are shown now and then, and the sound is asked to wait")
    func behind() {
        let (shown, statistics) = Self.play(Self.stream(300, delay: { _ in 300 }), milliseconds: 10_500, sound: Self.clock(delay: 60))
        #expect(shown.filter(\.isShown).count >= 30 && statistics.shownLate >= 30)
        #expect((200...260).contains(statistics.audioDelayWantedMilliseconds))
    }

    @Test("timestamps of both wrap, and the pictures stay with their sound", arguments: [UInt32.max - 90_000, 0])
    func wrap(first: UInt32) {
        let sound = Self.clock(delay: 150, first: first == 0 ? UInt32.max - 48_000 : UInt32(UInt64(first) * 48 / 90))
        let frames = (0..<120).map {
            (
                at: $0 * 100 / 3 + 20,
                bytes: Self.frame($0, firstTimestamp: first == 0 ? UInt32((UInt64(UInt32.max - 48_000) * 90 / 48) & 0xFFFF_FFFF) : first)
            )
        }
        let (shown, statistics) = Self.play(frames, milliseconds: 4_500, sound: sound)
        #expect(statistics.isHeldToAudio && statistics.shown == 120)
        for picture in shown {
            #expect((Double(picture.at) - Double(picture.number) * 100 / 3 - 150).magnitude <= 40)
        }
    }

    @Test("capture times hold streams together whose timestamps have nothing in common")
    func captureTime() {
        let second: UInt64 = 3_900_000_000
        let frames = (0..<120).map { number in
            let captured = NTPTime(rawValue: second << 32 + (UInt64(number) << 32) / 30)
            let item: [UInt8] = [0, 3, 0, 0, 1, 0, 0, 8] + (0..<8).map { UInt8(truncatingIfNeeded: captured.rawValue >> (56 - 8 * UInt64($0))) }
            return (at: number * 100 / 3 + 20, bytes: Self.frame(number, firstTimestamp: 777_777_777, extensions: item))
        }
        let sound: (Int) -> AudioClock? = { millisecond in
            let heard = UInt64(second * 1_000) &+ UInt64(bitPattern: Int64(millisecond - 150))
            return AudioClock(
                timestamp: 5, heardAt: Self.instant(millisecond),
                capturedAt: NTPTime(rawValue: (heard / 1_000) << 32 + ((heard % 1_000) << 32) / 1_000))
        }
        let (shown, statistics) = Self.play(frames, milliseconds: 4_500, sound: sound)
        #expect(statistics.isHeldToAudio && statistics.shown == 120)
        for picture in shown { #expect((Double(picture.at) - Double(picture.number) * 100 / 3 - 150).magnitude <= 40) }
    }

    @Test("sound of something else is no clock")
    func foreignClock() {
        let (_, statistics) = Self.play(Self.stream(60, delay: { _ in 20 }), milliseconds: 3_000, sound: Self.clock(delay: -4_000_000))
        #expect(!statistics.isHeldToAudio && statistics.shown == 60)
    }

    @Test("the oldest go when there are too many frames, bytes or seconds", arguments: 0...2)
    func bounds(which: Int) {
        var configuration = VideoPlayoutConfiguration()
        switch which {
        case 0: configuration.framesMax = 10
        case 1: configuration.bytesMax = 4_096
        default: configuration.bufferedMillisecondsMax = 300
        }
        var playout = VideoPlayout(configuration)
        var flushed = 0
        for number in 0..<200 {
            let outcome = Self.insert(Self.frame(number, flags: number % 50 == 0 ? .key : [], bytes: 400), into: &playout, at: number)
            flushed += outcome == .storedFlushingOldest ? 1 : 0
            #expect(playout.statistics.framesBuffered <= 11 && playout.statistics.bytesBuffered <= 11 * 400)
        }
        #expect(flushed >= 185 && playout.statistics.discarded >= 185)
        // A key frame alone begins again.
        #expect(playout.release(now: Self.instant(10_000), audio: nil) == .nothing)
        #expect(Self.insert([UInt8](repeating: 0, count: 15), into: &playout, at: 10_000) == .malformed)
    }

    @Test("a frame that comes twice is one, before and after it was shown")
    func duplicates() {
        var playout = VideoPlayout(VideoPlayoutConfiguration())
        let frame = Self.frame(0)
        #expect(Self.insert(frame, into: &playout, at: 0) == .stored)
        #expect(Self.insert(frame, into: &playout, at: 1) == .duplicate)
        #expect(playout.release(now: Self.instant(500), audio: nil) != .nothing)
        #expect(Self.insert(frame, into: &playout, at: 501) == .duplicate)
        let needsKeyFrame = playout.needsKeyFrame
        #expect(!needsKeyFrame && playout.statistics.duplicates == 2)
    }

    @Test("a picture of several layers goes out whole, lowest layer first, and counts once for freezes")
    func layers() {
        var frames: [(at: Int, bytes: [UInt8])] = []
        for number in 0..<60 {
            for spatial: UInt8 in [1, 0] {
                frames.append((number * 100 / 3 + 20 + Int(spatial), Self.frame(number, layer: MediaLayer(spatial: spatial, temporal: 0))))
            }
        }
        let (shown, statistics) = Self.play(frames, milliseconds: 3_000, sound: Self.clock(delay: 100))
        #expect(shown.map(\.number) == (0..<60).flatMap { [$0, $0] } && statistics.freezes == 0)
    }
}
