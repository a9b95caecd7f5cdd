import AudioSession
import RelayBase
import Testing

@Suite("Activation and arbitration")
struct SessionArbitrationTests {
    private let phone = SessionBench.phone
    private let tablet = SessionBench.tablet
    private let television = SessionBench.television

    private func ended(_ shouldResume: Bool, _ cause: InterruptionEnd = .deactivated) -> SessionEffect {
        .event(.interruptionEnded(shouldResume: shouldResume, cause))
    }

    @Test("§3 A is told of its interruption after its media has stopped, and before B is answered")
    func handoff() {
        var bench = SessionBench()
        bench.begin(phone)
        let effects = bench.begin(tablet)
        #expect(
            told(effects, phone) == [
                .stopMedia(.interrupted), .event(.interruptionBegan(.handoff, device: "tablet")), .showInterrupted(.handoff), .showHeld(true),
            ])
        #expect(told(effects, tablet) == [.applyRights(.playAndRecord), .startMedia])
        #expect(effects.prefix(4).allSatisfy { $0.session == phone })
        #expect(bench.state(phone) == .interrupted)
        #expect(answer(effects, tablet)?.state == .active)
    }

    @Test("§3 notifyOthersOnDeactivation is shouldResume, and A's media starts again", arguments: [true, false])
    func deactivation(notify: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        let effects = bench.say(tablet, .deactivate(notifyOthers: notify))
        let resumed: [SessionEffect] = [ended(true), .applyRights(.playAndRecord), .startMedia, .showInterrupted(nil), .showHeld(false)]
        #expect(told(effects, phone) == (notify ? resumed : [ended(false), .showInterrupted(nil)]))
        #expect(bench.state(phone) == (notify ? .active : .inactive))
        #expect(told(effects, tablet) == [.stopMedia(.deactivated), .showHeld(true)])
    }

    @Test("§3 nested A ← B ← C: C's end goes to B only, and B's end to A", arguments: [true, false], [true, false])
    func nested(first: Bool, second: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        bench.begin(television)
        let inner = bench.say(television, .deactivate(notifyOthers: first))
        #expect(told(inner, tablet).first == ended(first))
        #expect(told(inner, phone).isEmpty)
        let outer = bench.say(tablet, .deactivate(notifyOthers: second))
        #expect(told(outer, phone).first == ended(second))
        #expect(told(outer, television).isEmpty)
        #expect(bench.state(phone) == (second ? .active : .inactive))
    }

    @Test("§3 A ← B ← C, B is deactivated: with the flag A waits for C, without it A is told at once", arguments: [true, false])
    func middle(notify: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        bench.begin(television)
        let effects = bench.say(tablet, .deactivate(notifyOthers: notify))
        #expect(told(effects, tablet).contains(ended(false)))
        #expect(told(effects, phone) == (notify ? [] : [ended(false), .showInterrupted(nil)]))
        #expect(bench.sessions.snapshot(of: phone)?.interruption?.interrupter == (notify ? television : nil))
        #expect(told(bench.say(television, .deactivate(notifyOthers: true)), phone).first == (notify ? ended(true) : nil))
    }

    // MARK: Leaving

    @Test("§3 the interrupter's connection is lost: nothing yet; it resumes: nothing at all")
    func parked() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        #expect(bench.say(tablet, .parked).isEmpty)
        #expect(bench.sessions.snapshot(of: tablet)?.isParked == true)
        #expect(bench.say(tablet, .resumed).isEmpty)
        #expect(bench.state(phone) == .interrupted)
        #expect(bench.state(tablet) == .active)
    }

    @Test("§3 the interrupter is gone for good: ended, shouldResume false", arguments: [true, false])
    func interrupterLeaves(crashed: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        bench.say(tablet, .parked)
        let effects = bench.say(tablet, .left(crashed: crashed))
        #expect(effects.map(\.effect) == [ended(false, .left), .showInterrupted(nil)])
        #expect(bench.state(tablet) == nil)
    }

    @Test("§3 the victim leaves while it is interrupted: its entry goes, and nothing is sent to it")
    func victimLeaves() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        #expect(bench.say(phone, .left(crashed: false)).isEmpty)
        #expect(bench.say(tablet, .deactivate(notifyOthers: true)).allSatisfy { $0.session == tablet })
        bench.say(tablet, .left(crashed: false))
        #expect(bench.sessions.isEmpty)
    }

    @Test("§3 a victim that is activated: its interruption ends first, then it interrupts whoever is active")
    func victimReturns() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        let effects = bench.say(phone, .activate)
        #expect(effects.first == Addressed(phone, ended(false, .activated)))
        #expect(told(effects, tablet).contains(.event(.interruptionBegan(.handoff, device: "phone"))))
        #expect(bench.state(phone) == .active)
        #expect(told(bench.say(phone, .deactivate(notifyOthers: true)), tablet).first == ended(true))
    }

    // MARK: Rank

    @Test("§3 the background may not interrupt the foreground, but the background it may", arguments: [true, false])
    func background(victimToo: Bool) {
        var bench = SessionBench()
        bench.begin(phone, background: victimToo)
        let effects = bench.begin(tablet, background: true)
        #expect((effects.last?.effect == .refuse(.insufficientPriority)) == !victimToo)
        #expect(bench.state(phone) == (victimToo ? .interrupted : .active))
    }

    @Test("§3 the background may be active beside the foreground where it interrupts nobody")
    func backgroundMixes() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet, .ambient, background: true)
        #expect(bench.state(tablet) == .active)
        #expect(bench.state(phone) == .active)
    }

    @Test(
        "§3 a session of higher priority is not interrupted",
        arguments: [(0, 1, false), (1, 1, true), (100, 99, true), (50, 100, false), (Int.max, 100, true), (Int.min, 0, true)])
    func priority(new: Int, old: Int, isAllowed: Bool) {
        var bench = SessionBench()
        bench.begin(phone, priority: old)
        let effects = bench.begin(tablet, priority: new)
        #expect((answer(effects, tablet)?.state == .active) == isAllowed)
        #expect(bench.state(phone) == (isAllowed ? .interrupted : .active))
    }

    @Test("activating an active session changes nothing")
    func again() {
        var bench = SessionBench()
        bench.begin(phone)
        let before = bench.sessions
        let effects = bench.say(phone, .activate(background: true, priority: 9))
        #expect(told(effects, phone).isEmpty)
        #expect(bench.sessions == before)
    }

    // MARK: Deactivation

    @Test("§3 deactivating while streams run is refused, or with force stops them")
    func streams() {
        var bench = SessionBench()
        bench.begin(phone)
        #expect(bench.say(phone, .deactivate(streams: 1)).map(\.effect) == [.refuse(.ioRunning)])
        #expect(bench.state(phone) == .active)
        #expect(told(bench.say(phone, .deactivate(force: true, streams: 1)), phone) == [.stopMedia(.deactivated), .showHeld(true)])
    }

    @Test("deactivating an inactive session is no fault, whatever the number of streams", arguments: [0, 1, Int.max, Int.min])
    func deactivatedTwice(streams: Int) {
        var bench = SessionBench()
        bench.say(phone, .initialise)
        let effects = bench.say(phone, .deactivate(streams: streams))
        #expect(answer(effects, phone)?.state == .inactive)
        #expect(told(effects, phone).isEmpty)
    }

    // MARK: Kinds

    @Test("§2 a prompt interrupts spoken audio with reason prompt, and ducks everything else")
    func prompt() {
        var bench = SessionBench()
        bench.begin(phone, .playback, .spokenAudio)
        bench.begin(tablet, .playAndRecord, .default, [.mixWithOthers])
        let effects = bench.begin(television, .playback, .voicePrompt, [.duckOthers])
        #expect(told(effects, phone).contains(.event(.interruptionBegan(.prompt, device: "television"))))
        #expect(told(effects, tablet).first == .event(.duckBegan(gainDecibels: -12, rampMilliseconds: 250)))
        let end = bench.say(television, .deactivate(notifyOthers: true))
        #expect(told(end, phone).contains(.startMedia))
        #expect(told(end, tablet).first == .event(.duckEnded(gainDecibels: 0, rampMilliseconds: 250)))
    }

    @Test("§3 ducking lasts as long as the session that ducks is active, whatever ends it", arguments: 0..<4)
    func ducking(way: Int) {
        var bench = SessionBench()
        bench.begin(phone, .ambient)
        let ducked = bench.begin(tablet, .playback, .default, [.duckOthers])
        #expect(told(ducked, phone).contains(.event(.duckBegan(gainDecibels: -12, rampMilliseconds: 250))))
        let verbs: [SessionVerb] = [.deactivate(), .left(crashed: true), .interruptionBegan(.default), .mediaLost]
        #expect(told(bench.say(tablet, verbs[way]), phone).contains(.event(.duckEnded(gainDecibels: 0, rampMilliseconds: 250))))
    }

    @Test("§3 sessions that mix are told to silence secondary audio while a primary session is active")
    func secondary() {
        var bench = SessionBench()
        bench.begin(phone, .ambient)
        bench.begin(television, .playback, .default, [.mixWithOthers])
        let begun = bench.begin(tablet)
        #expect(told(begun, phone) == [.event(.silenceSecondaryAudioBegan)])
        #expect(told(begun, television) == [.event(.silenceSecondaryAudioBegan)])
        #expect(told(bench.say(tablet, .interruptionBegan(.default)), phone) == [.event(.silenceSecondaryAudioEnded)])
    }

    @Test("§3 the media state is lost: told, everything else answers session_lost, and init begins anew")
    func mediaLost() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        let effects = bench.say(tablet, .mediaLost)
        #expect(
            told(effects, tablet) == [
                .stopMedia(.lost), .event(.mediaServicesWereLost), .event(.mediaServicesWereReset), .showHeld(true),
            ])
        #expect(told(effects, phone).first == ended(false, .left))
        #expect(bench.state(tablet) == .uninitialised)
        #expect(bench.say(tablet, .activate).map(\.effect) == [.refuse(.sessionLost)])
        #expect(told(bench.begin(tablet), tablet) == [.applyRights(.playAndRecord), .startMedia, .showHeld(false)])
    }
}

@Suite("Bounds of audio sessions")
struct SessionBoundTests {
    private static let requests: [SessionVerb] = [
        .setCategory(.playback, .default, []), .activate, .deactivate(), .interruptionBegan(.default), .interruptionEnded(shouldResume: true),
        .routeChanged(.unknown), .pausePlayback, .continuePlayback,
    ]

    @Test("§1 any verb on an uninitialised session answers session_lost", arguments: requests)
    func uninitialised(verb: SessionVerb) {
        var bench = SessionBench()
        #expect(bench.say(SessionBench.phone, verb).map(\.effect) == [.refuse(.sessionLost)])
        #expect(bench.sessions.isEmpty)
    }

    @Test(
        "what the relay notices of a session without an audio session is nothing",
        arguments: [SessionVerb.mediaArrived, .parked, .resumed, .left(crashed: true), .mediaLost])
    func unknown(verb: SessionVerb) {
        var bench = SessionBench()
        #expect(bench.say(SessionBench.phone, verb).isEmpty)
        #expect(bench.sessions.isEmpty)
    }

    @Test("an identity has a bounded number of audio sessions, and one that leaves makes room")
    func sessionsMax() {
        var bench = SessionBench(limits: SessionLimits(sessionsMax: 3))
        let keys = (0..<4).map { SessionKey(loop: 3 - $0, token: UInt64.max) }
        for key in keys.prefix(3) { bench.begin(key) }
        #expect(bench.say(keys[3], .initialise).map(\.effect) == [.refuse(.tooManySessions)])
        #expect(bench.sessions.sessions == keys.prefix(3).sorted())
        bench.say(keys[0], .left(crashed: false))
        #expect(answer(bench.say(keys[3], .initialise), keys[3])?.state == .inactive)
    }

    @Test("a limit that is no time is no fault", arguments: [0, -1, Int.min, Int.max])
    func time(milliseconds: Int) {
        var bench = SessionBench(limits: SessionLimits(interruptionMillisecondsMax: milliseconds))
        bench.begin(SessionBench.phone)
        bench.say(SessionBench.phone, .interruptionBegan(.default))
        #expect(bench.pass(milliseconds: 0).isEmpty == (milliseconds > 0))
    }
}
