import MediaProtocol
import RelayBase
import Signalling
import Testing

@testable import segue

@Suite("Scripts of audio sessions: what comes of media")
struct MediaWatchTests {
    private static func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: (5_000 + milliseconds) * 1_000_000) }

    private static func header(_ stream: UInt32, _ kind: MediaKind = .audio, _ flags: MediaFlags = []) -> MediaHeader {
        MediaHeader(kind: kind, flags: flags, stream: StreamID(stream), sequence: 0, timestamp: 0)
    }

    private static func watch() -> MediaWatch {
        var watch = MediaWatch()
        watch.add(1, .audio)
        watch.add(2, .video)
        return watch
    }

    @Test("the first frame of each stream is told, with what it says of itself")
    func starts() {
        var watch = Self.watch()
        let configuration = watch.take(Self.header(1, .configuration), age: nil, now: Self.at(0))
        #expect(configuration == .nothing)
        let first = watch.take(Self.header(1, .audio, .discontinuity), age: 12, now: Self.at(1))
        #expect(
            first
                == .start(
                    .init(
                        stream: 1, kind: "audio", key: false, discontinuity: true, configured: true, ageMilliseconds: 12, silenceMilliseconds: nil)))
        let second = watch.take(Self.header(1), age: 12, now: Self.at(21))
        #expect(second == .nothing)
        let other = watch.take(Self.header(2, .video, .key), age: nil, now: Self.at(22))
        #expect(
            other
                == .start(
                    .init(
                        stream: 2, kind: "video", key: true, discontinuity: false, configured: false, ageMilliseconds: nil, silenceMilliseconds: nil))
        )
        #expect(watch.starts.count == 2 && watch.frames == 3 && watch.awaited == 0)
    }

    @Test("a discontinuity in the middle of what flows is a beginning")
    func discontinuity() {
        var watch = Self.watch()
        _ = watch.take(Self.header(2, .video, .key), age: nil, now: Self.at(0))
        guard case .start(let start) = watch.take(Self.header(2, .video, [.key, .discontinuity]), age: nil, now: Self.at(40)) else {
            Issue.record("no start")
            return
        }
        #expect(start.discontinuity && start.key && start.silenceMilliseconds == 40 && watch.starts.count == 2)
    }

    @Test("what comes while nothing should is unexpected, told once, counted always; what comes afterwards begins anew")
    func held() {
        var watch = Self.watch()
        _ = watch.take(Self.header(1), age: nil, now: Self.at(0))
        let since = watch.hold(now: Self.at(30))
        #expect(since == 30_000_000)
        let again = watch.hold(now: Self.at(40))
        #expect(again == nil)
        let stale = (0..<3).map { _ in watch.take(Self.header(1), age: nil, now: Self.at(50)) }
        #expect(stale == [.unexpected(isFirst: true), .unexpected(isFirst: false), .unexpected(isFirst: false)])
        #expect(watch.unexpectedFrames == 3)
        watch.flow()
        #expect(watch.starts.isEmpty)
        guard case .start(let start) = watch.take(Self.header(1), age: nil, now: Self.at(100)) else {
            Issue.record("no start")
            return
        }
        #expect(start.silenceMilliseconds == 100 && !start.configured)
    }

    @Test("a frame may be faster than the answer that lets it come")
    func opening() {
        var watch = Self.watch()
        _ = watch.hold(now: Self.at(0))
        watch.open()
        guard case .start = watch.take(Self.header(1), age: nil, now: Self.at(1)) else {
            Issue.record("no start")
            return
        }
        watch.flow()
        #expect(watch.starts.count == 1 && watch.unexpectedFrames == 0)
        let second = watch.take(Self.header(1), age: nil, now: Self.at(2))
        #expect(second == .nothing)
    }

    @Test("what was asked for and refused leaves it held")
    func refused() {
        var watch = Self.watch()
        _ = watch.hold(now: Self.at(0))
        watch.open()
        _ = watch.hold(now: Self.at(1))
        let stale = watch.take(Self.header(1), age: nil, now: Self.at(2))
        #expect(stale == .unexpected(isFirst: true))
    }

    @Test("one stream alone is stopped, and begins anew")
    func oneStream() {
        var watch = Self.watch()
        for stream in [UInt32(1), 2] { _ = watch.take(Self.header(stream), age: nil, now: Self.at(0)) }
        watch.setStopped(1, true)
        let found = [UInt32(1), 2].map { watch.take(Self.header($0), age: nil, now: Self.at(1)) }
        #expect(found == [.unexpected(isFirst: true), .nothing])
        watch.setStopped(1, false)
        guard case .start = watch.take(Self.header(1), age: nil, now: Self.at(2)) else {
            Issue.record("no start")
            return
        }
    }

    @Test("a configuration that should not have come is among what came as well as among what should not have")
    func heldConfiguration() {
        var watch = Self.watch()
        watch.setStopped(1, true)
        let finding = watch.take(Self.header(1, .configuration), age: nil, now: Self.at(0))
        #expect(finding == .unexpected(isFirst: true))
        #expect(watch.unexpectedFrames == 1 && watch.frames + watch.configurations == 1)
    }

    @Test("the newest stream of a kind, as long as it is there")
    func newest() {
        var watch = Self.watch()
        watch.add(7, .audio)
        #expect(watch.newest(.audio) == 7 && watch.newest(.video) == 2 && watch.newest(.data) == nil)
        watch.remove(7)
        #expect(watch.newest(.audio) == 1)
    }

    @Test(
        "a frame's age by its capture time, over the era's end too",
        arguments: [
            (UInt64(1_700_000_000_000), UInt64(1_700_000_000_150), 150.0), (1_700_000_000_150, 1_700_000_000_000, -150),
            // NTP's first era ends at Unix second 2,085,978,496.
            (2_085_978_495_990, 2_085_978_496_010, 20),
        ])
    func age(captured: UInt64, now: UInt64, expected: Double) throws {
        let time = NTPTime(unixSeconds: captured / 1_000, nanoseconds: UInt32(captured % 1_000) * 1_000_000)
        let age = try #require(time.milliseconds(untilUnixMilliseconds: now))
        #expect(abs(age - expected) < 0.001)
    }

    @Test("clocks that are days apart say nothing of an age")
    func unrelatedClocks() {
        #expect(NTPTime(unixSeconds: 0, nanoseconds: 0).milliseconds(untilUnixMilliseconds: 1_700_000_000_000) == nil)
    }

    @Test(
        "ITU-T G.711 §3: µ-law code words", arguments: [(0, UInt8(0xFF)), (-1, 0x7F), (32_767, 0x80), (-32_768, 0x00), (1_000, 0xCE), (-1_000, 0x4E)])
    func muLaw(_ sample: Int, _ code: UInt8) {
        #expect(ToneSource.muLaw(sample) == code)
    }

    @Test("the tone is due every 20 ms; what was silent or late is a hole that the next frame tells")
    func tone() {
        var tone = ToneSource(stream: 4, now: Self.at(0))
        func next(_ milliseconds: UInt64, silent: Bool = false) -> MediaHeader? { tone.next(now: Self.at(milliseconds), isSilent: silent) }
        let first = next(0)
        #expect(first?.sequence == 0 && first?.timestamp == 0 && first?.flags == .discontinuity)
        let tooSoon = next(19)
        #expect(tooSoon == nil && tone.due == Self.at(20))
        let second = next(20)
        #expect(second?.sequence == 1 && second?.timestamp == 960 && second?.flags == [])
        let silent = next(40, silent: true)
        #expect(silent == nil)
        let third = next(60)
        #expect(third?.sequence == 2 && third?.timestamp == 2_880 && third?.flags == .discontinuity)
        let late = next(1_005)
        #expect(late?.sequence == 3 && late?.timestamp == 50 * 960 && late?.flags == .discontinuity)
        #expect(tone.due == Self.at(1_020))
    }
}
