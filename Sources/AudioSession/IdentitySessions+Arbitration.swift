internal import RelayBase

/// Who has the audio: the interruption stack, and the starts and stops that follow from it (§3).
extension IdentitySessions {
    func isVictim(_ key: SessionKey) -> Bool {
        stack.contains { $0.victim == key }
    }

    /// The active sessions that a session would interrupt with these traits, those first that go on last.
    ///
    /// - Returns: `nil` if one of them may not be interrupted: by an app in the background if it is in the foreground, or by a lower priority.
    func victims(of place: Int, traits: SessionTraits, isBackground: Bool, priority: Int) -> [SessionKey]? {
        let victims = records.filter { $0.key != records[place].key && $0.state == .active && traits.interrupts($0.traits) }
        let isAllowed = victims.allSatisfy { $0.priority <= priority && (!isBackground || $0.isBackground) }
        guard isAllowed else { return nil }
        // Prompts go on first, because what is prompted over goes on beside them, but not they beside what took the audio.
        return (victims.filter { $0.traits.mode != .voicePrompt } + victims.filter { $0.traits.mode == .voicePrompt }).map(\.key)
    }

    /// Media has stopped when a victim is told of it.
    mutating func interrupt(_ victims: [SessionKey], by place: Int, into effects: inout [Addressed]) {
        let interrupter = records[place]
        for key in victims {
            guard let victim = self.place(of: key) else { continue }
            let reason = interrupter.traits.reason(over: records[victim].traits)
            stack.append(Interruption(victim: key, interrupter: interrupter.key))
            records[victim].state = .interrupted
            records[victim].interruptionReason = reason
            effects.append(Addressed(key, .stopMedia(.interrupted)))
            effects.append(Addressed(key, .event(.interruptionBegan(reason, device: interrupter.device))))
            show(victim, into: &effects)
        }
    }

    // MARK: An interrupter's end

    /// Ends the interruptions of a session's victims, the last begun first.
    mutating func releaseVictims(of interrupter: SessionKey, shouldResume: Bool, cause: InterruptionEnd, into effects: inout [Addressed]) {
        for entry in stack.reversed() where entry.interrupter == interrupter {
            guard let victim = place(of: entry.victim) else { continue }
            if shouldResume {
                resume(victim, cause: cause, into: &effects)
            } else {
                records[victim].isSuspended = false
                endInterruption(of: victim, shouldResume: false, cause: cause, into: &effects)
                records[victim].state = .inactive
                show(victim, into: &effects)
            }
        }
    }

    /// A victim whose interrupter gave the audio back goes on, unless another session has it: then it waits for that one, and is told nothing yet.
    private mutating func resume(_ place: Int, cause: InterruptionEnd, into effects: inout [Addressed]) {
        let key = records[place].key
        guard let entry = stack.firstIndex(where: { $0.victim == key }) else { return }
        let traits = records[place].traits
        if let holder = records.first(where: { $0.state == .active && traits.waits(for: $0.traits) }) {
            stack[entry].interrupter = holder.key
            return
        }
        guard records[place].ownInterruption == nil else {
            // The client's own is still on, and its end will be the end.
            stack.remove(at: entry)
            return
        }
        endInterruption(of: place, shouldResume: true, cause: cause, into: &effects)
        if records[place].isSuspended {
            show(place, into: &effects)
        } else {
            start(place, into: &effects)
        }
    }

    // MARK: Steps

    /// Goes on after the session's own interruption or for want of a route, as if activated again.
    ///
    /// - Returns: whether the arbiter allowed it; if not, the session is inactive, and its client told.
    mutating func reactivate(_ place: Int, into effects: inout [Addressed]) -> Bool {
        let record = records[place]
        guard let victims = victims(of: place, traits: record.traits, isBackground: record.isBackground, priority: record.priority) else {
            retire(place, into: &effects)
            if let snapshot = snapshot(of: record.key) { effects.append(Addressed(record.key, .event(.changed(snapshot, .refused)))) }
            return false
        }
        interrupt(victims, by: place, into: &effects)
        start(place, into: &effects)
        return true
    }

    mutating func start(_ place: Int, into effects: inout [Addressed]) {
        let key = records[place].key
        records[place].state = .active
        records[place].wasActive = true
        effects.append(Addressed(key, .applyRights(records[place].traits.category)))
        effects.append(Addressed(key, .startMedia))
        show(place, into: &effects)
    }

    mutating func stop(_ place: Int, _ cause: MediaStop, into effects: inout [Addressed]) {
        effects.append(Addressed(records[place].key, .stopMedia(cause)))
        records[place].state = .inactive
        show(place, into: &effects)
    }

    /// §4: the client's own interruption is taken for ended, not to be resumed.
    mutating func giveUp(_ place: Int, cause: InterruptionEnd, into effects: inout [Addressed]) {
        endInterruption(of: place, shouldResume: false, cause: cause, into: &effects)
        retire(place, into: &effects)
    }

    /// The session becomes inactive by its own doing, so its victims have nobody to wait for.
    mutating func retire(_ place: Int, into effects: inout [Addressed]) {
        let key = records[place].key
        records[place].state = .inactive
        records[place].isSuspended = false
        show(place, into: &effects)
        releaseVictims(of: key, shouldResume: false, cause: .deactivated, into: &effects)
    }

    /// Tells the client that its interruption is over, if there is one: the one `ended` of the one `began`.
    mutating func endInterruption(of place: Int, shouldResume: Bool, cause: InterruptionEnd, into effects: inout [Addressed]) {
        guard records[place].interruptionReason != nil else { return }
        closeInterruption(of: place)
        effects.append(Addressed(records[place].key, .event(.interruptionEnded(shouldResume: shouldResume, cause))))
    }

    mutating func closeInterruption(of place: Int) {
        let key = records[place].key
        stack.removeAll { $0.victim == key }
        records[place].ownInterruption = nil
        records[place].interruptionReason = nil
    }

    /// Tells the room what has changed of a session: that an interruption begins before that it is held, and that it is not held at the very end.
    mutating func show(_ place: Int, into effects: inout [Addressed]) {
        let record = records[place]
        let isInterrupted = record.interruptionReason != nil
        if isInterrupted != record.shownInterrupted {
            records[place].shownInterrupted = isInterrupted
            effects.append(Addressed(record.key, .showInterrupted(record.interruptionReason)))
        }
        let isHeld = record.wasActive && record.state != .active
        if isHeld != record.shownHeld {
            records[place].shownHeld = isHeld
            effects.append(Addressed(record.key, .showHeld(isHeld)))
        }
    }
}
