import RelayBase
import RelayServer
import Signalling
import Testing

@testable import segue

@Suite("Scripts of audio sessions: playing")
struct ScriptRunTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private static func later(_ milliseconds: UInt64) -> MonotonicInstant { start.advanced(byMilliseconds: milliseconds) }

    /// A run, its clock and what it is held against.
    private struct Play {
        var run: ScriptRun
        var facts = ScriptFacts()
        /// What was done and told, as `do` or `do ok` or `do: failure`.
        var told: [String] = []
        /// Milliseconds since the beginning, of each.
        var times: [UInt64] = []

        init(_ steps: String) throws {
            run = ScriptRun(try ListenScript(text: Array("{steps: [\(steps)]}".utf8)), start: start)
        }

        mutating func turn(_ milliseconds: UInt64) {
            while let action = run.turn(now: later(milliseconds), facts) {
                times.append(milliseconds)
                switch action {
                case .perform(let step): told.append(step.word)
                case .finished(let step, _, let failure): told.append("\(step.word)\(failure.map { ": \($0)" } ?? " ok")")
                }
            }
        }

        mutating func answer(_ refusal: String? = nil, at milliseconds: UInt64) {
            run.answered(refusal)
            turn(milliseconds)
        }
    }

    @Test("steps go one after the other: at counts from the beginning, after from the end of the step before")
    func order() throws {
        var play = try Play("{at: '1s', do: 'playback.pause'}, {after: '1s', do: 'playback.continue'}, {at: '1s', do: 'session.init'}")
        #expect(play.run.nextDeadline == Self.later(1_000))
        play.turn(999)
        #expect(play.told.isEmpty)
        play.turn(1_000)
        #expect(play.told == ["playback.pause"])
        // Nothing else before the answer.
        play.turn(5_000)
        #expect(play.told.count == 1)
        play.answer(at: 5_000)
        #expect(play.told == ["playback.pause", "playback.pause ok"])
        #expect(play.run.nextDeadline == Self.later(6_000))
        play.turn(6_000)
        play.answer(at: 6_100)
        // Its time has passed long since.
        #expect(play.told.last == "session.init" && play.times.last == 6_100)
        play.answer(at: 6_200)
        #expect(play.run.isOver && play.run.failure == nil && play.run.nextDeadline == .distantFuture)
    }

    @Test(
        "a request must come to what is expected of it",
        arguments: [
            ("", nil, nil), ("", "category", "was refused: category"), ("refused: 'category'", "category", nil),
            ("refused: 'category'", nil, "was granted instead of refused with category"),
            ("refused: 'category'", "role", "was refused with role instead of category"),
        ] as [(String, String?, String?)])
    func answers(_ members: String, _ refusal: String?, _ failure: String?) throws {
        var play = try Play("{do: 'session.init', \(members)}, {do: 'playback.pause'}")
        play.turn(0)
        play.answer(refusal, at: 10)
        #expect(play.run.failure?.sentence == failure)
        // After the first that fails there are no others.
        #expect(play.told.last == (failure == nil ? "playback.pause" : "session.init: \(failure ?? "")"))
        #expect(play.run.isOver == (failure != nil))
    }

    @Test("a request without an answer fails in the end")
    func unanswered() throws {
        var play = try Play("{do: 'session.init'}")
        play.turn(0)
        play.turn(19_999)
        #expect(play.told == ["session.init"] && play.run.nextDeadline == Self.later(20_000))
        play.turn(20_000)
        #expect(play.run.failure?.sentence == "was not answered")
    }

    @Test("an event counts from the request before on, once, and with the members that are asked for")
    func waiting() throws {
        let wait = "{do: 'wait', event: 'interruption.ended', with: {shouldResume: false}, timeout: '1s'}"
        var play = try Play("{do: 'playback.pause'}, \(wait), \(wait)")
        play.turn(0)
        // While the request is under way: counted.
        play.run.happened("interruption.ended", ["shouldResume": .bool(true)])
        play.run.happened("interruption.ended", ["shouldResume": .bool(false), "cause": .string("left")])
        play.answer(at: 10)
        #expect(play.told.suffix(1) == ["wait ok"])
        play.turn(1_009)
        #expect(play.run.failure == nil)
        play.turn(1_010)
        #expect(play.run.failure?.sentence == "did not come")
    }

    @Test("what came before the last request is not waited for")
    func before() throws {
        var play = try Play("{at: '1s', do: 'playback.pause'}, {do: 'wait', event: 'lost', timeout: '1s'}")
        play.run.happened("lost")
        play.turn(1_000)
        play.answer(at: 1_000)
        play.turn(2_000)
        #expect(play.run.failure?.sentence == "did not come")
    }

    @Test("media that flows is found at once; that none comes takes its time")
    func media() throws {
        var play = try Play("{do: 'expect', media: 'flowing', for: '2s'}, {do: 'expect', media: 'none', for: '1s'}")
        play.facts.frames = 10
        play.turn(0)
        #expect(play.told.isEmpty)
        play.facts.frames = 11
        play.turn(500)
        #expect(play.told == ["expect ok"])
        play.turn(1_499)
        #expect(play.told.count == 1)
        play.turn(1_500)
        #expect(play.told == ["expect ok", "expect ok"] && play.run.isOver && play.run.failure == nil)
    }

    @Test(
        "media that should or should not be fails the step",
        arguments: [("flowing", UInt64(0), UInt64(1_000)), ("none", 1, 300)])
    func mediaFails(_ expected: String, _ frames: UInt64, _ failsAt: UInt64) throws {
        var play = try Play("{do: 'expect', media: '\(expected)', for: '1s'}")
        play.turn(0)
        play.facts.frames = frames
        play.turn(300)
        #expect((play.run.failure != nil) == (failsAt == 300))
        play.turn(1_000)
        #expect(play.run.failure != nil && play.times.last == failsAt)
    }

    @Test("an event that must not come")
    func noEvent() throws {
        let expect = "{do: 'expect', noEvent: 'interruption.ended', for: '1s'}"
        var quiet = try Play("{do: 'playback.pause'}, \(expect)")
        quiet.turn(0)
        // Before the step: that is not meant.
        quiet.run.happened("interruption.ended")
        quiet.answer(at: 0)
        quiet.run.happened("duck.began")
        quiet.turn(1_000)
        #expect(quiet.run.failure == nil && quiet.told.last == "expect ok")
        var loud = try Play(expect)
        loud.turn(0)
        loud.run.happened("interruption.ended")
        loud.turn(10)
        #expect(loud.run.failure?.sentence == "interruption.ended came")
    }

    private static func start(_ kind: String, age: Double? = 20, key: Bool = true, discontinuity: Bool = true) -> MediaStart {
        MediaStart(stream: 1, kind: kind, key: key, discontinuity: discontinuity, configured: true, ageMilliseconds: age, silenceMilliseconds: nil)
    }

    struct Case: Sendable {
        let expectation: String
        let facts: ScriptFacts
        let holds: Bool

        init(_ expectation: String, _ facts: ScriptFacts, _ holds: Bool) {
            self.expectation = expectation
            self.facts = facts
            self.holds = holds
        }
    }

    @Test(
        "what can be known at once",
        arguments: [
            Case("session: 'active'", .init(session: .active), true), Case("session: 'active'", .init(session: .interrupted), false),
            Case("session: 'active'", .init(), false), Case("unexpectedFramesMax: 0", .init(), true),
            Case("unexpectedFramesMax: 0", .init(unexpectedFrames: 1), false),
            Case("youngerThan: '200ms'", .init(), false), Case("youngerThan: '200ms'", .init(starts: [start("audio")]), true),
            Case("youngerThan: '200ms'", .init(starts: [start("audio", age: 200)]), false),
            Case("youngerThan: '200ms'", .init(starts: [start("audio", age: nil)]), false),
            Case("youngerThan: '200ms'", .init(starts: [start("video", age: 900), start("audio")]), true),
            Case("videoStartsWithKey: true", .init(starts: [start("video")]), true),
            Case("videoStartsWithKey: true", .init(starts: [start("audio"), start("video", key: false)]), false),
            Case("discontinuous: true", .init(starts: [start("audio"), start("video")]), true),
            Case("discontinuous: true", .init(starts: [start("audio"), start("video", discontinuity: false)]), false),
            Case("discontinuous: false", .init(starts: [start("audio")]), false),
        ])
    func atOnce(_ test: Case) throws {
        var play = try Play("{do: 'expect', \(test.expectation)}")
        play.facts = test.facts
        play.turn(0)
        play.turn(500)
        #expect((play.run.failure == nil) == test.holds)
        #expect(play.told.count == 1)
    }

    @Test("every stream's first frame is waited for; the one that is wrong is told at once", arguments: [true, false])
    func awaited(isRight: Bool) throws {
        var play = try Play("{do: 'expect', discontinuous: true, for: '2s'}")
        play.facts.starts = [Self.start("audio")]
        play.facts.awaited = 1
        play.turn(0)
        #expect(play.told.isEmpty)
        play.facts.starts.append(Self.start("video", discontinuity: isRight))
        play.facts.awaited = 0
        play.turn(100)
        #expect(play.told.count == 1 && (play.run.failure == nil) == isRight)
    }

    @Test("a stream whose first frame does not come in time is not judged")
    func silentStream() throws {
        var play = try Play("{do: 'expect', discontinuous: true, for: '2s'}")
        play.facts.starts = [Self.start("audio")]
        play.facts.awaited = 1
        play.turn(0)
        play.turn(1_999)
        #expect(play.told.isEmpty)
        play.turn(2_000)
        #expect(play.told == ["expect ok"])
    }

    @Test("what happens without end is forgotten, the oldest first")
    func bounded() throws {
        var play = try Play("{do: 'stay', for: '1s'}, {do: 'wait', event: 'resumed'}")
        play.turn(0)
        for _ in 0..<100_000 { play.run.happened("lost") }
        play.run.happened("resumed")
        play.turn(1_000)
        #expect(play.told == ["stay ok", "wait ok"])
    }

    @Test("a step that cannot be begun fails")
    func cannot() throws {
        var play = try Play("{do: 'stream.pause', stream: 'audio'}")
        play.turn(0)
        play.run.failed("nobody publishes audio")
        play.turn(1)
        #expect(play.run.failure?.sentence == "nobody publishes audio")
    }
}
