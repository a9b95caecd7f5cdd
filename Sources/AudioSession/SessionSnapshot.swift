/// Where an audio session stands; raw values are the wire's.
package enum SessionState: String, Sendable, Hashable, CaseIterable {
    /// Lost: to be initialised again.
    case uninitialised
    case inactive
    case active
    /// Interrupted, or without a suitable route: nothing flows, and it goes on by itself when that is over.
    case interrupted
}

/// A session's whole state, for its client, for administrators, and for whoever compares states.
package struct SessionSnapshot: Sendable, Hashable {
    package var state: SessionState
    package var category: Category
    package var mode: Mode
    package var options: CategoryOptions
    /// The app said that it is in the background when it activated the session.
    package var isBackground: Bool
    package var priority: Int
    /// Playback is paused until the client continues it.
    package var isPaused: Bool
    /// The connection is lost.
    package var isParked: Bool
    /// The client said that there is no suitable route (reason 7).
    package var isSuspended: Bool
    /// As the room sees it.
    package var isHeld: Bool
    package var isDucked: Bool
    package var isSecondaryAudioSilenced: Bool
    package var interruption: SessionInterruption?
}

/// An interruption that has begun and not ended.
package struct SessionInterruption: Sendable, Hashable {
    package var reason: InterruptionReason
    /// The client said so (a phone call on the device); such an interruption has a longest time.
    package var isOwn: Bool
    /// The session of the identity that has the audio.
    package var interrupter: SessionKey?
    /// Place in the identity's stack of interruptions, 0 at the bottom; `nil` without ``interrupter``.
    package var depth: Int?
}
