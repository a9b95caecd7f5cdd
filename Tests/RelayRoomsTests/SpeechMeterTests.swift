import RelayBase
import RelayRooms
import Testing

/// Streams of frames of 20 ms each, looked at every 100 ms as a loop does.
struct SpeechStage {
    var meter = SpeechMeter()
    var now: MonotonicInstant
    /// Every report, with the milliseconds since the beginning.
    private(set) var reports: [(at: Int, streams: [SpeakingStream])] = []
    private let start: MonotonicInstant
    let streamsMax: Int

    init(streams: Int, streamsMax: Int = 8, start: MonotonicInstant = MonotonicInstant(nanoseconds: 5_000_000_000)) {
        (now, self.start, self.streamsMax) = (start, start, streamsMax)
        for slot in 0..<streams { meter.reset(StreamSlot(slot)) }
        meter.look(now: start)
    }

    var milliseconds: Int { Int(now.milliseconds(since: start)) }

    /// - Parameter level: the header's byte of a slot's next frame; `nil`: it sends none.
    mutating func play(milliseconds: Int, _ level: (_ slot: Int, _ frame: Int) -> UInt8?, slots: Range<Int>) {
        for frame in 0..<milliseconds / 20 {
            for slot in slots {
                if let level = level(slot, frame) { meter.note(StreamSlot(slot), level: level, isSilence: false) }
            }
            now = now.advanced(byMilliseconds: 20)
            guard self.milliseconds.isMultiple(of: 100) else { continue }
            meter.look(now: now)
            if let streams = meter.report(now: now, streamsMax: streamsMax, stream: { UInt32($0.index) }) {
                reports.append((self.milliseconds, streams))
            }
        }
    }

    /// One stream, in slot 0, of which each byte is a frame.
    mutating func play(_ levels: [UInt8]) {
        play(milliseconds: 20 * levels.count, { _, frame in levels[frame] }, slots: 0..<1)
    }

    func reported(at milliseconds: Int) -> [UInt32] {
        reports.last { $0.at <= milliseconds }?.streams.map(\.stream) ?? []
    }
}

@Suite("Who speaks in a stream: RFC 6464 levels")
struct SpeechMeterTests {
    private static func frames(_ milliseconds: Int, _ level: UInt8) -> [UInt8] { Array(repeating: level, count: milliseconds / 20) }

    /// What a stream sends, and whether that is ever speech.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let levels: [UInt8]
        let speaks: Bool
    }

    private static let cases: [Case] = [
        Case(testDescription: "voice at −25 dBov", levels: frames(2_000, 25), speaks: true),
        Case(testDescription: "quiet voice at −42 dBov in a quiet room", levels: frames(1_000, 75) + frames(2_000, 42), speaks: true),
        Case(
            testDescription: "syllables of 200 ms with gaps of 100 ms", levels: (0..<10).flatMap { _ in frames(200, 25) + frames(100, 80) },
            speaks: true),
        Case(testDescription: "a cough of 100 ms", levels: frames(1_000, 70) + frames(100, 12) + frames(1_500, 70), speaks: false),
        Case(
            testDescription: "a cough of 100 ms across two looks", levels: frames(1_060, 70) + frames(100, 12) + frames(1_500, 70), speaks: false),
        Case(
            testDescription: "a click of 20 ms every 300 ms", levels: (0..<20).flatMap { _ in frames(20, 5) + frames(280, 90) }, speaks: false),
        Case(testDescription: "steady noise at −45 dBov", levels: frames(10_000, 45), speaks: false),
        Case(testDescription: "noise that rises to −42 dBov slowly", levels: (0..<2_000).map { UInt8(80 - min($0 / 50, 38)) }, speaks: false),
        Case(testDescription: "silence", levels: frames(3_000, 127), speaks: false),
        Case(testDescription: "a stream without levels, 0x7F throughout", levels: frames(3_000, 0x7F), speaks: false),
        Case(testDescription: "the voice bit with a level that nobody hears", levels: frames(3_000, 0x80 | 100), speaks: false),
        Case(testDescription: "soft voice with the voice bit", levels: frames(2_000, 0x80 | 60), speaks: true),
        Case(
            testDescription: "loud noise of a sender that has told voice before",
            levels: frames(20, 0x80 | 60) + frames(5_000, 20), speaks: false),
    ]

    @Test("voice that lasts is speech; noise, coughs, clicks and silence are not", arguments: cases)
    func speech(_ one: Case) {
        var stage = SpeechStage(streams: 1)
        stage.play(one.levels)
        #expect(stage.reports.contains { !$0.streams.isEmpty } == one.speaks)
    }

    @Test("speech begins 300 ms after the voice at most, has its level, and lasts one second beyond it; then nothing more is said")
    func onsetAndHold() throws {
        var stage = SpeechStage(streams: 1)
        stage.play(Self.frames(1_000, 80) + Self.frames(1_000, 23) + Self.frames(3_000, 80))
        let first = try #require(stage.reports.first)
        #expect(first.at == 1_300 && first.streams == [SpeakingStream(stream: 0, level: -23)])
        let last = try #require(stage.reports.last)
        #expect(last.streams.isEmpty && (3_000...3_200).contains(last.at), "\(last)")
        let count = stage.reports.count
        stage.play(Self.frames(5_000, 80))
        #expect(stage.reports.count == count)
    }

    @Test("a sender that stops sending falls silent after the hold")
    func stops() throws {
        var stage = SpeechStage(streams: 1)
        stage.play(Self.frames(1_000, 23))
        stage.play(milliseconds: 2_000, { _, _ in nil }, slots: 0..<1)
        #expect(try #require(stage.reports.last).streams.isEmpty)
    }

    @Test("discontinuous transmission is silence, whatever level it has")
    func silenceFlag() {
        var meter = SpeechMeter()
        meter.reset(StreamSlot(0))
        var now = MonotonicInstant.zero
        for _ in 0..<50 {
            for _ in 0..<5 { meter.note(StreamSlot(0), level: 0x80 | 10, isSilence: true) }
            now = now.advanced(byMilliseconds: 100)
            meter.look(now: now)
            #expect(meter.report(now: now, streamsMax: 8, stream: { UInt32($0.index) }) == nil)
        }
    }

    @Test("a look that comes late makes no onset of one sound")
    func lateLook() {
        var meter = SpeechMeter()
        meter.reset(StreamSlot(0))
        let now = MonotonicInstant.zero
        meter.look(now: now)
        for step in 1...2 {
            for _ in 0..<5 { meter.note(StreamSlot(0), level: 10, isSilence: false) }
            meter.look(now: now.advanced(byMilliseconds: UInt64(step) * 60_000))
            #expect(meter.report(now: now.advanced(byMilliseconds: UInt64(step) * 60_000), streamsMax: 8, stream: { UInt32($0.index) }) == nil)
        }
    }

    @Test("two who alternate are reported together only within the hold, and in five messages a second at most")
    func alternating() {
        var stage = SpeechStage(streams: 2)
        for turn in 0..<6 {
            stage.play(milliseconds: 3_000, { slot, _ in slot == turn % 2 ? 25 : 85 }, slots: 0..<2)
            #expect(stage.reported(at: stage.milliseconds) == [UInt32(turn % 2)])
        }
        for (before, after) in zip(stage.reports, stage.reports.dropFirst()) { #expect(after.at - before.at >= 200) }
    }

    @Test("time that stands still, goes back or is at its end changes nothing", arguments: [UInt64.max, UInt64.max - 3_000_000_000, 0])
    func endOfTime(start: UInt64) {
        var stage = SpeechStage(streams: 1, start: MonotonicInstant(nanoseconds: start))
        stage.play(Self.frames(1_000, 20))
        stage.meter.look(now: .zero)
        stage.meter.look(now: .distantFuture)
        stage.meter.look(now: .distantFuture)
        #expect(stage.reports.allSatisfy { $0.streams.count <= 1 })
    }

    @Test("of a thousand streams the loudest are reported, no more than asked for; a slot beyond a room's streams is passed over")
    func thousand() throws {
        var stage = SpeechStage(streams: 1_000, streamsMax: 8)
        stage.meter.reset(StreamSlot(RoomFanout.streamsMax))
        stage.meter.note(StreamSlot(RoomFanout.streamsMax), level: 3, isSilence: false)
        stage.meter.note(StreamSlot(RoomFanout.streamsMax - 1), level: 3, isSilence: false)
        stage.play(milliseconds: 1_000, { slot, _ in UInt8(20 + slot % 20) }, slots: 0..<1_000)
        let last = try #require(stage.reports.last)
        #expect(last.streams == (0..<8).map { SpeakingStream(stream: UInt32($0 * 20), level: -20) })
    }

    @Test("a slot that begins anew has nothing of what was in it, and a stream that has ended is not reported")
    func reset() throws {
        var stage = SpeechStage(streams: 2)
        stage.play(milliseconds: 1_000, { _, _ in 25 }, slots: 0..<2)
        #expect(Set(stage.reported(at: 1_000)) == [0, 1])
        stage.meter.reset(StreamSlot(0))
        stage.play(milliseconds: 200, { slot, _ in slot == 1 ? 25 : nil }, slots: 0..<2)
        #expect(stage.reported(at: 1_200) == [1])
        stage.play(milliseconds: 200, { slot, _ in slot == 1 ? 25 : nil }, slots: 0..<2)
        let later = stage.now.advanced(byMilliseconds: 300)
        #expect(stage.meter.report(now: later, streamsMax: 8, stream: { _ in nil })?.isEmpty == true)
    }

    @Test("random levels: at most as many as asked for, only streams that there are, loudest first, five reports a second", arguments: 0..<20)
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: 0x5EED + seed)
        let (streams, most) = (Int.random(in: 1...40, using: &generator), Int.random(in: 1...8, using: &generator))
        var stage = SpeechStage(streams: streams, streamsMax: most)
        for _ in 0..<40 {
            let slots = 0..<streams
            let bytes = slots.map { _ in UInt8.random(in: 0...255, using: &generator) }
            let sends = slots.map { _ in Bool.random(using: &generator) }
            if Int.random(in: 0..<10, using: &generator) == 0 { stage.meter.reset(StreamSlot(slots.randomElement(using: &generator) ?? 0)) }
            stage.play(milliseconds: Int.random(in: 1...10, using: &generator) * 100, { slot, _ in sends[slot] ? bytes[slot] : nil }, slots: slots)
        }
        for (before, after) in zip(stage.reports, stage.reports.dropFirst()) { #expect(after.at - before.at >= 200) }
        for report in stage.reports {
            #expect(report.streams.count <= most && Set(report.streams.map(\.stream)).count == report.streams.count)
            #expect(report.streams.allSatisfy { $0.stream < streams && (-127...0).contains($0.level) })
            #expect(zip(report.streams, report.streams.dropFirst()).allSatisfy { $0.level >= $1.level })
        }
    }
}
