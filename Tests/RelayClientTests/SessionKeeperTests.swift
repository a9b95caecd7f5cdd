import AudioSession
import Signalling
import Testing

@testable import RelayClient

@Suite("A lost audio session is made anew (§1)")
struct SessionKeeperTests {
    private typealias State = RelayMessage.SessionState.State

    private static let category = ClientRequest.setCategory(.init(.playback, mode: .spokenAudio, options: .duckOthers))
    private static let activation = ClientRequest.setActive(.init(active: true, background: true, priority: 7))

    /// A keeper and the relay's half of its conversation.
    private struct Talk {
        var keeper = SessionKeeper()
        private var lastID: UInt64 = 0

        mutating func sent(_ request: ClientRequest) -> UInt64 {
            lastID += 1
            keeper.sent(lastID, request)
            return lastID
        }

        @discardableResult
        mutating func granted(_ request: ClientRequest, _ state: State) -> SessionKeeper.Outcome {
            var answer = RelayMessage.Answer()
            answer.session = RelayMessage.SessionState(state: state)
            return keeper.answered(sent(request), answer)
        }

        @discardableResult
        mutating func refused(_ request: ClientRequest, _ refusal: Refusal) -> SessionKeeper.Outcome {
            keeper.refused(sent(request), refusal)
        }

        /// Initialised, with a category, active.
        static func active() -> Talk {
            var talk = Talk()
            talk.granted(.sessionInit, .inactive)
            talk.granted(category, .inactive)
            talk.granted(activation, .active)
            return talk
        }

        /// Grants step after step from `outcome` on; what was sent, and what came of it in the end.
        mutating func recreate(_ outcome: SessionKeeper.Outcome) -> (sent: [ClientRequest], end: SessionKeeper.Outcome) {
            var sent: [ClientRequest] = []
            var outcome = outcome
            while case .send(let request) = outcome, sent.count < 10 {
                sent.append(request)
                outcome = granted(request, request == activation ? .active : .inactive)
            }
            return (sent, outcome)
        }
    }

    private static var recreated: SessionKeeper.Outcome { .recreated(RelayMessage.SessionState(state: .active)) }

    enum Loss: CaseIterable {
        case refusal
        case resumedWithout
        case resumedUninitialised
        case wereReset
        case changed
    }

    @Test("whichever way the loss is learnt: initialised, category, activation, each after the other's answer", arguments: Loss.allCases)
    func losses(_ loss: Loss) {
        var talk = Talk.active()
        let first =
            switch loss {
            case .refusal: talk.refused(.playbackPause, .sessionLost)
            case .resumedWithout: talk.keeper.resumed(nil)
            case .resumedUninitialised: talk.keeper.resumed(.init(state: .uninitialised))
            case .wereReset: talk.keeper.take(.mediaServicesWereReset)
            case .changed: talk.keeper.take(.sessionChanged(.init(session: .init(state: .uninitialised), cause: "lost")))
            }
        #expect(talk.keeper.isRecreating)
        let (sent, end) = talk.recreate(first)
        #expect(sent == [.sessionInit, Self.category, Self.activation])
        #expect(end == Self.recreated)
        #expect(!talk.keeper.isRecreating && talk.keeper.state?.state == .active)
    }

    @Test("a client that never had a session gets none, loses none, and is not restricted by one")
    func neverWanted() {
        var talk = Talk()
        #expect(talk.refused(Self.activation, .sessionLost) == .nothing)
        #expect(talk.keeper.state == nil)
        #expect(talk.keeper.resumed(nil) == .nothing)
        #expect(talk.keeper.take(.mediaServicesWereLost) == .nothing)
        #expect(talk.keeper.state == nil)
        #expect(talk.keeper.take(.mediaServicesWereReset) == .nothing)
        #expect(talk.keeper.state == nil)
    }

    @Test("a session that stands is left alone on resumption, and its state is the relay's")
    func resumed() {
        var talk = Talk.active()
        #expect(talk.keeper.resumed(.init(state: .interrupted)) == .nothing)
        #expect(talk.keeper.state?.state == .interrupted)
    }

    @Test("an inactive session is made anew inactive")
    func inactive() {
        var talk = Talk.active()
        talk.granted(.setActive(.init(active: false)), .inactive)
        let first = talk.keeper.resumed(nil)
        #expect(talk.recreate(first).sent == [.sessionInit, Self.category])
    }

    @Test(
        "what ended without the word to resume leaves nothing to activate",
        arguments: [
            RelayMessage.interruptionEnded(.init(shouldResume: false, cause: "left")),
            .sessionChanged(.init(session: .init(state: .inactive), cause: "refused")),
        ])
    func notToResume(_ news: RelayMessage) {
        var talk = Talk.active()
        _ = talk.keeper.take(.interruptionBegan(.init(reason: "handoff")))
        #expect(talk.keeper.state?.state == .interrupted)
        _ = talk.keeper.take(news)
        #expect(talk.keeper.state?.state == .inactive)
        let first = talk.keeper.resumed(nil)
        #expect(talk.recreate(first).sent == [.sessionInit, Self.category])
    }

    @Test("§3 after an interruption that ends with shouldResume the session is active again by itself")
    func toResume() {
        var talk = Talk.active()
        _ = talk.keeper.take(.interruptionBegan(.init(reason: "handoff")))
        _ = talk.keeper.take(.interruptionEnded(.init(shouldResume: true, cause: "deactivated")))
        #expect(talk.keeper.state?.state == .active)
        let first = talk.keeper.resumed(nil)
        #expect(talk.recreate(first).sent.last == Self.activation)
    }

    @Test("a session that is lost during a call is not activated before the call is over, and then only to resume", arguments: [true, false])
    func duringACall(shouldResume: Bool) {
        var talk = Talk.active()
        talk.granted(.interruptionBegan(.init()), .interrupted)
        let first = talk.keeper.resumed(nil)
        #expect(talk.recreate(first).sent == [.sessionInit, Self.category])
        let after = talk.granted(.interruptionEnded(.init(shouldResume: shouldResume)), .inactive)
        #expect(after == (shouldResume ? .send(Self.activation) : .nothing))
        guard shouldResume else { return }
        #expect(talk.recreate(after).end == Self.recreated)
    }

    @Test("§4 a missing end that the relay makes up for ends the client's own interruption", arguments: InterruptionEnd.allCases)
    func missingEnd(_ cause: InterruptionEnd) {
        var talk = Talk.active()
        talk.granted(.interruptionBegan(.init()), .interrupted)
        _ = talk.keeper.take(.interruptionEnded(.init(shouldResume: false, cause: cause.rawValue)))
        #expect(talk.keeper.isInterruptedHere == (cause != .timeout && cause != .media))
    }

    @Test("a step that is refused ends it, and is told")
    func refusedStep() {
        var talk = Talk.active()
        #expect(talk.keeper.resumed(nil) == .send(.sessionInit))
        talk.granted(.sessionInit, .inactive)
        talk.granted(Self.category, .inactive)
        #expect(talk.refused(Self.activation, .insufficientPriority) == .failed(.insufficientPriority))
        #expect(!talk.keeper.isRecreating)
    }

    @Test("several requests that find out about one loss make the session anew once")
    func once() {
        var talk = Talk.active()
        let pause = talk.sent(.playbackPause)
        let route = talk.sent(.routeChanged(.init(reason: 1)))
        #expect(talk.keeper.refused(pause, .sessionLost) == .send(.sessionInit))
        _ = talk.sent(.sessionInit)
        #expect(talk.keeper.refused(route, .sessionLost) == .nothing)
    }

    @Test("a connection that is lost in between has the step that was under way taken again")
    func lostInBetween() {
        var talk = Talk.active()
        _ = talk.keeper.resumed(nil)
        talk.granted(.sessionInit, .inactive)
        _ = talk.sent(Self.category)
        #expect(talk.keeper.resumed(.init(state: .inactive)) == .send(Self.category))
    }

    @Test("refusals of other kinds change nothing that is wanted", arguments: [Refusal.illegalCategory, .insufficientPriority, .ioRunning])
    func otherRefusals(_ refusal: Refusal) {
        var talk = Talk.active()
        #expect(talk.refused(.setActive(.init(active: false)), refusal) == .nothing)
        let first = talk.keeper.resumed(nil)
        #expect(talk.recreate(first).sent.last == Self.activation)
    }
}
