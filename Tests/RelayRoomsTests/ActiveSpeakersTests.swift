import RelayBase
import Testing

@testable import RelayRooms

@Suite("Who speaks in a room")
struct ActiveSpeakersTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// Streams and their levels in each second, and the order that is told then.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let seconds: [(levels: [UInt32: Int], told: [UInt32])]
    }

    private static let cases: [Case] = [
        Case(testDescription: "the louder goes first", seconds: [([1: -40, 2: -20], [2, 1])]),
        Case(testDescription: "of those alike the one published first", seconds: [([3: -30, 1: -30, 2: -30], [1, 2, 3])]),
        Case(
            testDescription: "5 dB do not change places, 6 dB do",
            seconds: [([1: -30, 2: -31], [1, 2]), ([1: -30, 2: -25], [1, 2]), ([1: -30, 2: -24], [2, 1])]),
        Case(
            testDescription: "who comes must be louder by 6 dB to go before who is there",
            seconds: [([1: -30], [1]), ([1: -30, 2: -26], [1, 2]), ([1: -30, 3: -20], [3, 1])]),
        Case(
            testDescription: "who falls silent goes, the others keep their order",
            seconds: [([1: -20, 2: -28, 3: -30], [1, 2, 3]), ([2: -28, 3: -26], [2, 3]), ([:], [])]),
        Case(
            testDescription: "two who alternate",
            seconds: [([1: -25], [1]), ([1: -50, 2: -25], [2, 1]), ([2: -25], [2]), ([1: -25, 2: -50], [1, 2])]),
        Case(
            testDescription: "crosstalk within the margin does not flicker",
            seconds: [([1: -25, 2: -30], [1, 2]), ([1: -31, 2: -26], [1, 2]), ([1: -24, 2: -29], [1, 2]), ([1: -30, 2: -25], [1, 2])]),
        Case(
            testDescription: "one passes several",
            seconds: [([1: -20, 2: -27, 3: -34, 4: -41], [1, 2, 3, 4]), ([1: -20, 2: -27, 3: -34, 4: -10], [4, 1, 2, 3])]),
    ]

    @Test("loudest first, with hysteresis", arguments: cases)
    func order(_ one: Case) {
        var speakers = ActiveSpeakers()
        for (second, step) in one.seconds.enumerated() {
            speakers.report(from: 0, step.levels.map { SpeakingStream(stream: $0.key, level: $0.value) })
            _ = speakers.look(now: Self.start.advanced(byMilliseconds: UInt64(second) * 1_000), most: 8) { ParticipantID($0) }
            #expect(speakers.current.map(\.stream) == step.told, "second \(second)")
        }
    }

    @Test("several loops' reports are one; each takes the place of the loop's last")
    func loops() {
        var speakers = ActiveSpeakers()
        speakers.report(from: 0, [.init(stream: 1, level: -40)])
        speakers.report(from: 2, [.init(stream: 7, level: -20)])
        #expect(speakers.look(now: Self.start, most: 8) { ParticipantID($0 + 100) } == .changed)
        #expect(speakers.current.map(\.participant) == [ParticipantID(107), ParticipantID(101)])
        speakers.report(from: 0, [])
        #expect(speakers.look(now: Self.start.advanced(byMilliseconds: 200), most: 8) { ParticipantID($0 + 100) } == .changed)
        #expect(speakers.current.map(\.stream) == [7])
    }

    @Test("who is heard in no stream is left out, and makes room; levels alone are no change")
    func notHeard() {
        var speakers = ActiveSpeakers()
        speakers.report(from: 0, (1...4).map { .init(stream: $0, level: -10 * Int($0)) })
        #expect(speakers.look(now: Self.start, most: 2) { $0 == 1 ? nil : ParticipantID($0) } == .changed)
        #expect(speakers.current.map(\.stream) == [2, 3])
        speakers.report(from: 0, (1...4).map { .init(stream: $0, level: -10 * Int($0) - 1) })
        #expect(speakers.look(now: Self.start.advanced(byMilliseconds: 900), most: 2) { $0 == 1 ? nil : ParticipantID($0) } == .unchanged)
    }

    @Test("changes are five a second at most: a sixth is told when it may be")
    func pace() {
        var speakers = ActiveSpeakers()
        speakers.report(from: 0, [.init(stream: 1, level: -20)])
        #expect(speakers.look(now: Self.start, most: 8) { ParticipantID($0) } == .changed)
        speakers.report(from: 0, [])
        let due = Self.start.advanced(byMilliseconds: 200)
        #expect(speakers.look(now: Self.start.advanced(byMilliseconds: 1), most: 8) { ParticipantID($0) } == .early(due))
        #expect(speakers.current.count == 1)
        #expect(speakers.look(now: due, most: 8) { ParticipantID($0) } == .changed)
        #expect(speakers.current.isEmpty)
    }

    @Test("who spoke last: those who speak first, then the others, each once; who leaves is forgotten")
    func recent() {
        var speakers = ActiveSpeakers()
        let says: [[UInt32: Int]] = [[1: -20], [2: -20], [3: -20, 2: -30], [1: -20]]
        for (second, levels) in says.enumerated() {
            speakers.report(from: 0, levels.map { SpeakingStream(stream: $0.key, level: $0.value) })
            // Stream 3 is a second one of participant 2's.
            _ = speakers.look(now: Self.start.advanced(byMilliseconds: UInt64(second) * 1_000), most: 8) { ParticipantID($0 == 3 ? 2 : $0) }
        }
        #expect(speakers.recent == [ParticipantID(1), ParticipantID(2)])
        speakers.forget(ParticipantID(1))
        #expect(speakers.recent == [ParticipantID(2)])
        for stream in 10..<200 as Range<UInt32> {
            speakers.report(from: 0, [.init(stream: stream, level: -20)])
            _ = speakers.look(now: Self.start.advanced(byMilliseconds: UInt64(stream) * 1_000), most: 8) { ParticipantID($0) }
        }
        #expect(speakers.recent == (0..<UInt32(ActiveSpeakers.recentMax)).map { ParticipantID(199 - $0) })
    }

    @Test("random reports: never more than there may be, nobody unknown, nobody twice, five changes a second", arguments: 0..<20)
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: 0xACE + seed)
        var speakers = ActiveSpeakers()
        var (now, changes) = (Self.start, [MonotonicInstant]())
        let most = Int.random(in: 1...8, using: &generator)
        for _ in 0..<500 {
            now = now.advanced(byMilliseconds: UInt64.random(in: 0...120, using: &generator))
            let count = Int.random(in: 0...12, using: &generator)
            speakers.report(
                from: Int.random(in: 0..<3, using: &generator),
                (0..<count).map { _ in
                    .init(stream: UInt32.random(in: 0..<30, using: &generator), level: Int.random(in: -127...0, using: &generator))
                })
            let ended = UInt32.random(in: 0..<30, using: &generator)
            if speakers.look(now: now, most: most, publisher: { $0 == ended ? nil : ParticipantID($0 % 10) }) == .changed {
                changes.append(now)
                #expect(!speakers.current.contains { $0.stream == ended })
            }
            #expect(speakers.current.count <= most && Set(speakers.current.map(\.stream)).count == speakers.current.count)
            #expect(Set(speakers.recent).count == speakers.recent.count && speakers.recent.count <= ActiveSpeakers.recentMax)
        }
        for (before, after) in zip(changes, changes.dropFirst()) { #expect(after.milliseconds(since: before) >= 200) }
    }
}

@Suite("Who speaks in the rooms of a directory")
struct DirectorySpeakersTests {
    private struct Stage {
        var directory = TestDirectory.make { $0.speakersMax = 2 }
        let number: RoomNumber
        let members: [ParticipantID]
        let streams: [UInt32]
        var now = MonotonicInstant(nanoseconds: 1)

        init() throws {
            let host = try directory.enter("r", "host", role: .host)
            number = host.room.number
            var members = [host.member.id]
            for name in ["a", "b"] { members.append(try directory.enter("r", name).member.id) }
            var streams: [UInt32] = []
            for member in members {
                streams.append(try directory.publish(number, member, lane: .audio, settings: RoomSettings(), description: "").stream.id)
            }
            (self.members, self.streams) = (members, streams)
            directory.noteSpeech(number, from: 0, streams.enumerated().map { SpeakingStream(stream: $1, level: -20 - $0) })
        }

        mutating func speaking(held: String? = nil) -> [ParticipantID] {
            now = now.advanced(byMilliseconds: 1_000)
            _ = directory.lookAtSpeakers(number, now: now) { $0 == held }
            return directory.rooms[number]?.speakers.current.map(\.participant) ?? []
        }
    }

    @Test("at most speakersMax; who is muted or held, whose stream has ended, and who has left is no speaker")
    func whoCounts() throws {
        var stage = try Stage()
        #expect(stage.speaking() == [stage.members[0], stage.members[1]])
        #expect(stage.speaking(held: "host") == [stage.members[1], stage.members[2]])
        _ = try stage.directory.mute(stage.number, by: stage.members[0], stage.members[1], [.audio], true)
        #expect(stage.speaking(held: "host") == [stage.members[2]])
        _ = try stage.directory.mute(stage.number, by: stage.members[0], stage.members[1], [.audio], false)
        _ = try stage.directory.mute(stage.number, by: stage.members[0], stage.members[1], [.video], true)
        #expect(stage.speaking() == [stage.members[2], stage.members[0]])
        _ = try stage.directory.unpublish(stage.number, stage.members[2], stream: stage.streams[2])
        #expect(stage.speaking() == [stage.members[0], stage.members[1]])
        _ = stage.directory.leave(stage.number, stage.members[0])
        #expect(stage.speaking() == [stage.members[1]])
        #expect(stage.directory.rooms[stage.number]?.speakers.recent == [stage.members[1], stage.members[2]])
    }

    @Test("a room that there is not has no speakers; a large one changes less often")
    func bounds() throws {
        var directory = TestDirectory.make { $0.participantsPerRoomMax = 10_000 }
        directory.noteSpeech(RoomNumber(77), from: 0, [SpeakingStream(stream: 1, level: 0)])
        #expect(directory.lookAtSpeakers(RoomNumber(77), now: .zero) { _ in false } == .unchanged)
        let speaker = try directory.enter("r", "speaker")
        for place in 0..<2_999 { _ = try directory.enter("r", "\(place)", role: .listener) }
        let number = speaker.room.number
        let stream = try directory.publish(number, speaker.member.id, lane: .audio, settings: RoomSettings(), description: "").stream.id
        directory.noteSpeech(number, from: 0, [SpeakingStream(stream: stream, level: -20)])
        #expect(directory.lookAtSpeakers(number, now: .zero) { _ in false } == .changed)
        directory.noteSpeech(number, from: 0, [])
        let due = MonotonicInstant.zero.advanced(byMilliseconds: 600)
        #expect(directory.lookAtSpeakers(number, now: .zero) { _ in false } == .early(due))
        #expect(directory.lookAtSpeakers(number, now: due) { _ in false } == .changed)
    }
}
