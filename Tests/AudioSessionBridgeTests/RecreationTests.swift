import AudioSessionBridge
import Testing

/// What a session that is made anew, and the relay's answers, must not forget.
@Suite("Bridge: sessions made anew, and the relay's answers")
struct RecreationTests {
    private static let speaker = PlatformPort(type: "Speaker", name: "", sampleRate: 48_000, channels: 2, latency: 0)
    private static let route = PlatformRoute(inputs: [], outputs: [speaker])
    private static let ok = BridgeValue.object(["type": .text("ok")])

    /// A bridge whose relay has agreed that it is active.
    private static func active() -> SessionBridge {
        var bridge = SessionBridge()
        let requests = bridge.create() + bridge.activate(true)
        for request in requests { _ = bridge.answered(request, request.type == "session.setActive" ? answer("active") : answer("inactive")) }
        return bridge
    }

    private static func answer(_ state: String) -> BridgeValue {
        .object(["type": .text("ok"), "session": .object(["state": .text(state)])])
    }

    private static func refusal(_ code: String) -> BridgeValue {
        .object(["type": .text("error"), "code": .text(code)])
    }

    private static func call(_ bridge: inout SessionBridge) -> BridgeOutcome {
        bridge.receive(.interruption, ["AVAudioSessionInterruptionTypeKey": .number(1)], route: route) { true }
    }

    private static func end(_ bridge: inout SessionBridge, shouldResume: Bool = true) -> BridgeOutcome {
        bridge.receive(
            .interruption,
            ["AVAudioSessionInterruptionTypeKey": .number(0), "AVAudioSessionInterruptionOptionKey": .number(shouldResume ? 1 : 0)], route: route
        ) { true }
    }

    private static func routeChange(_ reason: Double, _ bridge: inout SessionBridge) {
        _ = bridge.receive(.routeChange, ["AVAudioSessionRouteChangeReasonKey": .number(reason)], route: route) { true }
    }

    private static func active(_ requests: [BridgeRequest]) -> Bool? {
        requests.first { $0.type == "session.setActive" }?.members["active"].map { $0 == .flag(true) }
    }

    // MARK: What is remembered

    @Test("§4 a session made anew during a call is not active; the end of the call activates it", arguments: ["connection", "session_lost", "reset"])
    func duringCall(cause: String) {
        var bridge = Self.active()
        let began = Self.call(&bridge)
        let anew: [BridgeRequest]
        switch cause {
        case "connection": anew = bridge.create()
        case "reset": anew = bridge.receive("mediaServices.wereReset", .object([:])).requests
        default: anew = bridge.answered(began.requests[0], Self.refusal("session_lost")).requests
        }
        #expect(anew.first?.type == "session.init" && Self.active(anew) == nil)
        let ended = Self.end(&bridge)
        #expect(Self.active(ended.requests) == true && ended.requests.count == 1)
        #expect(ended.actions.isEmpty)
        #expect(bridge.answered(ended.requests[0], Self.answer("active")).actions == [.resumeSound])
    }

    @Test("§4 a call that ends without going on leaves the session made anew inactive")
    func endedWithoutGoingOn() {
        var bridge = Self.active()
        _ = Self.call(&bridge)
        _ = bridge.create()
        #expect(Self.end(&bridge, shouldResume: false) == BridgeOutcome(actions: [.stayPaused]))
        #expect(Self.active(bridge.create()) == nil)
    }

    @Test("§3 a session made anew does not take the audio back from the device that has it, and a button is shown")
    func duringHandOff() {
        var bridge = Self.active()
        _ = bridge.receive("interruption.began", .object(["reason": .text("handoff"), "device": .text("tablet")]))
        let anew = bridge.create()
        #expect(Self.active(anew) == nil)
        #expect(bridge.answered(anew[0], Self.answer("inactive")).actions == [.stayPaused])
        #expect(Self.active(bridge.create()) == nil, "nor later")
        #expect(Self.active(bridge.activate(true)) == true)
        #expect(Self.active(bridge.create()) == true)
    }

    @Test("§4 the user's pause outlives the session, as does that of a pulled headset and of a hint, and comes before it is active")
    func pauses() {
        let causes: [(inout SessionBridge) -> Void] = [
            { _ = $0.pause(true) }, { Self.routeChange(2, &$0) },
            {
                _ = $0.receive(.silenceSecondaryAudioHint, ["AVAudioSessionSilenceSecondaryAudioHintTypeKey": .number(1)], route: Self.route) { true }
            },
        ]
        for pause in causes {
            var bridge = Self.active()
            pause(&bridge)
            #expect(bridge.create().map(\.type).suffix(2) == ["playback.pause", "session.setActive"])
            _ = bridge.pause(false)
            #expect(!bridge.create().map(\.type).contains("playback.pause"))
        }
    }

    @Test("§4 the end of a hint does not continue what a pulled headset has paused")
    func headsetDuringHint() {
        var bridge = Self.active()
        func hint(_ type: Double, _ bridge: inout SessionBridge) -> [BridgeRequest] {
            bridge.receive(.silenceSecondaryAudioHint, ["AVAudioSessionSilenceSecondaryAudioHintTypeKey": .number(type)], route: Self.route) { true }
                .requests
        }
        #expect(hint(1, &bridge).count == 1)
        Self.routeChange(2, &bridge)
        #expect(hint(0, &bridge).isEmpty)
        #expect(hint(1, &bridge).isEmpty && hint(0, &bridge).isEmpty)
    }

    @Test("§5 the route is told again, as it is and without what it once did; want of a route holds the session still")
    func routes() {
        var bridge = Self.active()
        #expect(!bridge.create().map(\.type).contains("route.changed"), "nothing is known of it")
        #expect(bridge.create(route: Self.route).contains { $0.type == "route.changed" && $0.members["reason"] == .number(0) })
        Self.routeChange(4, &bridge)
        let anew = bridge.create()
        #expect(anew.map(\.type) == ["session.init", "session.setCategory", "route.changed", "session.setActive"])
        #expect(anew[2].members["reason"] == .number(0))
        Self.routeChange(7, &bridge)
        #expect(bridge.create().map(\.type) == ["session.init", "session.setCategory", "session.setActive", "route.changed"])
        #expect(bridge.create().last?.members["reason"] == .number(7))
    }

    @Test("§3 an app in the background is activated as such again")
    func background() {
        var bridge = Self.active()
        _ = bridge.activate(true, background: true)
        #expect(bridge.create().last?.members["background"] == .flag(true))
        _ = bridge.activate(true)
        #expect(bridge.create().last?.members["background"] == nil)
    }

    @Test("§3 the platform's session is inactive already: deactivation is forced, so that no running stream keeps the audio")
    func force() {
        var bridge = Self.active()
        let off = bridge.activate(false)
        #expect(off.map(\.members) == [["active": .flag(false), "force": .flag(true)]])
        #expect(Self.active(bridge.create()) == nil)
    }

    // MARK: Answers

    @Test("sound starts with the relay's answer, once, and not when the app or the platform has thought otherwise meanwhile")
    func answers() {
        var bridge = SessionBridge()
        let on = bridge.activate(true)[0]
        #expect(bridge.answered(on, Self.answer("active")).actions == [.resumeSound])
        let pause = bridge.pause(true)[0]
        #expect(bridge.answered(pause, Self.answer("active")).actions.isEmpty)
        let again = bridge.activate(true)[0]
        _ = bridge.activate(false)
        #expect(bridge.answered(again, Self.answer("active")).actions.isEmpty)
        let third = bridge.activate(true)[0]
        _ = Self.call(&bridge)
        #expect(bridge.answered(third, Self.answer("active")).actions.isEmpty, "a call has come")
        #expect(bridge.answered(third, Self.ok).actions.isEmpty)
    }

    @Test("§3 refused, the sound that may run by now stops, and nothing is activated by itself", arguments: [true, false])
    func insufficientPriority(byInterruption: Bool) {
        var bridge = Self.active()
        let request: BridgeRequest
        if byInterruption {
            _ = Self.call(&bridge)
            let ended = Self.end(&bridge)
            #expect(ended.actions.isEmpty)
            request = ended.requests[0]
        } else {
            request = bridge.activate(true)[0]
        }
        let refused = bridge.answered(request, Self.refusal("insufficient_priority"))
        #expect(refused.actions == [.stopSound(reason: "insufficient_priority", device: nil), .stayPaused] && refused.requests.isEmpty)
        #expect(Self.active(bridge.create()) == nil)
    }

    @Test("§3 a session that may not go on stops the sound before it is shown as inactive")
    func refusedLater() {
        var bridge = Self.active()
        let change = BridgeValue.object(["session": .object(["state": .text("inactive")]), "cause": .text("refused")])
        #expect(bridge.receive("session.changed", change).actions == [.stopSound(reason: "refused", device: nil), .showSession(state: "inactive")])
    }

    @Test("§4 the device's interruption ends while another device has the audio: sound comes with that one's end")
    func takenMeanwhile() {
        var bridge = Self.active()
        _ = Self.call(&bridge)
        let ended = Self.end(&bridge).requests[0]
        #expect(bridge.answered(ended, Self.answer("interrupted")).actions.isEmpty)
        #expect(bridge.receive("interruption.ended", .object(["shouldResume": .flag(true)])).actions == [.resumeSound])
    }

    @Test("§3 an app that activates during an interruption is not told to stay paused by the end that its own wish brings")
    func activatedMeanwhile() {
        var bridge = Self.active()
        _ = bridge.receive("interruption.began", .object(["reason": .text("handoff")]))
        let on = bridge.activate(true)[0]
        #expect(bridge.receive("interruption.ended", .object(["shouldResume": .flag(false), "cause": .text("activated")])) == BridgeOutcome())
        #expect(bridge.answered(on, Self.answer("active")).actions == [.resumeSound])
        #expect(Self.active(bridge.create()) == true)
    }

    @Test("a lost session is made anew once, and one that cannot be made is not tried for ever")
    func lostOnce() {
        var bridge = Self.active()
        let first = bridge.pause(true)[0]
        let second = bridge.pause(false)[0]
        let anew = bridge.answered(first, Self.refusal("session_lost")).requests
        #expect(anew.first?.type == "session.init")
        #expect(bridge.answered(second, Self.refusal("session_lost")) == BridgeOutcome(), "it is being made")
        #expect(
            bridge.answered(anew[0], Self.refusal("audio_sessions_max")).actions
                == [.showRefusal(request: "session.init", code: "audio_sessions_max")])
        for request in anew.dropFirst() {
            #expect(bridge.answered(request, Self.refusal("session_lost")).requests.isEmpty)
        }
    }

    @Test("other refusals are shown", arguments: ["illegal_category", "bad_value", "pending", ""])
    func refusals(code: String) {
        var bridge = Self.active()
        let request = bridge.configure(category: "AVAudioSessionCategoryPlayback", mode: "", options: 0)[0]
        #expect(bridge.answered(request, Self.refusal(code)).actions == [.showRefusal(request: "session.setCategory", code: code)])
    }

    // MARK: Resumption

    @Test(
        "§3 after a resumption the bridge finds out what was said and asked meanwhile",
        arguments: [
            ("active", [], []), ("interrupted", ["interruption.ended"], [.stopSound(reason: "default", device: nil)]),
            ("inactive", [], [.stopSound(reason: "inactive", device: nil), .stayPaused]),
            ("uninitialised", ["session.init", "session.setCategory", "session.setActive"], []),
        ] as [(String, [String], [AppAction])])
    func resumption(state: String, requests: [String], actions: [AppAction]) {
        var bridge = Self.active()
        let outcome = bridge.resumed(.object(["state": .text(state)]))
        #expect(outcome.requests.map(\.type) == requests && outcome.actions == actions)
    }

    @Test("§3 what ended, began or was wished while the connection was lost is made good")
    func resumptionOfOthers() {
        var handedOff = Self.active()
        _ = handedOff.receive("interruption.began", .object(["reason": .text("handoff")]))
        #expect(handedOff.resumed(.object(["state": .text("interrupted")])) == BridgeOutcome())
        #expect(handedOff.resumed(.object(["state": .text("active")])).actions == [.resumeSound])
        var called = Self.active()
        _ = Self.call(&called)
        #expect(called.resumed(.object(["state": .text("active")])).requests.map(\.type) == ["interruption.began"])
        var off = Self.active()
        _ = off.activate(false)
        #expect(Self.active(off.resumed(.object(["state": .text("active")])).requests) == false)
    }
}
