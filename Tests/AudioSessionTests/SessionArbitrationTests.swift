import AudioSession
import RelayBase
import Testing

@Suite("Activation and arbitration")
struct SessionArbitrationTests {
    private let phone = SessionBench.phone
    private let tablet = SessionBench.tablet
    private let television = SessionBench.television

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
        let ended = SessionEffect.event(.interruptionEnded(shouldResume: notify, .deactivated))
        #expect(
            told(effects, phone)
                == (notify
                    ? [ended, .applyRights(.playAndRecord), .startMedia, .showInterrupted(nil), .showHeld(false)] : [ended, .showInterrupted(nil)]))
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
        #expect(told(inner, tablet).first == .event(.interruptionEnded(shouldResume: first, .deactivated)))
        #expect(told(inner, phone).isEmpty)
        let outer = bench.say(tablet, .deactivate(notifyOthers: second))
        #expect(told(outer, phone).first == .event(.interruptionEnded(shouldResume: second, .deactivated)))
        #expect(told(outer, television).isEmpty)
        #expect(bench.state(phone) == (second ? .active : .inactive))
    }
}
