import AudioSession
import RelayBase

/// The tables of the document, generated from the machine itself.
enum SessionTransitionTable {
    /// The session that is looked at, and another of the same identity.
    private static let own = SessionBench.phone
    private static let other = SessionBench.tablet

    /// A state by the way there.
    private static let states: [(name: String, way: [(SessionKey, SessionVerb)])] = [
        ("uninitialised", []),
        ("inactive", [(own, .initialise)]),
        ("active", [(own, .initialise), (own, .activate)]),
        ("interrupted by another", [(own, .initialise), (own, .activate), (other, .activate)]),
        ("interrupted by itself", [(own, .initialise), (own, .activate), (own, .interruptionBegan(.default))]),
        (
            "interrupted by both",
            [(own, .initialise), (own, .activate), (other, .activate), (own, .interruptionBegan(.default))]
        ),
        ("without a route", [(own, .initialise), (own, .activate), (own, .routeChanged(.noSuitableRouteForCategory))]),
        ("lost", [(own, .initialise), (own, .activate), (own, .mediaLost)]),
    ]

    private enum Happening {
        case said(SessionVerb)
        case others(SessionVerb)
        case time
    }

    private static let happenings: [(name: String, Happening)] = [
        ("`session.init`", .said(.initialise)),
        ("`session.setCategory`", .said(.setCategory(.playback, .default, []))),
        ("`session.setCategory`, not legal", .said(.setCategory(.playback, .default, [.defaultToSpeaker]))),
        ("`session.setActive` true", .said(.activate)),
        ("`session.setActive` false", .said(.deactivate())),
        ("`session.setActive` false, streams run", .said(.deactivate(streams: 1))),
        ("`session.setActive` false, streams run, `force`", .said(.deactivate(force: true, streams: 1))),
        ("`interruption.began`", .said(.interruptionBegan(.default))),
        ("`interruption.ended`, `shouldResume`", .said(.interruptionEnded(shouldResume: true))),
        ("`interruption.ended`", .said(.interruptionEnded(shouldResume: false))),
        ("`route.changed` 0, 1, 4, 8", .said(.routeChanged(.newDeviceAvailable))),
        ("`route.changed` 2", .said(.routeChanged(.oldDeviceUnavailable))),
        ("`route.changed` 3", .said(.routeChanged(.categoryChange))),
        ("`route.changed` 6", .said(.routeChanged(.wakeFromSleep))),
        ("`route.changed` 7", .said(.routeChanged(.noSuitableRouteForCategory))),
        ("`playback.pause`", .said(.pausePlayback)),
        ("`playback.continue`", .said(.continuePlayback)),
        ("it sends media", .said(.mediaArrived)),
        ("the connection is lost", .said(.parked)),
        ("it is back", .said(.resumed)),
        ("the relay session is over", .said(.left(crashed: true))),
        ("the relay loses its media state", .said(.mediaLost)),
        ("`interruptionMillisecondsMax` passes", .time),
        ("another is activated", .others(.activate)),
        ("another is activated from the background", .others(.activate(background: true, priority: 0))),
        ("the other is deactivated, `notifyOthersOnDeactivation`", .others(.deactivate(notifyOthers: true))),
        ("the other is deactivated", .others(.deactivate())),
        ("the other's relay session is over", .others(.left(crashed: true))),
    ]

    /// Rows: what happens. Columns: states. Cells: the new state if it is another one, and what is done, in order.
    static var transitions: String {
        var lines = ["| | " + states.map(\.name).joined(separator: " | ") + " |", "|---|" + states.map { _ in "---|" }.joined()]
        for (name, happening) in happenings {
            lines.append("| \(name) | " + states.map { cell(happening, after: $0.way) }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }

    private static func cell(_ happening: Happening, after way: [(SessionKey, SessionVerb)]) -> String {
        var bench = SessionBench()
        bench.say(other, .initialise)
        for (key, verb) in way { bench.say(key, verb) }
        let before = name(of: bench.sessions.snapshot(of: own))
        let effects: [Addressed] =
            switch happening {
            case .said(let verb): bench.say(own, verb)
            case .others(let verb): bench.say(other, verb)
            case .time: bench.pass(milliseconds: 14_400_000)
            }
        let after = name(of: bench.sessions.snapshot(of: own))
        var parts = effects.filter { $0.session == own }.flatMap { words($0.effect) }
        if before != after { parts.insert("**\(after)**", at: 0) }
        return parts.isEmpty ? "–" : parts.joined(separator: ", ")
    }

    private static func name(of snapshot: SessionSnapshot?) -> String {
        guard let snapshot else { return "uninitialised" }
        switch snapshot.state {
        case .uninitialised: return "lost"
        case .inactive, .active: return snapshot.state.rawValue
        case .interrupted:
            guard let interruption = snapshot.interruption else { return "without a route" }
            let by = interruption.interrupter == nil ? "itself" : interruption.isOwn ? "both" : "another"
            return "interrupted by \(by)" + (snapshot.isSuspended ? ", without a route" : "")
        }
    }

    private static func words(_ effect: SessionEffect) -> [String] {
        switch effect {
        case .answer(_, let warnings): warnings.map { "warning `\($0.rawValue)`" }
        case .refuse(let refusal): ["refused, `\(code(refusal))`"]
        case .stopMedia: ["stop"]
        case .startMedia: ["start"]
        case .pausePlayback: ["pause"]
        case .continuePlayback: ["continue"]
        case .applyRights: ["rights"]
        case .showInterrupted(let reason): [reason == nil ? "not shown interrupted" : "shown interrupted"]
        case .showHeld(let isHeld): [isHeld ? "held" : "not held"]
        case .event(let event): [words(event)]
        }
    }

    private static func code(_ refusal: SessionRefusal) -> String {
        switch refusal {
        case .sessionLost: "session_lost"
        case .illegalCategory: "illegal_category"
        case .insufficientPriority: "insufficient_priority"
        case .ioRunning: "io_running"
        case .tooManySessions: "audio_sessions_max"
        }
    }

    private static func words(_ event: SessionEvent) -> String {
        switch event {
        case .changed(_, let cause): "told `session.changed` (\(cause.rawValue))"
        case .interruptionBegan(let reason, _): "told `interruption.began` (\(reason.rawValue))"
        case .interruptionEnded(let shouldResume, let cause): "told `interruption.ended` (\(shouldResume), \(cause.rawValue))"
        case .duckBegan: "told `duck.began`"
        case .duckEnded: "told `duck.ended`"
        case .silenceSecondaryAudioBegan: "told `silenceSecondaryAudio.begin`"
        case .silenceSecondaryAudioEnded: "told `silenceSecondaryAudio.end`"
        case .mediaServicesWereLost: "told `mediaServices.wereLost`"
        case .mediaServicesWereReset: "told `mediaServices.wereReset`"
        case .routeChanged(let reason): "told `route.changed` (\(reason.rawValue))"
        }
    }

    // MARK: Arbitration

    private typealias Kind = (name: String, category: AudioSession.Category, mode: Mode, options: CategoryOptions)

    private static let kinds: [Kind] = [
        ("ambient", .ambient, .default, []), ("soloAmbient", .soloAmbient, .default, []), ("playback", .playback, .default, []),
        ("playback, spokenAudio", .playback, .spokenAudio, []), ("playback, mixWithOthers", .playback, .default, [.mixWithOthers]),
        ("playback, duckOthers", .playback, .default, [.duckOthers]),
        ("playback, interruptSpokenAudio…", .playback, .default, [.interruptSpokenAudioAndMixWithOthers]),
        ("playback, voicePrompt", .playback, .voicePrompt, []), ("record", .record, .default, []),
        ("playAndRecord", .playAndRecord, .default, []), ("playAndRecord, mixWithOthers", .playAndRecord, .default, [.mixWithOthers]),
        ("audioProcessing", .audioProcessing, .default, []), ("multiRoute", .multiRoute, .default, []),
    ]

    /// Rows: who is activated. Columns: who is active. Cells: what the active one is told.
    static var arbitration: String {
        var lines = ["| activated ↓, active → | " + kinds.map(\.name).joined(separator: " | ") + " |", "|---|" + kinds.map { _ in "---|" }.joined()]
        for new in kinds {
            let cells = kinds.map { old in
                var bench = SessionBench()
                bench.begin(own, old.category, old.mode, old.options)
                let said = bench.begin(other, new.category, new.mode, new.options).filter { $0.session == own }.compactMap { addressed -> String? in
                    guard case .event(let event) = addressed.effect else { return nil }
                    switch event {
                    case .interruptionBegan(let reason, _): return "interrupted, \(reason.rawValue)"
                    case .duckBegan: return "ducked"
                    case .silenceSecondaryAudioBegan: return "silenced"
                    default: return words(event)
                    }
                }
                return said.isEmpty ? "–" : said.joined(separator: ", ")
            }
            lines.append("| \(new.name) | " + cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }

    // MARK: Legal combinations

    private static let options: [(name: String, option: CategoryOptions)] = [
        ("mixWithOthers", .mixWithOthers), ("duckOthers", .duckOthers), ("allowBluetooth", .allowBluetooth), ("defaultToSpeaker", .defaultToSpeaker),
        ("interruptSpokenAudioAndMixWithOthers", .interruptSpokenAudioAndMixWithOthers), ("allowBluetoothA2DP", .allowBluetoothA2DP),
        ("allowAirPlay", .allowAirPlay), ("overrideMutedMicrophoneInterruption", .overrideMutedMicrophoneInterruption),
    ]

    static var legality: String {
        let categories = AudioSession.Category.allCases
        var lines = ["| | " + categories.map(\.rawValue).joined(separator: " | ") + " |", "|---|" + categories.map { _ in "---|" }.joined()]
        for mode in Mode.allCases {
            lines.append(
                "| mode `\(mode.rawValue)` | " + categories.map { CategoryRules.isLegal($0, mode, []) ? "yes" : "–" }.joined(separator: " | ") + " |")
        }
        for (name, option) in options {
            lines.append(
                "| `\(name)` | " + categories.map { CategoryRules.isLegal($0, .default, option) ? "yes" : "–" }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }
}
