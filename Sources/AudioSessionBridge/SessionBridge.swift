internal import AudioSession

/// What follows from one notification or event: messages to the relay, in this order, and what the app does.
public struct BridgeOutcome: Hashable, Sendable {
    public var requests: [BridgeRequest] = []
    public var actions: [AppAction] = []

    public init(requests: [BridgeRequest] = [], actions: [AppAction] = []) {
        self.requests = requests
        self.actions = actions
    }
}

/// Between an app's `AVAudioSession` and its session at the relay. One for each connection to a relay, in one place: every notification and every
/// event goes through it, and it alone decides what the other side is told.
///
/// Plain values in, plain values out; whoever owns it calls it from one thread.
public struct SessionBridge: Sendable {
    private var category = Category.playAndRecord
    private var mode = Mode.default
    private var options: CategoryOptions = []
    private var wantsActive = false
    private var isPausedByHint = false
    private var isPausedByUser = false
    /// The room may see the names of ports.
    public var sharesNames = false

    public init() {}

    // MARK: The app's own wishes

    /// As `AVAudioSession.setCategory(_:mode:options:)`, with the platform's raw values. Answers nothing for a category that there is not.
    public mutating func configure(category: String, mode: String, options: UInt32) -> [BridgeRequest] {
        guard let known = Category(platform: category) else { return [] }
        self.category = known
        self.mode = Mode(platform: mode)
        self.options = CategoryOptions(rawValue: options).intersection(.known)
        return [setCategory]
    }

    /// As `AVAudioSession.setActive(_:options:)`, after it has succeeded.
    public mutating func activate(_ active: Bool, notifyOthersOnDeactivation: Bool = false, background: Bool = false) -> [BridgeRequest] {
        wantsActive = active
        var members: [String: BridgeValue] = ["active": .flag(active)]
        if !active, notifyOthersOnDeactivation { members["notifyOthersOnDeactivation"] = .flag(true) }
        if active, background { members["background"] = .flag(true) }
        return [BridgeRequest("session.setActive", members)]
    }

    /// The user's pause button. A pause of the user's outlives what the platform hints.
    public mutating func pause(_ paused: Bool) -> [BridgeRequest] {
        isPausedByUser = paused
        isPausedByHint = false
        return [BridgeRequest(paused ? "playback.pause" : "playback.continue")]
    }

    /// Makes the relay's session anew: after the connection, and whenever the relay answers `session_lost` ('!ini').
    public func create() -> [BridgeRequest] {
        let active = wantsActive ? [BridgeRequest("session.setActive", ["active": .flag(true)])] : []
        return [BridgeRequest("session.init"), setCategory] + active
    }

    private var setCategory: BridgeRequest {
        BridgeRequest(
            "session.setCategory",
            ["category": .text(category.rawValue), "mode": .text(mode.rawValue), "options": .number(Double(options.rawValue))])
    }

    // MARK: From the platform

    /// A notification of the platform's.
    ///
    /// - Parameters:
    ///   - userInfo: numbers and flags by the platform's keys; what is neither may be left out.
    ///   - route: `AVAudioSession.currentRoute`.
    ///   - activate: activates `AVAudioSession`, and answers whether it could. Called where the platform says that sound should go on.
    public mutating func receive(
        _ notification: PlatformNotification, _ userInfo: [String: BridgeValue] = [:], route: PlatformRoute, activate: () -> Bool
    ) -> BridgeOutcome {
        func value(_ key: PlatformKey) -> BridgeValue? { userInfo[key.rawValue] }
        switch notification {
        case .interruption:
            switch value(.interruptionType)?.number {
            case 1:
                let reason = InterruptionReason(
                    platform: value(.interruptionReason)?.number, wasSuspended: value(.interruptionWasSuspended)?.flag ?? false)
                return BridgeOutcome(requests: [BridgeRequest("interruption.began", ["reason": .text(reason.rawValue)])])
            case 0:
                let shouldResume = Int(exactly: value(.interruptionOption)?.number ?? 0).map { $0 & 1 == 1 } ?? false
                return endInterruption(shouldResume: shouldResume && activate())
            default: return BridgeOutcome()
            }
        case .routeChange:
            return BridgeOutcome(requests: [routeChanged(value(.routeChangeReason)?.number ?? 0, route)])
        case .renderingModeChange:
            return BridgeOutcome(requests: [routeChanged(Double(RouteChangeReason.routeConfigurationChange.rawValue), route)])
        case .silenceSecondaryAudioHint:
            return BridgeOutcome(requests: hint(value(.silenceSecondaryAudioHintType)?.number))
        case .mediaServicesWereLost:
            let began = BridgeRequest("interruption.began", ["reason": .text(InterruptionReason.default.rawValue)])
            return BridgeOutcome(requests: wantsActive ? [began] : [], actions: [.stopSound(reason: "mediaServicesWereLost", device: nil)])
        case .mediaServicesWereReset:
            // Every object of the platform's is void, and its session inactive: only what was active is made active again.
            guard wantsActive else { return BridgeOutcome() }
            return activate() ? BridgeOutcome(requests: create(), actions: [.resumeSound]) : endInterruption(shouldResume: false)
        case .inputMuteStateChange:
            return BridgeOutcome(actions: value(.muteState)?.flag.map { [.muteInput($0)] } ?? [])
        }
    }

    /// What does not go on is inactive at the relay from then on.
    private mutating func endInterruption(shouldResume: Bool) -> BridgeOutcome {
        wantsActive = wantsActive && shouldResume
        return BridgeOutcome(
            requests: [BridgeRequest("interruption.ended", ["shouldResume": .flag(shouldResume)])],
            actions: [shouldResume ? .resumeSound : .stayPaused])
    }

    private func routeChanged(_ reason: Double, _ route: PlatformRoute) -> BridgeRequest {
        var members: [String: BridgeValue] = ["reason": .number(reason), "route": route.value]
        if sharesNames { members["sharesNames"] = .flag(true) }
        return BridgeRequest("route.changed", members)
    }

    /// Another app's sound begins or ends. What the user paused stays paused.
    private mutating func hint(_ type: Double?) -> [BridgeRequest] {
        switch type {
        case 1 where !isPausedByHint && !isPausedByUser:
            isPausedByHint = true
            return [BridgeRequest("playback.pause")]
        case 0 where isPausedByHint:
            isPausedByHint = false
            return [BridgeRequest("playback.continue")]
        default: return []
        }
    }

    // MARK: From the relay

    /// An event of the relay's.
    ///
    /// - Parameter message: the whole message. Events that are none of audio sessions, and such with members missing, come to nothing.
    public mutating func receive(_ type: String, _ message: BridgeValue) -> BridgeOutcome {
        guard let event = RelayEventType(rawValue: type) else { return BridgeOutcome() }
        if event == .mediaServicesWereReset { return BridgeOutcome(requests: create()) }
        let isOver = event == .interruptionEnded && message["shouldResume"]?.flag != true
        if isOver || event == .sessionChanged && message["session"]?["state"]?.text == "inactive" { wantsActive = false }
        return BridgeOutcome(actions: SessionBridge.action(event, message).map { [$0] } ?? [])
    }

    private static func action(_ event: RelayEventType, _ message: BridgeValue) -> AppAction? {
        func stream() -> UInt32? { message["stream"]?.number.flatMap(UInt32.init(exactly:)) }
        switch event {
        case .sessionChanged: return message["session"]?["state"]?.text.map { .showSession(state: $0) }
        case .interruptionBegan:
            return .stopSound(reason: message["reason"]?.text ?? InterruptionReason.default.rawValue, device: message["device"]?.text)
        case .interruptionEnded: return message["shouldResume"]?.flag == true ? .resumeSound : .stayPaused
        case .duckBegan, .duckEnded:
            guard let gain = message["gainDecibels"]?.number, let ramp = message["rampMilliseconds"]?.number else { return nil }
            return .setGain(decibels: event == .duckEnded ? 0 : gain, rampMilliseconds: ramp)
        case .silenceSecondaryAudioBegin: return .silenceSecondaryAudio(true)
        case .silenceSecondaryAudioEnd: return .silenceSecondaryAudio(false)
        case .mediaServicesWereLost: return .discardStreams
        case .mediaServicesWereReset: return nil
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
