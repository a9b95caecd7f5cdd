internal import AudioSession

/// What follows from one notification, event or answer: messages to the relay, in this order, and what the app does.
public struct BridgeOutcome: Hashable, Sendable {
    public var requests: [BridgeRequest] = []
    public var actions: [AppAction] = []

    public init(requests: [BridgeRequest] = [], actions: [AppAction] = []) {
        self.requests = requests
        self.actions = actions
    }
}

/// Between an app's `AVAudioSession` and its session at the relay. One for each connection to a relay, in one place: every notification, every
/// event and every answer goes through it, and it alone decides what the other side is told.
///
/// Plain values in, plain values out; whoever owns it calls it from one thread.
public struct SessionBridge: Sendable {
    /// The device's own interruption, as the platform tells of it.
    enum DeviceInterruption {
        case none
        /// The relay has it on its books.
        case told
        /// It goes on, but the relay's session has been made anew, or was made inactive, meanwhile.
        case untold
    }

    private var category = Category.playAndRecord
    private var mode = Mode.default
    private var options: CategoryOptions = []
    private var isInBackground = false
    private var isPausedByHint = false
    /// By the user's button, or by a headset that was pulled: only the user continues.
    private var isPausedUntilContinued = false
    private var route: PlatformRoute?
    private var isWithoutSuitableRoute = false
    /// The app is to have sound, as soon as nothing interrupts it.
    var wantsActive = false
    var interruption = DeviceInterruption.none
    /// Another session of the user's has the audio.
    var isInterruptedByRelay = false
    /// As the relay said last. The app's sound starts only when this comes to be true.
    var isActiveAtRelay = false
    /// `session.init` is on its way.
    var isCreating = false
    /// An interruption was forgotten with the relay's session: nothing will end it.
    var owesStayPaused = false
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

    /// As `AVAudioSession.setActive(_:options:)`, after it has succeeded. Start the engine with ``AppAction/resumeSound``, which follows the relay's
    /// answer. Deactivation is forced: the platform's session is inactive already, whatever streams the relay still counts.
    public mutating func activate(_ active: Bool, notifyOthersOnDeactivation: Bool = false, background: Bool = false) -> [BridgeRequest] {
        wantsActive = active
        isInBackground = active && background
        interruption = .none
        isInterruptedByRelay = false
        isActiveAtRelay = false
        guard !active else { return [setActive] }
        var members: [String: BridgeValue] = ["active": .flag(false), "force": .flag(true)]
        if notifyOthersOnDeactivation { members["notifyOthersOnDeactivation"] = .flag(true) }
        return [BridgeRequest("session.setActive", members)]
    }

    /// The user's pause button. A pause of the user's outlives what the platform hints, and the relay's session.
    public mutating func pause(_ paused: Bool) -> [BridgeRequest] {
        isPausedUntilContinued = paused
        isPausedByHint = false
        return [BridgeRequest(paused ? "playback.pause" : "playback.continue")]
    }

    /// Makes the relay's session anew: after a connection whose session is a new one. The bridge does it by itself when the relay has lost the session.
    ///
    /// What the app is in stays: a device that is interrupted is not made active, nor is one whose audio another device has; a pause goes on, and the
    /// route is told again.
    ///
    /// - Parameter route: `AVAudioSession.currentRoute`; without it, as it was told last.
    public mutating func create(route current: PlatformRoute? = nil) -> [BridgeRequest] {
        if let current { route = current }
        if interruption == .told { interruption = .untold }
        if isInterruptedByRelay {
            isInterruptedByRelay = false
            wantsActive = false
            owesStayPaused = true
        }
        isActiveAtRelay = false
        isCreating = true
        var requests = [BridgeRequest("session.init"), setCategory]
        // Before it becomes active: nothing is heard meanwhile that should not be, nor in a format that does not fit.
        if let route, !isWithoutSuitableRoute { requests.append(routeChanged(Double(RouteChangeReason.unknown.rawValue), route)) }
        if isPausedUntilContinued || isPausedByHint { requests.append(BridgeRequest("playback.pause")) }
        if wantsActive, interruption == .none { requests.append(setActive) }
        // Only an active session is held for want of a route.
        if let route, isWithoutSuitableRoute {
            requests.append(routeChanged(Double(RouteChangeReason.noSuitableRouteForCategory.rawValue), route))
        }
        return requests.map(\.creating)
    }

    private var setCategory: BridgeRequest {
        BridgeRequest(
            "session.setCategory",
            ["category": .text(category.rawValue), "mode": .text(mode.rawValue), "options": .number(Double(options.rawValue))])
    }

    private var setActive: BridgeRequest {
        var members: [String: BridgeValue] = ["active": .flag(true)]
        if isInBackground { members["background"] = .flag(true) }
        return BridgeRequest("session.setActive", members)
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
        self.route = route
        switch notification {
        case .interruption:
            switch value(.interruptionType)?.number {
            case 1:
                return BridgeOutcome(requests: [
                    beginInterruption(
                        InterruptionReason(
                            platform: value(.interruptionReason)?.number, wasSuspended: value(.interruptionWasSuspended)?.flag ?? false))
                ])
            case 0:
                let shouldResume = Int(exactly: value(.interruptionOption)?.number ?? 0).map { $0 & 1 == 1 } ?? false
                return endInterruption(shouldResume: shouldResume && wantsActive && activate())
            default: return BridgeOutcome()
            }
        case .routeChange:
            let reason = value(.routeChangeReason)?.number ?? 0
            note(reason)
            return BridgeOutcome(requests: [routeChanged(reason, route)])
        case .renderingModeChange, .renderingCapabilitiesChange, .spatialPlaybackCapabilitiesChanged:
            return BridgeOutcome(requests: [routeChanged(Double(RouteChangeReason.routeConfigurationChange.rawValue), route)])
        case .availableInputsChange, .microphoneInjectionCapabilitiesChange:
            // What could be chosen is the app's to show; what is chosen comes as a route change.
            return BridgeOutcome()
        case .silenceSecondaryAudioHint:
            return BridgeOutcome(requests: hint(value(.silenceSecondaryAudioHintType)?.number))
        case .mediaServicesWereLost:
            return BridgeOutcome(
                requests: wantsActive ? [beginInterruption(.default)] : [], actions: [.stopSound(reason: "mediaServicesWereLost", device: nil)])
        case .mediaServicesWereReset:
            // Every object of the platform's is void, and its session inactive: only what was active is made active again.
            guard wantsActive else { return BridgeOutcome() }
            guard activate() else { return endInterruption(shouldResume: false) }
            interruption = .none
            return BridgeOutcome(requests: create())
        case .inputMuteStateChange:
            return BridgeOutcome(actions: value(.muteState)?.flag.map { [.muteInput($0)] } ?? [])
        }
    }

    private mutating func beginInterruption(_ reason: InterruptionReason) -> BridgeRequest {
        if interruption == .none { interruption = .told }
        isActiveAtRelay = false
        return BridgeRequest("interruption.began", ["reason": .text(reason.rawValue)])
    }

    /// What does not go on is inactive at the relay from then on. What goes on is heard when the relay agrees.
    private mutating func endInterruption(shouldResume: Bool) -> BridgeOutcome {
        let wasUntold = interruption == .untold
        interruption = .none
        isActiveAtRelay = false
        wantsActive = wantsActive && shouldResume
        let actions: [AppAction] = shouldResume ? [] : [.stayPaused]
        // The relay's session has been inactive since it was made anew: there is nothing to end.
        if wasUntold { return BridgeOutcome(requests: shouldResume ? [setActive] : [], actions: actions) }
        return BridgeOutcome(requests: [BridgeRequest("interruption.ended", ["shouldResume": .flag(shouldResume)])], actions: actions)
    }

    /// What of a route change outlives the relay's session.
    private mutating func note(_ reason: Double) {
        isWithoutSuitableRoute = reason == Double(RouteChangeReason.noSuitableRouteForCategory.rawValue)
        guard reason == Double(RouteChangeReason.oldDeviceUnavailable.rawValue) else { return }
        isPausedUntilContinued = true
        isPausedByHint = false
    }

    private func routeChanged(_ reason: Double, _ route: PlatformRoute) -> BridgeRequest {
        var members: [String: BridgeValue] = ["reason": .number(reason), "route": route.value]
        if sharesNames { members["sharesNames"] = .flag(true) }
        return BridgeRequest("route.changed", members)
    }

    /// Another app's sound begins or ends. What is paused until the user continues stays paused.
    private mutating func hint(_ type: Double?) -> [BridgeRequest] {
        switch type {
        case 1 where !isPausedByHint && !isPausedUntilContinued:
            isPausedByHint = true
            return [BridgeRequest("playback.pause")]
        case 0 where isPausedByHint:
            isPausedByHint = false
            return [BridgeRequest("playback.continue")]
        default: return []
        }
    }
}
