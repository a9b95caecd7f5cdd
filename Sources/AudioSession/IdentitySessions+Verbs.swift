internal import RelayBase

/// What a session's own client, or the relay on its behalf, does to it.
extension IdentitySessions {
    mutating func initialise(_ key: SessionKey, device: String?, into effects: inout [Addressed]) {
        var warnings: [SessionWarning] = []
        if let place = place(of: key) {
            if let device { records[place].device = device }
            if records[place].state == .uninitialised {
                records[place].state = .inactive
            } else {
                warnings = [.alreadyInitialised]
            }
        } else {
            guard records.count < limits.sessionsMax else {
                effects.append(Addressed(key, .refuse(.tooManySessions)))
                return
            }
            let place = records.firstIndex { $0.key > key } ?? records.endIndex
            records.insert(Record(key: key, device: device), at: place)
            effects.append(Addressed(key, .stopMedia(.deactivated)))
        }
        guard let snapshot = snapshot(of: key) else { return }
        effects.append(Addressed(key, .answer(snapshot, warnings: warnings)))
    }

    /// §2: what is set while active takes effect at once; what is set before, or while interrupted, with the next start.
    mutating func setTraits(_ traits: SessionTraits, of place: Int, into effects: inout [Addressed]) -> Outcome {
        guard CategoryRules.isLegal(traits.category, traits.mode, traits.options) else { return .refused(.illegalCategory) }
        guard records[place].state == .active else {
            records[place].traits = traits
            return .done
        }
        // A session that mixed and does not any more takes the audio as if it were activated.
        let record = records[place]
        guard let victims = victims(of: place, traits: traits, isBackground: record.isBackground, priority: record.priority) else {
            return .refused(.insufficientPriority)
        }
        records[place].traits = traits
        interrupt(victims, by: place, into: &effects)
        effects.append(Addressed(record.key, .applyRights(traits.category)))
        effects.append(Addressed(record.key, .event(.routeChanged(.categoryChange))))
        return .done
    }

    // MARK: Activation

    mutating func activate(_ place: Int, background: Bool, priority: Int, into effects: inout [Addressed]) -> Outcome {
        guard records[place].state != .active else { return .done }
        guard let victims = victims(of: place, traits: records[place].traits, isBackground: background, priority: priority) else {
            return .refused(.insufficientPriority)
        }
        endInterruption(of: place, shouldResume: false, cause: .activated, into: &effects)
        records[place].isBackground = background
        records[place].priority = priority
        records[place].isSuspended = false
        interrupt(victims, by: place, into: &effects)
        start(place, into: &effects)
        return .done
    }

    mutating func deactivate(
        _ place: Int, notifyOthers: Bool, force: Bool, runningStreams: Int, into effects: inout [Addressed]
    ) -> Outcome {
        let key = records[place].key
        switch records[place].state {
        case .uninitialised, .inactive:
            break
        case .active:
            guard force || runningStreams <= 0 else { return .refused(.ioRunning) }
            stop(place, .deactivated, into: &effects)
        case .interrupted:
            effects.append(Addressed(key, .stopMedia(.deactivated)))
            records[place].isSuspended = false
            endInterruption(of: place, shouldResume: false, cause: .deactivated, into: &effects)
            records[place].state = .inactive
            show(place, into: &effects)
        }
        releaseVictims(of: key, shouldResume: notifyOthers, cause: .deactivated, into: &effects)
        return .done
    }

    // MARK: The client's own interruption

    mutating func beginOwnInterruption(
        of place: Int, reason: InterruptionReason, now: MonotonicInstant, into effects: inout [Addressed]
    ) -> Outcome {
        switch records[place].state {
        case .uninitialised, .inactive:
            return .done([.notActive])
        case .active, .interrupted:
            if records[place].ownInterruption == nil { records[place].ownInterruption = now }
            if records[place].interruptionReason == nil { records[place].interruptionReason = reason }
            if records[place].state == .active {
                records[place].state = .interrupted
                effects.append(Addressed(records[place].key, .stopMedia(.interrupted)))
            }
            show(place, into: &effects)
            return .done
        }
    }

    mutating func endOwnInterruption(of place: Int, shouldResume: Bool, into effects: inout [Addressed]) -> Outcome {
        guard records[place].ownInterruption != nil else { return .done([.notInterrupted]) }
        let key = records[place].key
        records[place].ownInterruption = nil
        guard shouldResume else {
            closeInterruption(of: place)
            retire(place, into: &effects)
            return .done
        }
        // Another session has the audio: the interruption goes on as that one's.
        guard !isVictim(key) else { return .done }
        closeInterruption(of: place)
        // There is still no route: it goes on when there is one.
        guard !records[place].isSuspended else {
            show(place, into: &effects)
            return .done
        }
        guard reactivate(place, into: &effects) else { return .refused(.insufficientPriority) }
        return .done
    }

    // MARK: Routes and pauses

    mutating func changeRoute(of place: Int, reason: RouteChangeReason, into effects: inout [Addressed]) -> Outcome {
        let key = records[place].key
        var hasStarted = false
        if records[place].isSuspended, reason != .noSuitableRouteForCategory {
            records[place].isSuspended = false
            if records[place].interruptionReason == nil { hasStarted = reactivate(place, into: &effects) }
        }
        switch reason {
        case .unknown, .newDeviceAvailable, .override, .routeConfigurationChange:
            break
        case .oldDeviceUnavailable:
            pausePlayback(of: place, into: &effects)
        case .categoryChange:
            if !hasStarted { effects.append(Addressed(key, .applyRights(records[place].traits.category))) }
        case .wakeFromSleep:
            if records[place].state == .active, !hasStarted { effects.append(Addressed(key, .startMedia)) }
        case .noSuitableRouteForCategory:
            suspend(place, into: &effects)
        }
        return .done
    }

    private mutating func suspend(_ place: Int, into effects: inout [Addressed]) {
        switch records[place].state {
        case .uninitialised, .inactive:
            break
        case .active:
            records[place].isSuspended = true
            records[place].state = .interrupted
            effects.append(Addressed(records[place].key, .stopMedia(.suspended)))
            show(place, into: &effects)
        case .interrupted:
            records[place].isSuspended = true
        }
    }

    mutating func pausePlayback(of place: Int, into effects: inout [Addressed]) {
        guard !records[place].isPaused else { return }
        records[place].isPaused = true
        effects.append(Addressed(records[place].key, .pausePlayback))
    }

    mutating func continuePlayback(of place: Int, into effects: inout [Addressed]) {
        guard records[place].isPaused else { return }
        records[place].isPaused = false
        effects.append(Addressed(records[place].key, .continuePlayback))
    }

    // MARK: Endings

    /// The relay session is over: nothing is sent to it, and whom it interrupted is told not to resume (§3).
    mutating func leave(_ place: Int, into effects: inout [Addressed]) {
        let key = records[place].key
        stack.removeAll { $0.victim == key }
        records.remove(at: place)
        releaseVictims(of: key, shouldResume: false, cause: .left, into: &effects)
    }

    /// §3: the client re-creates its session. An interruption that was on is void with it.
    mutating func loseMedia(of place: Int, into effects: inout [Addressed]) {
        let key = records[place].key
        guard records[place].state != .uninitialised else { return }
        effects.append(Addressed(key, .stopMedia(.lost)))
        closeInterruption(of: place)
        records[place].ownInterruption = nil
        records[place].state = .uninitialised
        records[place].traits = .initial
        records[place].isSuspended = false
        effects.append(Addressed(key, .event(.mediaServicesWereLost)))
        effects.append(Addressed(key, .event(.mediaServicesWereReset)))
        show(place, into: &effects)
        releaseVictims(of: key, shouldResume: false, cause: .left, into: &effects)
    }
}
