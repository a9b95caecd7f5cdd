internal import AudioSession

/// What the relay says: events, answers, and where the session stands after a resumption.
extension SessionBridge {
    /// An event of the relay's.
    ///
    /// - Parameter message: the whole message. Events that are none of audio sessions, and such with members missing, come to nothing.
    public mutating func receive(_ type: String, _ message: BridgeValue) -> BridgeOutcome {
        guard let event = RelayEventType(rawValue: type) else { return BridgeOutcome() }
        switch event {
        case .mediaServicesWereReset: return BridgeOutcome(requests: create())
        case .mediaServicesWereLost: isActiveAtRelay = false
        case .interruptionBegan:
            isInterruptedByRelay = true
            isActiveAtRelay = false
        case .interruptionEnded: return BridgeOutcome(actions: endedByRelay(message))
        case .sessionChanged: return BridgeOutcome(actions: changedByRelay(message))
        default: break
        }
        return BridgeOutcome(actions: SessionBridge.action(event, message).map { [$0] } ?? [])
    }

    /// The answer to a request of the bridge's.
    ///
    /// - Parameters:
    ///   - request: as it was sent.
    ///   - message: the whole answer, `ok` or `error`, found by the `id` that the app gave the request.
    public mutating func answered(_ request: BridgeRequest, _ message: BridgeValue) -> BridgeOutcome {
        var stays: [AppAction] = []
        if request.type == "session.init" {
            isCreating = false
            if owesStayPaused { stays = [.stayPaused] }
            owesStayPaused = false
        }
        guard message["type"]?.text == "error" else {
            let state = message["session"]?["state"]?.text
            // The device's own interruption is over, and another session has taken the audio meanwhile.
            if request.type == "interruption.ended", request.members["shouldResume"]?.flag == true, state == "interrupted" {
                isInterruptedByRelay = true
            }
            return BridgeOutcome(actions: stays + follow(state))
        }
        let code = message["code"]?.text ?? ""
        switch code {
        case "session_lost":
            // What asked before the new session was there is refused as well, and a session that cannot be made is not tried for ever.
            return isCreating || request.isPartOfCreation ? BridgeOutcome(actions: stays) : BridgeOutcome(requests: create())
        case "insufficient_priority" where request.type == "session.setActive" || request.type == "interruption.ended":
            // The platform's session is active already: what plays by now must not.
            wantsActive = false
            isActiveAtRelay = false
            return BridgeOutcome(actions: stays + [.stopSound(reason: code, device: nil), .stayPaused])
        default: return BridgeOutcome(actions: stays + [.showRefusal(request: request.type, code: code)])
        }
    }

    /// The relay session was resumed: what was said meanwhile is not repeated, and what was asked may not have come.
    ///
    /// - Parameter session: `resumed.session` of the `welcome`.
    public mutating func resumed(_ session: BridgeValue) -> BridgeOutcome {
        isCreating = false
        switch session["state"]?.text {
        case "active" where interruption == .told:
            return BridgeOutcome(requests: [
                BridgeRequest("interruption.began", ["reason": .text(InterruptionReason.default.rawValue)])
            ])
        case "active" where !wantsActive:
            return BridgeOutcome(requests: [BridgeRequest("session.setActive", ["active": .flag(false), "force": .flag(true)])])
        case "interrupted" where wantsActive && interruption == .none && !isInterruptedByRelay:
            // Its end was lost on the way, or another session has the audio now: the answer says which.
            isActiveAtRelay = false
            return BridgeOutcome(
                requests: [BridgeRequest("interruption.ended", ["shouldResume": .flag(true)])],
                actions: [.stopSound(reason: InterruptionReason.default.rawValue, device: nil)])
        case "inactive" where wantsActive, "uninitialised" where wantsActive:
            if session["state"]?.text == "uninitialised" { return BridgeOutcome(requests: create()) }
            return BridgeOutcome(actions: becomeInactive(reason: "inactive") + [.stayPaused])
        case let state: return BridgeOutcome(actions: follow(state))
        }
    }

    // MARK: What follows

    /// Sound starts when the relay comes to have the session active, and the app still wants it.
    private mutating func follow(_ state: String?) -> [AppAction] {
        guard let state else { return [] }
        let wasActive = isActiveAtRelay
        isActiveAtRelay = state == "active"
        if state != "interrupted" { isInterruptedByRelay = false }
        return isActiveAtRelay && !wasActive && wantsActive && interruption == .none ? [.resumeSound] : []
    }

    private mutating func endedByRelay(_ message: BridgeValue) -> [AppAction] {
        isInterruptedByRelay = false
        if message["shouldResume"]?.flag == true { return follow("active") }
        // The app itself has just activated its session; the answer to that is under way.
        if message["cause"]?.text == "activated" { return [] }
        wantsActive = false
        isActiveAtRelay = false
        if interruption == .told { interruption = .untold }
        return [.stayPaused]
    }

    private mutating func changedByRelay(_ message: BridgeValue) -> [AppAction] {
        guard let state = message["session"]?["state"]?.text else { return [] }
        let first = state == "inactive" ? becomeInactive(reason: message["cause"]?.text ?? "") : follow(state)
        return first + [.showSession(state: state)]
    }

    private mutating func becomeInactive(reason: String) -> [AppAction] {
        wantsActive = false
        isActiveAtRelay = false
        isInterruptedByRelay = false
        return [.stopSound(reason: reason, device: nil)]
    }

    private static func action(_ event: RelayEventType, _ message: BridgeValue) -> AppAction? {
        func stream() -> UInt32? { message["stream"]?.number.flatMap(UInt32.init(exactly:)) }
        switch event {
        case .interruptionBegan:
            return .stopSound(reason: message["reason"]?.text ?? InterruptionReason.default.rawValue, device: message["device"]?.text)
        case .duckBegan, .duckEnded:
            guard let gain = message["gainDecibels"]?.number, let ramp = message["rampMilliseconds"]?.number else { return nil }
            return .setGain(decibels: event == .duckEnded ? 0 : gain, rampMilliseconds: ramp)
        case .silenceSecondaryAudioBegin: return .silenceSecondaryAudio(true)
        case .silenceSecondaryAudioEnd: return .silenceSecondaryAudio(false)
        case .mediaServicesWereLost: return .discardStreams
        case .sessionChanged, .interruptionEnded, .mediaServicesWereReset: return nil
        case .routeChanged: return message["reason"]?.number == 3 ? .readRights : nil
        case .streamStopped: return stream().map { .stopStream(stream: $0, reason: message["reason"]?.text ?? "") }
        case .streamState:
            guard let stream = stream(), let state = message["state"]?.text, let elapsed = message["elapsed"]?.number,
                let rate = message["rate"]?.number, let at = message["at"]?.number
            else { return nil }
            return .showPosition(stream: stream, state: state, elapsed: elapsed, rate: rate, at: at)
        case .formatWanted:
            guard let stream = stream(), let channels = message["channels"]?.number.flatMap(Int.init(exactly:)),
                let bandwidth = message["bandwidth"]?.text
            else { return nil }
            return .setEncoder(stream: stream, channels: channels, bandwidth: bandwidth)
        case .participantInterrupted, .participantHeld, .participantRoute, .participantMode:
            return message["participant"]?.number.flatMap(UInt32.init(exactly:)).map { .showParticipant($0) }
        }
    }
}
