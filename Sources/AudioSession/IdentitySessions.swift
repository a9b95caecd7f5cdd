package import RelayBase

/// All audio sessions of one identity, and the arbiter between them (§1 to §4).
///
/// Verbs go in, effects come out in the order in which they are to be executed; a session that is unknown here has no audio session.
/// The interruption stack is a list of (victim, interrupter). A session is a victim at most once, so the list is bounded by
/// ``SessionLimits/sessionsMax``, and an interrupter is active when it becomes one, so that nobody waits for itself.
package struct IdentitySessions: Sendable, Hashable {
    /// One session.
    struct Record: Sendable, Hashable {
        let key: SessionKey
        var device: String?
        var state: SessionState = .inactive
        var traits: SessionTraits = .initial
        var isBackground = false
        var priority = 0
        var isPaused = false
        var isParked = false
        var isSuspended = false
        /// Since when the client has an interruption of its own.
        var ownInterruption: MonotonicInstant?
        /// The reason given with `began`; not `nil` as long as an interruption is on.
        var interruptionReason: InterruptionReason?
        /// It is not a hold that a session has never been active.
        var wasActive = false
        var isDucked = false
        var isSecondaryAudioSilenced = false
        var shownInterrupted = false
        var shownHeld = false
    }

    struct Interruption: Sendable, Hashable {
        let victim: SessionKey
        var interrupter: SessionKey
    }

    let limits: SessionLimits
    /// By key.
    var records: [Record] = []
    /// The oldest first.
    var stack: [Interruption] = []

    package init(limits: SessionLimits) {
        self.limits = limits
    }

    package var isEmpty: Bool {
        records.isEmpty
    }

    /// All sessions, by key.
    package var sessions: [SessionKey] {
        records.map(\.key)
    }

    func place(of key: SessionKey) -> Int? {
        records.firstIndex { $0.key == key }
    }

    // MARK: Verbs

    /// - Parameter device: what the client calls its device; kept and told to whom the session interrupts.
    /// - Parameter effects: appended to; exactly one ``SessionEffect/answer(_:warnings:)`` or ``SessionEffect/refuse(_:)`` if the verb is a request.
    package mutating func handle(
        _ verb: SessionVerb, from key: SessionKey, device: String?, now: MonotonicInstant, into effects: inout [Addressed]
    ) {
        if case .initialise = verb {
            initialise(key, device: device, into: &effects)
            return
        }
        guard let place = place(of: key) else {
            if verb.isRequest { effects.append(Addressed(key, .refuse(.sessionLost))) }
            return
        }
        guard !verb.isRequest || records[place].state != .uninitialised else {
            effects.append(Addressed(key, .refuse(.sessionLost)))
            return
        }
        if let device { records[place].device = device }
        let outcome = perform(verb, by: place, now: now, into: &effects)
        updateHints(into: &effects)
        switch outcome {
        case .done(let warnings):
            guard verb.isRequest, let snapshot = snapshot(of: key) else { return }
            effects.append(Addressed(key, .answer(snapshot, warnings: warnings)))
        case .refused(let refusal):
            effects.append(Addressed(key, .refuse(refusal)))
        }
    }

    enum Outcome {
        case done([SessionWarning])
        case refused(SessionRefusal)

        static let done = Outcome.done([])
    }

    private mutating func perform(
        _ verb: SessionVerb, by place: Int, now: MonotonicInstant, into effects: inout [Addressed]
    ) -> Outcome {
        switch verb {
        case .initialise:
            return .done
        case .setCategory(let category, let mode, let options):
            return setTraits(SessionTraits(category: category, mode: mode, options: options), of: place, into: &effects)
        case .activate(let background, let priority):
            return activate(place, background: background, priority: min(max(priority, 0), 100), into: &effects)
        case .deactivate(let notifyOthers, let force, let runningStreams):
            return deactivate(place, notifyOthers: notifyOthers, force: force, runningStreams: runningStreams, into: &effects)
        case .interruptionBegan(let reason):
            return beginOwnInterruption(of: place, reason: reason, now: now, into: &effects)
        case .interruptionEnded(let shouldResume):
            return endOwnInterruption(of: place, shouldResume: shouldResume, into: &effects)
        case .routeChanged(let reason):
            return changeRoute(of: place, reason: reason, into: &effects)
        case .pausePlayback:
            pausePlayback(of: place, into: &effects)
        case .continuePlayback:
            continuePlayback(of: place, into: &effects)
        case .mediaArrived:
            if records[place].ownInterruption != nil { giveUp(place, cause: .media, into: &effects) }
        case .parked:
            records[place].isParked = true
        case .resumed:
            records[place].isParked = false
        case .left:
            leave(place, into: &effects)
        case .mediaLost:
            loseMedia(of: place, into: &effects)
        }
        return .done
    }

    // MARK: Time

    /// When ``expire(now:into:)`` has something to do.
    package var nextDeadline: MonotonicInstant? {
        records.compactMap(\.ownInterruption).min().map { limits.deadline(ofInterruptionAt: $0) }
    }

    /// Ends the interruptions whose end the client did not tell in time (§4).
    package mutating func expire(now: MonotonicInstant, into effects: inout [Addressed]) {
        for place in records.indices {
            guard let since = records[place].ownInterruption, limits.deadline(ofInterruptionAt: since) <= now else { continue }
            giveUp(place, cause: .timeout, into: &effects)
        }
        updateHints(into: &effects)
    }

    // MARK: State

    /// - Returns: `nil` for a session that is unknown here.
    package func snapshot(of key: SessionKey) -> SessionSnapshot? {
        guard let place = place(of: key) else { return nil }
        let record = records[place]
        let depth = stack.firstIndex { $0.victim == key }
        return SessionSnapshot(
            state: record.state, category: record.traits.category, mode: record.traits.mode, options: record.traits.options,
            isBackground: record.isBackground, priority: record.priority, isPaused: record.isPaused, isParked: record.isParked,
            isSuspended: record.isSuspended, isHeld: record.shownHeld, isDucked: record.isDucked,
            isSecondaryAudioSilenced: record.isSecondaryAudioSilenced,
            interruption: record.interruptionReason.map { reason in
                SessionInterruption(
                    reason: reason, isOwn: record.ownInterruption != nil, interrupter: depth.map { stack[$0].interrupter }, depth: depth)
            })
    }
}
