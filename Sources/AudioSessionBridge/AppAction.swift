/// What an app is to do, because the relay or the platform said something.
public enum AppAction: Hashable, Sendable {
    /// Stop the engine: the relay has stopped sending already. Show that it is interrupted, by which device if that is known. The reason is the
    /// interruption's, the cause of a `session.changed`, or the code of a refusal.
    case stopSound(reason: String, device: String?)
    /// Activate `AVAudioSession`, then start the engine: the relay has agreed, and media comes already. Nothing to do for an engine that runs.
    case resumeSound
    /// Nothing interrupts any more, but nothing goes on by itself: show a button that activates.
    case stayPaused
    /// Bring the output to this gain over so many milliseconds.
    case setGain(decibels: Double, rampMilliseconds: Double)
    /// Be silent, or not any more, with what is not the conference.
    case silenceSecondaryAudio(Bool)
    /// What is known of streams and subscriptions is void.
    case discardStreams
    /// Look at what the category allows: streams that it does not have ended, each with a ``stopStream(stream:reason:)``.
    case readRights
    /// One stream, own or subscribed, is carried no longer.
    case stopStream(stream: UInt32, reason: String)
    /// `MPNowPlayingInfoPropertyElapsedPlaybackTime` and `…PlaybackRate`; `at` in milliseconds since 1970 at the relay.
    case showPosition(stream: UInt32, state: String, elapsed: Double, rate: Double, at: Double)
    /// Encode an own stream like this: nobody hears more.
    case setEncoder(stream: UInt32, channels: Int, bandwidth: String)
    /// Show what a peer is like now: held, interrupted, or with another route.
    case showParticipant(UInt32)
    /// Show the session as the relay has it.
    case showSession(state: String)
    /// The relay has refused a request of the bridge's, and nothing has changed there: a fault of the app's, or a limit of the relay's.
    case showRefusal(request: String, code: String)
    /// Stop sending what the microphone hears, or start again.
    case muteInput(Bool)
}

/// What the relay tells of audio sessions; raw values are the types of its messages.
public enum RelayEventType: String, CaseIterable, Sendable {
    case sessionChanged = "session.changed"
    case interruptionBegan = "interruption.began"
    case interruptionEnded = "interruption.ended"
    case duckBegan = "duck.began"
    case duckEnded = "duck.ended"
    case silenceSecondaryAudioBegin = "silenceSecondaryAudio.begin"
    case silenceSecondaryAudioEnd = "silenceSecondaryAudio.end"
    case mediaServicesWereLost = "mediaServices.wereLost"
    case mediaServicesWereReset = "mediaServices.wereReset"
    case routeChanged = "route.changed"
    case streamStopped = "stream.stopped"
    case streamState = "stream.state"
    case formatWanted = "format.wanted"
    case participantInterrupted = "participant.interrupted"
    case participantHeld = "participant.held"
    case participantRoute = "participant.route"
    case participantMode = "participant.mode"
}
