import RelayBase
import RelayServer
import Signalling

/// What a script's steps are held against.
struct ScriptFacts {
    /// `nil`: there is no audio session.
    var session: RelayMessage.SessionState.State?
    /// Since the script began.
    var frames: UInt64 = 0
    var unexpectedFrames: UInt64 = 0
    /// First frames since media last began to flow.
    var starts: [MediaStart] = []
    /// Streams whose first frame is still to come.
    var awaited = 0
}

/// Goes through a script's steps, one after the other, and says what is to be done. Pure: the time, the events and what is known come in.
struct ScriptRun {
    enum Action: Equatable {
        /// The step is to be done; a request's answer is told by ``ScriptRun/answered(_:now:)``.
        case perform(ScriptStep)
        /// It is done; with a sentence on what was not as it should be, and then it was the last.
        case finished(ScriptStep, nanoseconds: UInt64, failure: String?)
    }

    private enum State {
        case between(since: MonotonicInstant)
        case asking(since: MonotonicInstant)
        case answered(since: MonotonicInstant, failure: String?)
        case waiting(since: MonotonicInstant, until: MonotonicInstant)
        case watching(since: MonotonicInstant, until: MonotonicInstant, framesBefore: UInt64, eventsBefore: Int)
        case over
    }

    private struct Event {
        let name: String
        let members: [String: JSONValue]
    }

    private let steps: [ScriptStep]
    private let start: MonotonicInstant
    private var place = 0
    private var state: State
    /// What has happened since the last request was sent, and has not been waited for.
    private var events: [Event] = []
    /// How many were forgotten before them.
    private var eventsBefore = 0
    private(set) var failure: (step: ScriptStep, sentence: String)?

    static let answerNanosecondsMax: UInt64 = 20_000_000_000
    private static let eventsMax = 10_000

    init(_ script: ListenScript, start: MonotonicInstant) {
        steps = script.steps
        self.start = start
        state = .between(since: start)
    }

    var isOver: Bool {
        if case .over = state { true } else { false }
    }

    /// When ``turn(now:_:)`` is to be called at the latest.
    var nextDeadline: MonotonicInstant {
        switch state {
        case .between(let since): due(since)
        case .asking(let since): since.advanced(byNanoseconds: Self.answerNanosecondsMax)
        case .answered: .zero
        case .waiting(_, let until), .watching(_, let until, _, _): until
        case .over: .distantFuture
        }
    }

    private func due(_ since: MonotonicInstant) -> MonotonicInstant {
        guard place < steps.count else { return since }
        return switch steps[place].start {
        case .at(let nanoseconds): max(since, start.advanced(byNanoseconds: nanoseconds))
        case .after(let nanoseconds): since.advanced(byNanoseconds: nanoseconds)
        }
    }

    // MARK: What is told

    mutating func happened(_ name: String, _ members: [String: JSONValue] = [:]) {
        guard !isOver else { return }
        if events.count >= Self.eventsMax { forget(events.count / 2) }
        events.append(Event(name: name, members: members))
    }

    /// The request that is under way was answered.
    ///
    /// - Parameter refusal: the code that it was refused with; `nil`: it was granted.
    mutating func answered(_ refusal: String?) {
        guard case .asking(let since) = state, place < steps.count else { return }
        let expected: ScriptStep.Expected =
            switch steps[place].action {
            case .request(_, let expected), .publish(_, let expected): expected
            default: .ok
            }
        let failure: String? =
            switch (expected, refusal) {
            case (.ok, nil): nil
            case (.ok, let code?): "was refused: \(code)"
            case (.refusal(let wanted), nil): "was granted instead of refused with \(wanted)"
            case (.refusal(let wanted), let code?): code == wanted ? nil : "was refused with \(code) instead of \(wanted)"
            }
        state = .answered(since: since, failure: failure)
    }

    /// A step could not even be begun.
    mutating func failed(_ sentence: String) {
        guard case .asking(let since) = state else { return }
        state = .answered(since: since, failure: sentence)
    }

    private mutating func forget(_ count: Int) {
        events.removeFirst(count)
        eventsBefore += count
    }

    // MARK: Turning

    /// What is to be done or told now; `nil` when nothing is before ``nextDeadline`` or the next thing that is told.
    mutating func turn(now: MonotonicInstant, _ facts: ScriptFacts) -> Action? {
        guard !isOver else { return nil }
        guard place < steps.count else {
            state = .over
            return nil
        }
        let step = steps[place]
        switch state {
        case .over: return nil
        case .between(let since): return now >= due(since) ? begin(step, now: now, facts) : nil
        case .asking(let since):
            guard now >= since.advanced(byNanoseconds: Self.answerNanosecondsMax) else { return nil }
            return finish(step, since: since, now: now, "was not answered")
        case .answered(let since, let failure): return finish(step, since: since, now: now, failure)
        case .waiting(let since, let until):
            guard case .wait(let pattern, _) = step.action else { return nil }
            if let found = events.firstIndex(where: { Self.matches($0, pattern) }) {
                forget(found + 1)
                return finish(step, since: since, now: now, nil)
            }
            return now >= until ? finish(step, since: since, now: now, "did not come") : nil
        case .watching(let since, let until, let framesBefore, let eventsBefore):
            return watch(step, now: now, facts, since: since, until: until, framesBefore: framesBefore, eventsBefore: eventsBefore)
        }
    }

    private mutating func begin(_ step: ScriptStep, now: MonotonicInstant, _ facts: ScriptFacts) -> Action? {
        switch step.action {
        case .request, .publish:
            // What comes from now on may be an effect of it.
            forget(events.count)
            state = .asking(since: now)
            return .perform(step)
        case .microphone, .disconnect, .reconnect, .renew:
            state = .asking(since: now)
            return .perform(step)
        case .wait(_, let limit):
            state = .waiting(since: now, until: now.advanced(byNanoseconds: limit))
        case .stay(let nanoseconds):
            state = .watching(since: now, until: now.advanced(byNanoseconds: nanoseconds), framesBefore: 0, eventsBefore: 0)
        case .expect(let expectation):
            if let failure = Self.failureAtOnce(expectation, facts) { return finish(step, since: now, now: now, failure) }
            guard expectation.needsTime else { return finish(step, since: now, now: now, nil) }
            state = .watching(
                since: now, until: now.advanced(byNanoseconds: expectation.nanoseconds), framesBefore: facts.frames,
                eventsBefore: eventsBefore + events.count)
        }
        return turn(now: now, facts)
    }

    private mutating func finish(_ step: ScriptStep, since: MonotonicInstant, now: MonotonicInstant, _ failure: String?) -> Action {
        place += 1
        if let failure {
            self.failure = (step, failure)
            state = .over
        } else {
            state = .between(since: now)
        }
        return .finished(step, nanoseconds: now.nanoseconds(since: since), failure: failure)
    }

    // MARK: Expectations

    private mutating func watch(
        _ step: ScriptStep, now: MonotonicInstant, _ facts: ScriptFacts, since: MonotonicInstant, until: MonotonicInstant, framesBefore: UInt64,
        eventsBefore: Int
    ) -> Action? {
        guard case .expect(let expectation) = step.action else {
            return now >= until ? finish(step, since: since, now: now, nil) : nil
        }
        if let failure = Self.failureAtOnce(expectation, facts) { return finish(step, since: since, now: now, failure) }
        let frames = facts.frames &- framesBefore
        if expectation.media == Expectation.Media.none, frames > 0 {
            return finish(step, since: since, now: now, "media came: \(frames) frames, where none was to come")
        }
        if let pattern = expectation.noEvent,
            events.dropFirst(max(0, eventsBefore - self.eventsBefore)).contains(where: { Self.matches($0, pattern) })
        {
            return finish(step, since: since, now: now, "\(pattern.event) came")
        }
        let flows = expectation.media != .flowing || frames > 0
        let hasBegun = !expectation.isAboutStarts || !facts.starts.isEmpty
        if now >= until { return finish(step, since: since, now: now, flows ? hasBegun ? nil : "no media has begun" : "no media came") }
        // What must not come is waited for to the end; what must come, until it is there.
        let isSettled = expectation.media != Expectation.Media.none && expectation.noEvent == nil
        let isComplete = flows && hasBegun && (!expectation.isAboutStarts || facts.awaited == 0)
        return isSettled && isComplete ? finish(step, since: since, now: now, nil) : nil
    }

    /// What is wrong already; `nil`: nothing that can be known at once.
    static func failureAtOnce(_ expectation: Expectation, _ facts: ScriptFacts) -> String? {
        if let wanted = expectation.session, facts.session != wanted {
            return "the session is \(facts.session?.rawValue ?? "not there") instead of \(wanted.rawValue)"
        }
        if let most = expectation.unexpectedFramesMax, facts.unexpectedFrames > UInt64(most) {
            return "\(facts.unexpectedFrames) frames came although nothing was to come"
        }
        guard expectation.isAboutStarts else { return nil }
        for start in facts.starts {
            let stream = "the first \(start.kind) of stream \(start.stream)"
            if let most = expectation.youngerThanNanoseconds, start.kind == StreamKind.audio.rawValue {
                guard let age = start.ageMilliseconds else { return "\(stream) does not say when it was captured" }
                if age * 1e6 >= Double(most) { return "\(stream) was \(age) ms old" }
            }
            if let wanted = expectation.videoStartsWithKey, start.kind == StreamKind.video.rawValue, start.key != wanted {
                return "\(stream) was \(start.key ? "a" : "no") key frame"
            }
            if let wanted = expectation.discontinuous, start.discontinuity != wanted {
                return "\(stream) had \(start.discontinuity ? "the" : "no") discontinuity flag"
            }
        }
        return nil
    }

    private static func matches(_ event: Event, _ pattern: ScriptStep.Pattern) -> Bool {
        event.name == pattern.event && pattern.members.allSatisfy { event.members[$0.key] == $0.value }
    }
}
