internal import RelayBase

/// A relay session among those of an identity: the loop that it lives on and the loop's own token for it.
package struct SessionKey: Hashable, Sendable, Comparable {
    package var loop: Int
    package var token: UInt64

    package init(loop: Int, token: UInt64) {
        self.loop = loop
        self.token = token
    }

    package static func < (left: SessionKey, right: SessionKey) -> Bool {
        (left.loop, left.token) < (right.loop, right.token)
    }
}

/// What happens to an audio session: what its client asks for, and what the relay notices of it.
package enum SessionVerb: Sendable, Equatable {
    // MARK: Requests of the client, each answered or refused exactly once

    /// Media that flowed before, without an audio session, stops: from now on only an active session has any.
    case initialise
    case setCategory(Category, Mode, CategoryOptions)
    /// - Parameter priority: 0 to 100; what is outside is taken for the nearest.
    case activate(background: Bool, priority: Int)
    /// - Parameter runningStreams: as many streams as the loop counts that the client publishes or that play at it.
    case deactivate(notifyOthers: Bool, force: Bool, runningStreams: Int)
    case interruptionBegan(InterruptionReason)
    case interruptionEnded(shouldResume: Bool)
    case routeChanged(RouteChangeReason)
    case pausePlayback
    case continuePlayback

    // MARK: Noticed by the relay, never answered

    /// The client sends media although it said that it is interrupted (once, not per frame).
    case mediaArrived
    /// The connection is lost, and the relay session waits to be resumed.
    case parked
    case resumed
    /// The relay session is over: its client said so, or its time to be resumed ran out (`crashed`).
    case left(crashed: Bool)
    /// The relay lost what it knew of the session's media.
    case mediaLost

    /// Whether a client waits for an answer.
    package var isRequest: Bool {
        switch self {
        case .initialise, .setCategory, .activate, .deactivate, .interruptionBegan, .interruptionEnded, .routeChanged, .pausePlayback,
            .continuePlayback:
            true
        case .mediaArrived, .parked, .resumed, .left, .mediaLost: false
        }
    }
}

/// Why media stops. Raw values are the wire's reasons for `stream.stopped`.
package enum MediaStop: String, Sendable, Hashable, CaseIterable {
    case interrupted
    /// Also: not active yet.
    case deactivated
    case category
    /// No suitable route (reason 7).
    case suspended = "route"
    /// The relay lost the session's media state.
    case lost
}

/// Why a request is refused; the session is as it was, unless the case says otherwise.
package enum SessionRefusal: Sendable, Hashable, CaseIterable {
    /// Never initialised, or lost (`!ini`).
    case sessionLost
    case illegalCategory
    /// An active session may not be interrupted by this one. Of `interruptionEnded`: the session is inactive now.
    case insufficientPriority
    /// Streams run, and `force` was not said.
    case ioRunning
    /// The identity has as many audio sessions as it may.
    case tooManySessions
}

/// What a request was, although it was answered. Raw values are the wire's `warnings`.
package enum SessionWarning: String, Sendable, Hashable, CaseIterable {
    case alreadyInitialised = "already_initialised"
    /// `interruptionBegan` of a session that is not active: nothing changes.
    case notActive = "not_active"
    /// `interruptionEnded` without `interruptionBegan`: nothing changes.
    case notInterrupted = "not_interrupted"
}

/// What a session's loop is to do, in this order.
package enum SessionEffect: Sendable, Hashable {
    /// To the client, for its request.
    case answer(SessionSnapshot, warnings: [SessionWarning])
    case refuse(SessionRefusal)
    /// Drop what is queued, nothing to or from the session from now on. Idempotent.
    case stopMedia(MediaStop)
    /// Media may flow, as the category allows and unless playback is paused: configuration, key frame, discontinuity, live edge.
    /// Also said of a session whose media flows: start afresh.
    case startMedia
    /// The downlink only, and apart from ``stopMedia(_:)``: it is neither ended nor begun by it.
    case pausePlayback
    case continuePlayback
    /// Stop each stream that the category does not allow.
    case applyRights(Category)
    /// To the client.
    case event(SessionEvent)
    /// To the room; `nil`: not any more.
    case showInterrupted(InterruptionReason?)
    /// To the room.
    case showHeld(Bool)
}

/// What a client is told of its session without having asked.
package enum SessionEvent: Sendable, Hashable {
    case changed(SessionSnapshot, SessionChangeCause)
    /// - Parameter device: the interrupter's, as it named itself.
    case interruptionBegan(InterruptionReason, device: String?)
    case interruptionEnded(shouldResume: Bool, InterruptionEnd)
    case duckBegan(gainDecibels: Double, rampMilliseconds: Double)
    case duckEnded(gainDecibels: Double, rampMilliseconds: Double)
    case silenceSecondaryAudioBegan
    case silenceSecondaryAudioEnded
    case mediaServicesWereLost
    case mediaServicesWereReset
    case routeChanged(RouteChangeReason)
}

/// What ended an interruption; raw values are the wire's.
package enum InterruptionEnd: String, Sendable, Hashable, CaseIterable {
    /// The interrupter, or the session itself, was deactivated.
    case deactivated
    /// The interrupter's relay session is over.
    case left
    /// The session was activated while it was interrupted.
    case activated
    /// Its client sent media.
    case media
    case timeout
}

/// Raw values are the wire's.
package enum SessionChangeCause: String, Sendable, Hashable, CaseIterable {
    /// It was to go on, and the arbiter refused.
    case refused
}

/// An effect, and whose loop it is for.
package struct Addressed: Sendable, Hashable {
    package var session: SessionKey
    package var effect: SessionEffect

    package init(_ session: SessionKey, _ effect: SessionEffect) {
        self.session = session
        self.effect = effect
    }
}

/// Bounds and values of an identity's sessions.
package struct SessionLimits: Sendable, Hashable {
    /// How long a client's own interruption lasts at most: platforms do lose its end.
    package var interruptionMillisecondsMax: Int
    /// As many audio sessions an identity has at most.
    package var sessionsMax: Int
    /// What others are lowered by while a session ducks them.
    package var duckGainDecibels: Double
    package var duckRampMilliseconds: Double

    package init(
        interruptionMillisecondsMax: Int = 14_400_000, sessionsMax: Int = 64, duckGainDecibels: Double = -12, duckRampMilliseconds: Double = 250
    ) {
        self.interruptionMillisecondsMax = interruptionMillisecondsMax
        self.sessionsMax = sessionsMax
        self.duckGainDecibels = duckGainDecibels
        self.duckRampMilliseconds = duckRampMilliseconds
    }

    func deadline(ofInterruptionAt since: MonotonicInstant) -> MonotonicInstant {
        since.advanced(byMilliseconds: UInt64(max(0, interruptionMillisecondsMax)))
    }
}
