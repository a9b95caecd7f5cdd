import AudioSession
import RelayBase

/// Events of audio sessions: to whose they are, and to the room.
extension EventDescription {
    static let sessionChanged = EventDescription(
        "The audio session has changed without the client's having asked.",
        [
            .required("session", .reference(.sessionState)),
            .required(
                "cause", .words(SessionChangeCause.allCases.map(\.rawValue)), "refused: the session was to go on, and may not; it is inactive."),
        ],
        #"{"type":"session.changed","session":{"state":"inactive","category":"playAndRecord","mode":"default","options":0,"paused":false},"cause":"refused"}"#
    )

    static let interruptionBegan = EventDescription(
        "Another session of the identity has interrupted this one; its media has stopped already.",
        [
            .required("reason", .words(InterruptionReason.allCases.map(\.rawValue))),
            .optional("device", .text, "The device that interrupts, as it named itself."),
        ],
        #"{"type":"interruption.began","reason":"handoff","device":"tablet"}"#)

    static let interruptionEnded = EventDescription(
        "The interruption is over: exactly once for each that began.",
        [
            .required("shouldResume", .boolean),
            .required("cause", .words(InterruptionEnd.allCases.map(\.rawValue)), "What ended it."),
        ],
        #"{"type":"interruption.ended","shouldResume":true,"cause":"deactivated"}"#)

    private static let duck: [SchemaMember] = [
        .required("gainDecibels", .number, "Decibels that a client, or the relay's mixer, lowers by."),
        .required("rampMilliseconds", .number(from: 0)),
    ]

    static let duckBegan = EventDescription(
        "Others are to be heard: lower the sound.", duck, #"{"type":"duck.began","gainDecibels":-12,"rampMilliseconds":200}"#)

    static let duckEnded = EventDescription(
        "The sound may be as loud as before.", duck, #"{"type":"duck.ended","gainDecibels":0,"rampMilliseconds":200}"#)

    static let silenceSecondaryAudioBegin = EventDescription(
        "A primary session plays: secondary audio should be silent.", [], #"{"type":"silenceSecondaryAudio.begin"}"#)

    static let silenceSecondaryAudioEnd = EventDescription(
        "No primary session plays any more.", [], #"{"type":"silenceSecondaryAudio.end"}"#)

    static let mediaServicesWereLost = EventDescription(
        "The relay has lost the session's media state.", [], #"{"type":"mediaServices.wereLost"}"#)

    static let mediaServicesWereReset = EventDescription(
        "The session is to be created anew.", [], #"{"type":"mediaServices.wereReset"}"#)

    static let routeChanged = EventDescription(
        "A route change that the relay itself brings about.",
        [.required("reason", JSONSchema(("type", "integer"), ("enum", .list(RouteChangeReason.allCases.map { .number(Double($0.rawValue)) }))))],
        #"{"type":"route.changed","reason":3}"#)

    static let streamStopped = EventDescription(
        "A stream, own or subscribed, that the session no longer carries.",
        [
            .required("stream", .unsigned32),
            .required(
                "reason", .words([MediaStop.category, .deactivated].map(\.rawValue)),
                "Category: it has ended for the session. Deactivated, by force: it stands still until the session is active again."),
        ],
        #"{"type":"stream.stopped","stream":2,"reason":"category"}"#)

    static let streamState = EventDescription(
        "Where a subscribed stream stands: told on change, extrapolated by the reader.", SharedSchema.playbackMembers,
        #"{"type":"stream.state","stream":2,"state":"playing","elapsed":8,"rate":1,"at":1760000000000}"#)

    static let formatWanted = EventDescription(
        "What the best of an audio stream's subscribers can use of it; to the publisher.",
        [
            .required("stream", .unsigned32), .required("channels", .integer(1...WantedFormat.channelsMax)),
            .required("bandwidth", SharedSchema.bandwidth),
        ],
        #"{"type":"format.wanted","stream":1,"channels":1,"bandwidth":"wideband"}"#)

    // MARK: To the room

    static let participantInterrupted = EventDescription(
        "A participant's audio session is interrupted, or not any more.",
        [
            .required("participant", .unsigned32), .required("interrupted", .boolean),
            .optional("reason", .words(InterruptionReason.allCases.map(\.rawValue))),
        ],
        #"{"type":"participant.interrupted","participant":5,"interrupted":true,"reason":"default"}"#)

    static let participantHeld = EventDescription(
        "Nothing comes from the participant, and nothing goes to it, until further notice.",
        [.required("participant", .unsigned32), .required("held", .boolean)], #"{"type":"participant.held","participant":5,"held":true}"#)

    static let participantRoute = EventDescription(
        "Where a participant's sound goes in and out; ports have names only where their owner shares them.",
        [
            .required("participant", .unsigned32), .required("inputs", SharedSchema.ports), .required("outputs", SharedSchema.ports),
        ],
        #"{"type":"participant.route","participant":5,"inputs":[{"type":"headsetMic"}],"outputs":[{"type":"headset","name":"Alice's headset"}]}"#
    )

    static let participantMode = EventDescription(
        "What a participant's audio session is for.",
        [
            .required("participant", .unsigned32), .required("category", .words(Category.allCases.map(\.rawValue))),
            .required("mode", .words(Mode.allCases.map(\.rawValue))),
        ],
        #"{"type":"participant.mode","participant":5,"category":"playAndRecord","mode":"voiceChat"}"#)
}
