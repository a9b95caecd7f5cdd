import AudioEngine
import FoundationEssentials
import JitterBuffer
import MediaProtocol
import RelayBase
import Signalling
import Testing

@testable import segue

@Suite("Listening: what is played")
struct PlaybackTests {
    private static func at(_ milliseconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(1_000 + milliseconds) * 1_000_000) }

    private static func description(_ codec: String = "pcmu", rate: Double = 8_000) throws -> PlayedDescription {
        var shown = Signalling.StreamDescription()
        shown.sampleRate = rate
        shown.channels = 1
        return try #require(
            PlayedDescription(.init(stream: 1, participant: 1, kind: .audio, codec: codec, description: shown, source: nil)))
    }

    /// 20 ms of a tone of the script's microphone.
    private static func frame(_ number: Int, flags: MediaFlags = [], payload: [UInt8]? = nil) -> [UInt8] {
        var tone = ToneSource(stream: 1, now: .zero)
        _ = tone.next(now: .zero, isSilent: false)
        let header = MediaHeader(
            kind: .audio, flags: flags, stream: StreamID(1), sequence: UInt32(number), timestamp: UInt32(truncatingIfNeeded: number * 960))
        var bytes = [UInt8](repeating: 0, count: MediaHeader.byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        return bytes + (payload ?? tone.payload)
    }

    private static func insert(_ player: Player, _ key: Int, _ frame: [UInt8], at milliseconds: Int) {
        player.insert(key, unsafe frame.span.bytes, now: at(milliseconds))
    }

    /// Plays frames that arrive every 20 ms, but for those that do not; the largest sample of each 10 ms.
    private static func play(_ player: Player, milliseconds: Int, key: Int = 1, arrives: (Int) -> Bool = { _ in true }) -> [Float] {
        var peaks: [Float] = []
        for tick in stride(from: 0, to: milliseconds, by: 10) {
            if tick % 20 == 0, arrives(tick) { insert(player, key, frame(tick / 20), at: tick) }
            player.pull(now: at(tick)) { peaks.append($0.map(\.magnitude).max() ?? 0) }
        }
        return peaks
    }

    @Test("a stream is heard as loud as it is, and counted")
    func one() throws {
        let player = Player(PlaybackPlan(path: nil), start: Self.at(0))
        #expect(player.open(1, try Self.description()) == nil)
        let peaks = Self.play(player, milliseconds: 2_000)
        #expect(peaks.count == 200)
        // 2,000 of 32,768.
        #expect(peaks.suffix(100).allSatisfy { $0 > 0.05 && $0 < 0.075 })
        let statistics = try #require(player.statistics[1])
        #expect(statistics.frames == 100 && statistics.frameMilliseconds == 20 && statistics.encrypted == 0)
        #expect(statistics.buffer.concealedSamples == 0 && statistics.concealedFrames == 0 && statistics.holes.isEmpty)
        #expect(player.summary.seconds == 2 && player.summary.samplesBeyondFullScale == 0)
    }

    @Test("streams are summed, and nothing is silence")
    func sum() throws {
        let player = Player(PlaybackPlan(path: nil), start: Self.at(0))
        for key in 1...3 { #expect(player.open(key, try Self.description()) == nil) }
        var last: Float = 0
        for tick in stride(from: 0, to: 1_000, by: 10) {
            if tick % 20 == 0 { for key in 1...2 { Self.insert(player, key, Self.frame(tick / 20), at: tick) } }
            player.pull(now: Self.at(tick)) { last = $0.map(\.magnitude).max() ?? 0 }
        }
        #expect(last > 0.1 && last < 0.15)
        let silent = Player(PlaybackPlan(path: nil), start: Self.at(0))
        var peaks: Float = 0
        for tick in 0..<100 { silent.pull(now: Self.at(tick * 10)) { peaks = max(peaks, $0.map(\.magnitude).max() ?? 0) } }
        #expect(peaks == 0 && silent.summary.silentSeconds == 1 && silent.summary.peakDecibels == nil)
    }

    @Test("when nothing comes for a while, that is noted, and what was made up is counted as frames")
    func hole() throws {
        let player = Player(PlaybackPlan(path: nil), start: Self.at(0))
        #expect(player.open(1, try Self.description()) == nil)
        _ = Self.play(player, milliseconds: 3_000) { !(1_000..<1_400).contains($0) }
        let statistics = try #require(player.statistics[1])
        #expect(statistics.holes == [ArrivalHole(seconds: 0.98, milliseconds: 420)])
        #expect(statistics.concealedFrames > 5 && statistics.concealedFrames <= 25)
        #expect(PlayedSummary(statistics).interruptions == 1)
    }

    @Test("a restart drops what is buffered: silence at once, and then what comes")
    func restart() throws {
        var plan = PlaybackPlan(path: nil)
        plan.delay = 200
        let player = Player(plan, start: Self.at(0))
        #expect(player.open(1, try Self.description()) == nil)
        #expect(Self.play(player, milliseconds: 1_000).suffix(10).allSatisfy { $0 > 0.05 })
        player.restart()
        var peak: Float = 0
        for tick in stride(from: 1_000, to: 1_100, by: 10) { player.pull(now: Self.at(tick)) { peak = max(peak, $0.map(\.magnitude).max() ?? 0) } }
        #expect(peak == 0)
        #expect(player.statistics[1]?.restarts == 1)
    }

    @Test("a stream that has ended is played to its end, and then costs nothing more; its numbers stay")
    func end() throws {
        let player = Player(PlaybackPlan(path: nil), start: Self.at(0))
        #expect(player.open(1, try Self.description()) == nil)
        _ = Self.play(player, milliseconds: 1_000)
        player.end(1)
        for tick in 100..<200 { player.pull(now: Self.at(tick * 10)) { _ in } }
        let samples = try #require(player.statistics[1]).buffer.samplesPlayed
        for tick in 200..<300 { player.pull(now: Self.at(tick * 10)) { _ in } }
        #expect(player.statistics[1]?.buffer.samplesPlayed == samples)
        for key in 2...(Player.streamsMax + 1) { #expect(player.open(key, try Self.description()) == nil) }
        #expect(player.open(99, try Self.description()) != nil, "no more than so many at once")
    }

    @Test("of a paced stream, what comes behind the news of its end is heard, and what is made up after it is not counted")
    func pacedEnd() throws {
        var plan = PlaybackPlan(path: nil)
        plan.isPaced = true
        let player = Player(plan, start: Self.at(0))
        #expect(player.open(1, try Self.description()) == nil)
        _ = Self.play(player, milliseconds: 1_000)
        player.end(1)
        for tick in stride(from: 1_000, to: 2_000, by: 10) {
            if tick < 1_400, tick % 20 == 0 { Self.insert(player, 1, Self.frame(tick / 20), at: tick) }
            player.pull(now: Self.at(tick)) { _ in }
        }
        let statistics = try #require(player.statistics[1])
        #expect(statistics.frames == 70 && statistics.buffer.concealedSamples < 960)
        #expect(statistics.buffer.samplesPlayed > 1_350 * 48 && statistics.buffer.samplesPlayed < 1_500 * 48)
    }

    @Test("what cannot be decoded is told or counted, and never heard")
    func undecodable() throws {
        let player = Player(PlaybackPlan(path: nil), start: Self.at(0))
        #expect(player.open(1, try Self.description("aac", rate: 48_000)) != nil)
        #expect(player.open(2, try Self.description("opus", rate: 48_000)) == nil)
        Self.insert(player, 2, Self.frame(0, flags: .encrypted), at: 0)
        for (number, payload) in [[], [0xFF], [UInt8](repeating: 0xFF, count: 2_000)].enumerated() {
            Self.insert(player, 2, Self.frame(number + 1, payload: payload), at: 0)
        }
        Self.insert(player, 2, [0x10], at: 0)
        Self.insert(player, 7, Self.frame(0), at: 0)
        var peak: Float = 0
        for tick in 0..<50 { player.pull(now: Self.at(tick * 10)) { peak = max(peak, $0.map(\.magnitude).max() ?? 0) } }
        #expect(peak == 0)
        let statistics = try #require(player.statistics[2])
        #expect(statistics.encrypted == 1 && statistics.buffer.malformed >= 2)
    }

    @Test("a WAV file counts itself, and is whole whenever it is looked at", arguments: [1, 2])
    func wave(channels: Int) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "segue-\(UInt64.random(in: 0 ... .max)).wav").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var file = try WaveFile(path: path, sampleRate: 8_000, channels: channels)
        func size(_ offset: Int, _ bytes: [UInt8]) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) } }
        for second in 0..<3 {
            file.append(Array(repeating: Float(second) / 2, count: 8_000 * channels))
            let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
            #expect(Array(bytes.prefix(4)) == Array("RIFF".utf8) && size(4, bytes) == bytes.count - 8)
            #expect(size(WaveFile.headerBytes - 4, bytes) == bytes.count - WaveFile.headerBytes)
            #expect(bytes.count == WaveFile.headerBytes + (second + 1) * 8_000 * channels * 4)
        }
        file.append([1.5])
        file.flush()
        let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        #expect(Array(bytes.suffix(4)) == [0x00, 0x00, 0xC0, 0x3F], "beyond full scale is kept")
        #expect(file.problem == nil)
    }

    @Test("a WAV file that cannot be made is told")
    func noFile() {
        #expect(throws: CommandFailure.self) { _ = try WaveFile(path: "/nowhere/heard.wav", sampleRate: 8_000, channels: 1) }
    }

    private static func delivery(_ words: [String]) throws -> ListenDelivery {
        try ListenDelivery(try Arguments.parse(["--room", "r"] + words, ListenCommand.command.spec))
    }

    @Test("a delivery asks for what belongs to it, and for nothing else")
    func subscriptions() throws {
        func request(_ words: [String]) throws -> ClientRequest.Subscribe {
            var request = ClientRequest.Subscribe(streams: nil, all: true, delivery: nil)
            try Self.delivery(words).apply(to: &request)
            return request
        }
        #expect(try request([]) == .init(streams: nil, all: true, delivery: .live))
        #expect(
            try request(["--play", "x", "--profile", "smooth", "--delay", "60", "--channels", "2"]) == .init(streams: nil, all: true, delivery: .live)
        )
        #expect(
            try request(["--delivery", "paced", "--late", "conceal", "--profile", "lowLatency", "--delay", "60"])
                == .init(streams: nil, all: true, delivery: .paced, late: .conceal, profile: .lowLatency, delay: 60))
        #expect(try request(["--delivery", "mixed", "--channels", "2"]) == .init(streams: nil, all: true, delivery: .mixed, channels: 2))
        #expect(try Self.delivery(["--play", "x", "--delay", "60"]).playback(path: "x").delay == 60)
        #expect(try Self.delivery(["--play", "x", "--delivery", "paced", "--delay", "60"]).playback(path: "x").delay == nil)
    }

    @Test(
        "options that nothing is done with are refused",
        arguments: [
            ["--late", "drop"], ["--profile", "smooth"], ["--delay", "60"], ["--channels", "2"], ["--delivery", "mixed", "--delay", "9"],
        ])
    func useless(words: [String]) {
        #expect(throws: UsageFault.self) { try Self.delivery(words) }
    }
}
