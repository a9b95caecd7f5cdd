import AudioSession

/// One verb, or the passing of time, with what it did; says what of the specification it breaks.
struct SessionTransition {
    var before: [SessionSnapshot?]
    var after: [SessionSnapshot?]
    var effects: [Addressed]
    /// Whose verb it is; `nil`: time.
    var actor: Int?
    var verb: SessionVerb?

    func fault() -> String? {
        answerFault() ?? observationFault() ?? notificationFault() ?? stackFault() ?? arbitrationFault() ?? pauseFault()
    }

    private func device(_ key: SessionKey) -> Int {
        key.loop
    }

    // MARK: Answers

    /// Exactly one answer for a request, at the end; a refusal changes nothing.
    private func answerFault() -> String? {
        var answers = 0
        for (place, addressed) in effects.enumerated() {
            switch addressed.effect {
            case .answer(let snapshot, _):
                answers += 1
                if snapshot != after[device(addressed.session)] { return "the answer does not tell the session's state" }
                if place != effects.count - 1 || device(addressed.session) != actor { return "the answer is not the last" }
            case .refuse(let refusal):
                answers += 1
                if place != effects.count - 1 || device(addressed.session) != actor { return "the refusal is not the last" }
                if case .interruptionEnded = verb, refusal == .insufficientPriority { continue }
                if before != after || effects.count != 1 { return "a refused request changed something" }
            default: continue
            }
        }
        return answers == (verb?.isRequest == true ? 1 : 0) ? nil : "\(answers) answers"
    }

    // MARK: What is told

    /// Every effect fits what was told before, and all of them together say what the state says.
    private func observationFault() -> String? {
        for place in before.indices {
            var observation = SessionObservation(before[place])
            if place == actor {
                if case .left = verb {
                    if effects.contains(where: { device($0.session) == place }) { return "something is sent to a session that left" }
                    if after[place] != nil { return "a session that left is still there" }
                    continue
                }
                if case .initialise = verb, after[place] != nil { observation.isThere = true }
                // The client's own words are the `began` and the `ended` of its own interruption.
                if case .interruptionBegan = verb, before[place]?.state != .inactive, after[place]?.interruption != nil {
                    observation.isInterruptionOpen = true
                }
                if case .interruptionEnded = verb, before[place]?.interruption?.isOwn == true, before[place]?.interruption?.interrupter == nil {
                    observation.isInterruptionOpen = false
                }
                if case .interruptionEnded(false) = verb, before[place]?.interruption?.isOwn == true { observation.isInterruptionOpen = false }
            }
            for addressed in effects where device(addressed.session) == place {
                if !observation.isThere, addressed.effect != .refuse(.sessionLost) { return "something is sent to a session that is not there" }
                if let fault = observation.apply(addressed.effect) { return "device \(place): \(fault)" }
            }
            if observation != SessionObservation(after[place]) { return "device \(place): what was told is not so" }
            if after[place].map({ ($0.state == .interrupted) != ($0.interruption != nil || $0.isSuspended) }) == true {
                return "device \(place) is interrupted without a cause, or has one and is not"
            }
        }
        return nil
    }

    /// Nobody stops being active, or going on by itself, without an event or the answer to the own request.
    private func notificationFault() -> String? {
        for place in before.indices {
            guard let was = before[place], let state = after[place]?.state, was.state != state else { continue }
            let isOwnRequest = place == actor && verb?.isRequest == true
            let events = effects.filter { device($0.session) == place }.compactMap { addressed -> SessionEvent? in
                guard case .event(let event) = addressed.effect else { return nil }
                return event
            }
            switch (was.state, state) {
            case (.active, .interrupted):
                let began = events.contains { if case .interruptionBegan = $0 { true } else { false } }
                if !began, !isOwnRequest { return "device \(place) is interrupted and not told" }
            case (.active, .inactive), (.interrupted, .inactive):
                let ended = events.contains { if case .interruptionEnded(false, _) = $0 { true } else { false } }
                if !ended, !isOwnRequest { return "device \(place) is inactive and not told" }
            case (.interrupted, .active):
                let ended = events.contains { if case .interruptionEnded(true, _) = $0 { true } else { false } }
                if !ended, !isOwnRequest { return "device \(place) goes on and is not told" }
                if place != actor, was.interruption?.isOwn == true { return "media starts at device \(place) within its own interruption" }
            case (_, .uninitialised):
                if !events.contains(.mediaServicesWereLost) { return "device \(place) is lost and not told" }
            case (.inactive, .active), (.uninitialised, .inactive):
                if !isOwnRequest { return "device \(place) becomes \(state) without having asked" }
            default:
                return "device \(place) goes from \(was.state) to \(state)"
            }
            if place != actor, was.state == .inactive || was.state == .uninitialised { return "device \(place) changes without having asked" }
        }
        return nil
    }

    // MARK: The stack

    /// Interruptions end in the reverse order of their beginnings, and an interrupter's end goes to its own victims only.
    private func stackFault() -> String? {
        var depths: [SessionKey: Int] = [:]
        for addressed in effects {
            let place = device(addressed.session)
            guard case .event(.interruptionEnded(_, let cause)) = addressed.effect, place != actor, cause != .timeout else { continue }
            guard let interruption = before[place]?.interruption, let depth = interruption.depth, let interrupter = interruption.interrupter else {
                return "device \(place) is told of the end of what nobody interrupted"
            }
            if depth > depths[interrupter, default: Int.max] { return "interruptions do not end in the reverse order of their beginnings" }
            depths[interrupter] = depth
            if let actor, device(interrupter) != actor { return "another's end goes to device \(place)" }
        }
        return chainFault()
    }

    /// Every interruption has a cause, and nobody waits for itself.
    private func chainFault() -> String? {
        var depths: Set<Int> = []
        for place in after.indices {
            guard let interruption = after[place]?.interruption else { continue }
            guard let interrupter = interruption.interrupter, let depth = interruption.depth else {
                if !interruption.isOwn { return "device \(place) is interrupted by nobody" }
                continue
            }
            if !depths.insert(depth).inserted { return "two interruptions have one place in the stack" }
            if after[device(interrupter)]?.state == .uninitialised { return "device \(place) waits for a session that is lost" }
            var next: Int? = device(interrupter)
            var length = 0
            while let step = next {
                guard step != place, after[step] != nil, length < after.count else { return "device \(place) waits for itself or for nobody" }
                next = after[step]?.interruption?.interrupter.map(device)
                length += 1
            }
        }
        return depths == Set(0..<depths.count) ? nil : "the stack has holes"
    }

    // MARK: Arbitration

    /// The specification's table (§2, §3), written again.
    static func takesAudio(_ new: SessionSnapshot, from old: SessionSnapshot) -> Bool {
        func mixes(_ session: SessionSnapshot) -> Bool {
            session.category == .ambient || session.options.rawValue & 0x3 != 0
        }
        if new.category == .audioProcessing || old.category == .audioProcessing { return false }
        if new.mode == .voicePrompt || new.options.rawValue & 0x11 == 0x11 { return old.mode == .spokenAudio }
        switch new.category {
        case .ambient, .audioProcessing: return false
        case .record: return !mixes(old) && [.soloAmbient, .playback, .playAndRecord, .multiRoute].contains(old.category)
        case .soloAmbient, .playback, .playAndRecord, .multiRoute: return !mixes(new) && !mixes(old)
        }
    }

    private func arbitrationFault() -> String? {
        for place in before.indices {
            guard let now = after[place], now.state == .active else { continue }
            let isNew = before[place]?.state != .active
            let others = after.indices.filter { $0 != place && after[$0]?.state == .active }.compactMap { after[$0] }
            if isNew, place == actor, others.contains(where: { Self.takesAudio(now, from: $0) }) { return "device \(place) shares what it takes" }
            if isNew, place != actor, others.contains(where: { Self.takesAudio($0, from: now) }) { return "device \(place) goes on over another" }
            let ducked = now.category != .audioProcessing && others.contains { $0.mode == .voicePrompt || $0.options.contains(.duckOthers) }
            if ducked != now.isDucked { return "device \(place) is ducked wrongly" }
        }
        for place in before.indices where place != actor {
            guard let was = before[place], was.state == .active, after[place]?.state == .interrupted, let actor else { continue }
            guard let new = after[actor], Self.takesAudio(new, from: was) else { return "device \(place) is interrupted for nothing" }
            if was.priority > new.priority || new.isBackground && !was.isBackground { return "device \(place) is interrupted by less" }
        }
        return nil
    }

    // MARK: Pauses

    /// Only who paused continues: a pause survives whatever else happens.
    private func pauseFault() -> String? {
        for place in before.indices {
            guard let was = before[place], let now = after[place] else { continue }
            var expected = was.isPaused
            if place == actor, was.state != .uninitialised {
                switch verb {
                case .pausePlayback, .routeChanged(.oldDeviceUnavailable): expected = true
                case .continuePlayback: expected = false
                default: break
                }
            }
            if now.isPaused != expected { return "device \(place): a pause is lost, or comes from nowhere" }
        }
        return nil
    }
}
