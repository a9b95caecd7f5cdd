import AudioSession
import RelayBase
import Testing

@Suite("Model checking of audio sessions")
struct SessionModelTests {
    typealias Traits = SessionExploration.Traits

    private static func categories(_ traits: [Traits]) -> [SessionVerb] {
        traits.map { .setCategory($0.category, $0.mode, $0.options) }
    }

    /// Every verb; of those that differ in nothing that is decided here, one.
    private static func all(_ traits: [Traits]) -> [SessionVerb] {
        categories(traits) + [
            .initialise, .setCategory(.ambient, .default, [.defaultToSpeaker]), .activate(background: false, priority: 0),
            .activate(background: true, priority: 0), .activate(background: false, priority: 1), .deactivate(streams: 1),
            .deactivate(notifyOthers: false, force: true, streams: 1), .deactivate(notifyOthers: true), .interruptionBegan(.default),
            .interruptionEnded(shouldResume: true), .interruptionEnded(shouldResume: false), .routeChanged(.newDeviceAvailable),
            .routeChanged(.oldDeviceUnavailable), .routeChanged(.categoryChange), .routeChanged(.wakeFromSleep),
            .routeChanged(.noSuitableRouteForCategory), .pausePlayback, .continuePlayback, .mediaArrived, .parked, .resumed, .left(crashed: true),
            .mediaLost,
        ]
    }

    /// What moves the stack.
    private static let moving: [SessionVerb] = [
        .initialise, .activate(background: false, priority: 0), .deactivate(), .deactivate(notifyOthers: true), .interruptionBegan(.default),
        .interruptionEnded(shouldResume: true), .interruptionEnded(shouldResume: false), .left(crashed: true),
    ]

    private static let losses: [SessionVerb] = [
        .routeChanged(.noSuitableRouteForCategory), .routeChanged(.newDeviceAvailable), .mediaLost,
    ]

    private static let mixed: [Traits] = [.conference, .podcast, .prompt, .recorder, .ambient]

    private static let explorations: [(name: String, statesMin: Int, exploration: SessionExploration)] = [
        (
            "four devices, all verbs, eight steps", 70_000,
            SessionExploration(devices: 4, verbs: all(mixed), traits: mixed, depthMax: 8)
        ),
        (
            "four devices, what moves the stack, and losses, all states", 4_500,
            SessionExploration(devices: 4, verbs: moving + losses, traits: [.conference])
        ),
        (
            "four devices, initialised, all verbs, five steps", 60_000,
            SessionExploration(devices: 4, verbs: all(mixed), traits: mixed, depthMax: 5, beginning: [.initialise])
        ),
        (
            "three devices with names, what moves the stack, conference, podcast and prompt, all states", 25_000,
            SessionExploration(
                devices: 3, verbs: categories([.conference, .podcast, .prompt]) + moving, traits: [.conference, .podcast, .prompt], keepsNames: true)
        ),
        (
            "two devices, all verbs, conference and prompt, all states", 19_000,
            SessionExploration(devices: 2, verbs: all([.conference, .prompt]), traits: [.conference, .prompt])
        ),
    ]

    @Test("§3, §4 no verb in any state that can be reached breaks the specification", arguments: explorations.indices)
    func explore(place: Int) {
        let (name, statesMin, exploration) = Self.explorations[place]
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = exploration.run()
        #expect(outcome.fault == nil, "\(name)")
        #expect(outcome.isClosed || outcome.depth == exploration.depthMax)
        #expect(outcome.states >= statesMin)
        print(
            "\(name): \(outcome.states) states, \(outcome.transitions) transitions, depth \(outcome.depth), closed: \(outcome.isClosed) \(clock.now - start)"
        )
    }
}
