import AudioSession
import RelayBase
import Testing

@Suite("A client's own interruption")
struct SessionInterruptionTests {
    private let phone = SessionBench.phone
    private let tablet = SessionBench.tablet
    private let television = SessionBench.television

    @Test("§4 began: media stops, and the room sees the participant held", arguments: InterruptionReason.allCases)
    func began(reason: InterruptionReason) {
        var bench = SessionBench()
        bench.begin(phone)
        let effects = bench.say(phone, .interruptionBegan(reason))
        #expect(told(effects, phone) == [.stopMedia(.interrupted), .showInterrupted(reason), .showHeld(true)])
        #expect(answer(effects, phone)?.state == .interrupted)
    }

    @Test("§4 ended with shouldResume: media flows again, not held is last")
    func resumed() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        let effects = bench.say(phone, .interruptionEnded(shouldResume: true))
        #expect(told(effects, phone) == [.applyRights(.playAndRecord), .startMedia, .showInterrupted(nil), .showHeld(false)])
        #expect(answer(effects, phone)?.state == .active)
    }

    @Test("§4 ended without shouldResume: the session is inactive and stays held")
    func notResumed() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        let effects = bench.say(phone, .interruptionEnded(shouldResume: false))
        #expect(told(effects, phone) == [.showInterrupted(nil)])
        #expect(answer(effects, phone)?.state == .inactive)
        #expect(bench.sessions.snapshot(of: phone)?.isHeld == true)
    }

    @Test("§4 ended, and the re-activation is refused: inactive, told so, and the request refused")
    func refused() throws {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        bench.begin(tablet, priority: 50)
        let effects = bench.say(phone, .interruptionEnded(shouldResume: true))
        let snapshot = try #require(bench.sessions.snapshot(of: phone))
        #expect(snapshot.state == .inactive)
        #expect(told(effects, phone) == [.showInterrupted(nil), .event(.changed(snapshot, .refused)), .refuse(.insufficientPriority)])
        #expect(told(effects, tablet) == [])
    }

    @Test("§4 ended, and another session of the same rank has the audio: it is interrupted, the user came back")
    func takesBack() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        bench.begin(tablet)
        bench.say(phone, .interruptionEnded(shouldResume: true))
        #expect(bench.state(phone) == .active)
        #expect(bench.state(tablet) == .interrupted)
    }

    @Test("§4 a second began is idempotent")
    func twice() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        let before = bench.sessions
        bench.now = bench.now.advanced(byMilliseconds: 1_000)
        let effects = bench.say(phone, .interruptionBegan(.builtInMicMuted))
        #expect(told(effects, phone) == [])
        #expect(answer(effects, phone)?.warnings == [])
        #expect(bench.sessions == before)
    }

    @Test("§4 ended without began changes nothing and warns", arguments: [true, false])
    func withoutBegan(shouldResume: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        let before = bench.sessions
        #expect(answer(bench.say(phone, .interruptionEnded(shouldResume: shouldResume)), phone)?.warnings == [.notInterrupted])
        #expect(bench.sessions == before)
    }

    @Test("began of a session that is not active changes nothing and warns")
    func inactive() {
        var bench = SessionBench()
        bench.say(phone, .initialise)
        let before = bench.sessions
        #expect(answer(bench.say(phone, .interruptionBegan(.default)), phone)?.warnings == [.notActive])
        #expect(bench.sessions == before)
    }

    @Test("§4 a pause before began survives ended, and continue ends it")
    func pause() {
        var bench = SessionBench()
        bench.begin(phone)
        #expect(told(bench.say(phone, .pausePlayback), phone) == [.pausePlayback])
        bench.say(phone, .interruptionBegan(.default))
        let effects = told(bench.say(phone, .interruptionEnded(shouldResume: true)), phone)
        #expect(!effects.contains(.continuePlayback))
        #expect(bench.sessions.snapshot(of: phone)?.isPaused == true)
        #expect(told(bench.say(phone, .continuePlayback), phone) == [.continuePlayback])
        #expect(told(bench.say(phone, .continuePlayback), phone) == [])
    }

    @Test("§4 a missing ended: after the configured time, not before, the interruption is over without resumption")
    func timeout() {
        var bench = SessionBench(limits: SessionLimits(interruptionMillisecondsMax: 5_000))
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        #expect(bench.sessions.nextDeadline == bench.now.advanced(byMilliseconds: 5_000))
        #expect(bench.pass(milliseconds: 4_999).isEmpty)
        let effects = bench.pass(milliseconds: 1)
        #expect(told(effects, phone) == [.event(.interruptionEnded(shouldResume: false, .timeout)), .showInterrupted(nil)])
        #expect(bench.state(phone) == .inactive)
        #expect(bench.sessions.nextDeadline == nil)
    }

    @Test("§4 the configured time is four hours unless said otherwise")
    func defaultTime() {
        #expect(SessionLimits().interruptionMillisecondsMax == 4 * 3_600 * 1_000)
    }

    @Test("§4 a missing ended: media from the client ends the interruption without resumption")
    func media() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        let effects = bench.say(phone, .mediaArrived)
        #expect(effects.map(\.effect) == [.event(.interruptionEnded(shouldResume: false, .media)), .showInterrupted(nil)])
        #expect(bench.state(phone) == .inactive)
        #expect(bench.say(phone, .mediaArrived).isEmpty)
    }

    @Test("§4 a missing ended: activation ends the interruption, and the session is active")
    func activation() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        let effects = bench.say(phone, .activate)
        #expect(
            told(effects, phone) == [
                .event(.interruptionEnded(shouldResume: false, .activated)), .applyRights(.playAndRecord), .startMedia, .showInterrupted(nil),
                .showHeld(false),
            ])
        #expect(answer(bench.say(phone, .interruptionEnded(shouldResume: true)), phone)?.warnings == [.notInterrupted])
    }

    @Test("§4 media of a session that another interrupted ends nothing")
    func mediaOfVictim() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        #expect(bench.say(phone, .mediaArrived).isEmpty)
        #expect(bench.state(phone) == .interrupted)
    }

    // MARK: Together with another session's

    @Test("a phone call while another session has the audio: media starts when both are over, whichever ends first", arguments: [true, false])
    func both(callFirst: Bool) {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        #expect(told(bench.say(phone, .interruptionBegan(.default)), phone) == [])
        let first = callFirst ? bench.say(phone, .interruptionEnded(shouldResume: true)) : bench.say(tablet, .deactivate(notifyOthers: true))
        #expect(told(first, phone) == [])
        #expect(bench.state(phone) == .interrupted)
        let second = callFirst ? bench.say(tablet, .deactivate(notifyOthers: true)) : bench.say(phone, .interruptionEnded(shouldResume: true))
        #expect(told(second, phone).contains(.startMedia))
        #expect(bench.state(phone) == .active)
    }

    @Test("its own end without resumption is the end for whom it interrupted, too")
    func retires() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        bench.say(tablet, .interruptionBegan(.default))
        let effects = bench.say(tablet, .interruptionEnded(shouldResume: false))
        #expect(told(effects, phone) == [.event(.interruptionEnded(shouldResume: false, .deactivated)), .showInterrupted(nil)])
    }

    // MARK: Routes

    @Test("§5 no suitable route holds the session, and the next route lets it go on")
    func suspended() {
        var bench = SessionBench()
        bench.begin(phone)
        let lost = bench.say(phone, .routeChanged(.noSuitableRouteForCategory))
        #expect(told(lost, phone) == [.stopMedia(.suspended), .showHeld(true)])
        let back = bench.say(phone, .routeChanged(.newDeviceAvailable))
        #expect(told(back, phone) == [.applyRights(.playAndRecord), .startMedia, .showHeld(false)])
    }

    @Test("§5 a route that is lost during an interruption is waited for after it")
    func suspendedWhileInterrupted() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.begin(tablet)
        bench.say(phone, .routeChanged(.noSuitableRouteForCategory))
        let effects = bench.say(tablet, .deactivate(notifyOthers: true))
        #expect(told(effects, phone) == [.event(.interruptionEnded(shouldResume: true, .deactivated)), .showInterrupted(nil)])
        #expect(bench.state(phone) == .interrupted)
        #expect(told(bench.say(phone, .routeChanged(.override)), phone).contains(.startMedia))
    }

    @Test(
        "§5 what the session does on each reason",
        arguments: [
            (RouteChangeReason.unknown, [SessionEffect]()), (.newDeviceAvailable, []), (.oldDeviceUnavailable, [.pausePlayback]),
            (.categoryChange, [.applyRights(.playAndRecord)]), (.override, []), (.wakeFromSleep, [.startMedia]),
            (.noSuitableRouteForCategory, [.stopMedia(.suspended), .showHeld(true)]), (.routeConfigurationChange, []),
        ])
    func routes(reason: RouteChangeReason, effects: [SessionEffect]) {
        var bench = SessionBench()
        bench.begin(phone)
        #expect(told(bench.say(phone, .routeChanged(reason)), phone) == effects)
    }

    @Test("§5 waking up starts no media of a session that is not active")
    func wakesInactive() {
        var bench = SessionBench()
        bench.begin(phone)
        bench.say(phone, .interruptionBegan(.default))
        #expect(told(bench.say(phone, .routeChanged(.wakeFromSleep)), phone) == [])
    }
}
