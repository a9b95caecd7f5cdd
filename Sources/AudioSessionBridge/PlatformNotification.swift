/// The platform's notifications that concern an audio session; raw values are their names.
public enum PlatformNotification: String, CaseIterable, Sendable {
    case interruption = "AVAudioSessionInterruptionNotification"
    case routeChange = "AVAudioSessionRouteChangeNotification"
    case silenceSecondaryAudioHint = "AVAudioSessionSilenceSecondaryAudioHintNotification"
    case mediaServicesWereLost = "AVAudioSessionMediaServicesWereLostNotification"
    case mediaServicesWereReset = "AVAudioSessionMediaServicesWereResetNotification"
    case renderingModeChange = "AVAudioSessionRenderingModeChangeNotification"
    /// iOS 17.2.
    case renderingCapabilitiesChange = "AVAudioSessionRenderingCapabilitiesChangeNotification"
    /// iOS 15.
    case spatialPlaybackCapabilitiesChanged = "AVAudioSessionSpatialPlaybackCapabilitiesChangedNotification"
    /// iOS 18.2.
    case microphoneInjectionCapabilitiesChange = "AVAudioSessionMicrophoneInjectionCapabilitiesChangeNotification"
    /// iOS 26.
    case availableInputsChange = "AVAudioSessionAvailableInputsChangeNotification"
    case inputMuteStateChange = "AVAudioApplicationInputMuteStateChangeNotification"
}

/// The keys of their `userInfo`; raw values are the platform's.
public enum PlatformKey: String, CaseIterable, Sendable {
    /// 1 began, 0 ended.
    case interruptionType = "AVAudioSessionInterruptionTypeKey"
    /// Bit 0: should resume.
    case interruptionOption = "AVAudioSessionInterruptionOptionKey"
    case interruptionReason = "AVAudioSessionInterruptionReasonKey"
    /// Before iOS 14.5 in place of the reason 1.
    case interruptionWasSuspended = "AVAudioSessionInterruptionWasSuspendedKey"
    case routeChangeReason = "AVAudioSessionRouteChangeReasonKey"
    /// Not read: the relay knows the route before.
    case routeChangePreviousRoute = "AVAudioSessionRouteChangePreviousRouteKey"
    /// 1 begin, 0 end.
    case silenceSecondaryAudioHintType = "AVAudioSessionSilenceSecondaryAudioHintTypeKey"
    /// Not read: what matters of it is in the route.
    case newRenderingMode = "AVAudioSessionRenderingModeNewRenderingModeKey"
    /// Not read: the route says how many channels there are.
    case spatialAudioEnabled = "AVAudioSessionSpatialAudioEnabledKey"
    /// Not read: injection is between the app and the call that it is not part of.
    case microphoneInjectionIsAvailable = "AVAudioSessionMicrophoneInjectionIsAvailableKey"
    case muteState = "AVAudioApplicationMuteStateKey"
}

/// A port as the platform describes it.
public struct PlatformPort: Hashable, Sendable {
    /// `AVAudioSession.Port.rawValue`.
    public var type: String
    public var name: String
    /// Hertz.
    public var sampleRate: Double
    public var channels: Int
    /// Seconds.
    public var latency: Double

    public init(type: String, name: String, sampleRate: Double, channels: Int, latency: Double) {
        self.type = type
        self.name = name
        self.sampleRate = sampleRate
        self.channels = channels
        self.latency = latency
    }
}

/// `AVAudioSession.currentRoute`.
public struct PlatformRoute: Hashable, Sendable {
    public var inputs: [PlatformPort]
    public var outputs: [PlatformPort]

    public init(inputs: [PlatformPort], outputs: [PlatformPort]) {
        self.inputs = inputs
        self.outputs = outputs
    }
}
