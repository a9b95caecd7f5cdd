import AudioSession

/// What the outside knows of one session: worked out from its snapshot before a verb, moved on by each effect, and compared with the snapshot after it.
/// As each step is checked so, whole histories are.
struct SessionObservation: Equatable {
    var isThere = false
    /// A `began`, told or asked, without its `ended`.
    var isInterruptionOpen = false
    var mediaFlows = false
    var isPaused = false
    var shownInterrupted = false
    var shownHeld = false
    var isDucked = false
    var isSilenced = false

    init(_ snapshot: SessionSnapshot?) {
        guard let snapshot else { return }
        isThere = true
        isInterruptionOpen = snapshot.interruption != nil
        mediaFlows = snapshot.state == .active
        isPaused = snapshot.isPaused
        shownInterrupted = snapshot.interruption != nil
        shownHeld = snapshot.isHeld
        isDucked = snapshot.isDucked
        isSilenced = snapshot.isSecondaryAudioSilenced
    }

    /// - Returns: what is wrong with the effect at this moment, or `nil`.
    mutating func apply(_ effect: SessionEffect) -> String? {
        switch effect {
        case .answer, .refuse, .applyRights: return nil
        case .stopMedia:
            mediaFlows = false
        case .startMedia:
            if isInterruptionOpen { return "media starts within an interruption" }
            mediaFlows = true
        case .pausePlayback:
            if isPaused { return "paused twice" }
            isPaused = true
        case .continuePlayback:
            if !isPaused { return "continued without a pause" }
            isPaused = false
        case .showInterrupted(let reason):
            if (reason != nil) == shownInterrupted { return "interrupted is shown twice" }
            if reason != nil, mediaFlows { return "shown as interrupted while media flows" }
            if reason != nil, shownHeld, !isInterruptionOpen { return "shown as interrupted without an interruption" }
            shownInterrupted = reason != nil
        case .showHeld(let isHeld):
            if isHeld == shownHeld { return "held is shown twice" }
            if isHeld == mediaFlows { return "held does not agree with the media" }
            if isInterruptionOpen != shownInterrupted { return "held is shown before interrupted" }
            shownHeld = isHeld
        case .event(let event):
            return apply(event)
        }
        return nil
    }

    private mutating func apply(_ event: SessionEvent) -> String? {
        switch event {
        case .interruptionBegan:
            if isInterruptionOpen { return "a second began" }
            if mediaFlows { return "began is told before the media has stopped" }
            isInterruptionOpen = true
        case .interruptionEnded:
            if !isInterruptionOpen { return "ended without began" }
            isInterruptionOpen = false
        case .duckBegan:
            if isDucked { return "ducked twice" }
            isDucked = true
        case .duckEnded:
            if !isDucked { return "duck ended without began" }
            isDucked = false
        case .silenceSecondaryAudioBegan:
            if isSilenced { return "silenced twice" }
            isSilenced = true
        case .silenceSecondaryAudioEnded:
            if !isSilenced { return "silence ended without began" }
            isSilenced = false
        case .mediaServicesWereLost:
            if mediaFlows { return "media services were lost while media flows" }
            isInterruptionOpen = false
        case .changed, .mediaServicesWereReset, .routeChanged: break
        }
        return nil
    }
}
