import AudioSession
import RelayBase

/// Requests about the client's audio session and the streams that it plays.
extension RequestDescription {
    private static let session: [SchemaMember] = [
        .required("session", .reference(.sessionState), "The audio session after the request."), SharedSchema.warnings,
    ]
    private static let inactive = #""session":{"state":"inactive","category":"playAndRecord","mode":"default","options":0,"paused":false}"#
    private static let active =
        #""session":{"state":"active","category":"playAndRecord","mode":"voiceChat","options":4,"paused":false,"format":{"sampleRate":48000,"channels":2,"bandwidth":"fullband","latency":0.012}}"#

    static let sessionInit = RequestDescription(
        "Gives the client an audio session: inactive, to play and to record. Without one nothing is restricted.",
        answer: session, refusals: [.audioSessionsMax],
        [
            .init(#"{"type":"session.init","id":20}"#, #"{"type":"ok","id":20,\#(inactive)}"#),
            .init(#"{"type":"session.init","id":21}"#, #"{"type":"ok","id":21,\#(inactive),"warnings":["already_initialised"]}"#),
        ])

    static let setCategory = RequestDescription(
        "What the audio session may do and is used for; an illegal combination leaves it unchanged.",
        [
            .required(
                "category", .words(Category.allCases.flatMap { [$0.rawValue, $0.code.text] }),
                "A name as playAndRecord, or its four characters as plar."),
            .optional("mode", .words(Mode.allCases.map(\.rawValue)), "Absent: default, whatever was set before."),
            .optional("options", .integer(0...Int(CategoryOptions.known.rawValue)), "The platform's bits; absent: none, whatever was set before."),
        ],
        answer: session, refusals: [.sessionLost, .illegalCategory, .badValue],
        [
            .init(
                #"{"type":"session.setCategory","id":21,"category":"playAndRecord","mode":"voiceChat","options":4}"#,
                #"{"type":"ok","id":21,\#(active)}"#)
        ])

    static let setActive = RequestDescription(
        "Activates the audio session, which may interrupt others of the identity, or deactivates it.",
        [
            .required("active", .boolean),
            .optional("notifyOthersOnDeactivation", .boolean, "Deactivating: whoever was interrupted may go on."),
            .optional("force", .boolean, "Deactivating: stops running streams instead of being refused."),
            .optional("background", .boolean, "Activating: the app is in the background."),
            .optional(
                "priority", .integer(0...100), "Activating; absent: 0. A session of lower priority than the active one is refused."),
        ],
        answer: session, refusals: [.sessionLost, .insufficientPriority, .ioRunning, .badValue],
        [
            .init(#"{"type":"session.setActive","id":22,"active":true,"background":false,"priority":10}"#, #"{"type":"ok","id":22,\#(active)}"#),
            .init(
                #"{"type":"session.setActive","id":23,"active":false,"notifyOthersOnDeactivation":true,"force":true}"#,
                #"{"type":"ok","id":23,\#(inactive)}"#),
        ])

    static let interruptionBegan = RequestDescription(
        "The client's device has interrupted the session, as by a phone call.",
        [
            .optional(
                "reason", .text,
                "\(InterruptionReason.allCases.map(\.rawValue).joined(separator: ", ")); absent: default, and so is, with a warning, any other word.")
        ],
        answer: session, refusals: [.sessionLost],
        [
            .init(
                #"{"type":"interruption.began","id":24,"reason":"default"}"#,
                #"{"type":"ok","id":24,"session":{"state":"interrupted","category":"playAndRecord","mode":"voiceChat","options":4,"paused":false}}"#)
        ])

    static let interruptionEnded = RequestDescription(
        "The interruption is over.", [.optional("shouldResume", .boolean, "Media flows again; absent: false.")],
        answer: session, refusals: [.sessionLost, .insufficientPriority],
        [.init(#"{"type":"interruption.ended","id":25,"shouldResume":true}"#, #"{"type":"ok","id":25,\#(active)}"#)])

    static let routeChanged = RequestDescription(
        "Where the client's sound goes in and out has changed.",
        [
            .required(
                "reason", JSONSchema(("type", "integer")),
                "AVAudioSession.RouteChangeReason: 0 to 4 and 6 to 8; any other number is taken as 0, with a warning."),
            .optional("route", .reference(.audioRoute)),
            .optional(
                "legacyRoute", .words(LegacyRoute.allCases.map(\.rawValue)),
                "The route as older systems write it, in place of route; empty: silent."),
            .optional("sharesNames", .boolean, "The room may see the ports' names too; absent: false."),
        ],
        rules: [.init("not", ["required": ["route", "legacyRoute"]])],
        answer: session, refusals: [.sessionLost, .badValue],
        [
            .init(
                #"{"type":"route.changed","id":26,"reason":1,"sharesNames":false,"route":\#(ExampleValues.route)}"#,
                #"{"type":"ok","id":26,\#(active)}"#),
            .init(#"{"type":"route.changed","id":27,"reason":2,"legacyRoute":"SpeakerAndMicrophone"}"#, #"{"type":"ok","id":27,\#(active)}"#),
        ])

    static let playbackPause = RequestDescription(
        "The user pauses everything that is played.", answer: session, refusals: [.sessionLost],
        [
            .init(
                #"{"type":"playback.pause","id":28}"#,
                #"{"type":"ok","id":28,"session":{"state":"active","category":"playAndRecord","mode":"voiceChat","options":4,"paused":true}}"#)
        ])

    static let playbackContinue = RequestDescription(
        "Ends the user's pause, and that of a headset that was pulled.", answer: session, refusals: [.sessionLost],
        [.init(#"{"type":"playback.continue","id":29}"#, #"{"type":"ok","id":29,\#(active)}"#)])

    // MARK: Streams in the words of the platform's queues

    private static let stream = SchemaMember.required("stream", .unsigned32, "One that the client is subscribed to.")
    private static let played: [SchemaMember] = [
        .required("playback", .object(SharedSchema.playbackMembers), "Where the stream stands.")
    ]
    private static let refusedStream: [RefusalKind] = [.sessionLost, .notInRoom, .unknownStream, .category, .pending]
    private static let playing = #""playback":{"stream":2,"state":"playing","elapsed":11,"rate":1,"at":1760000000000}"#
    private static let silent = #""playback":{"stream":2,"state":"stopped","elapsed":11,"rate":0,"at":1760000000000}"#

    static let streamStart = RequestDescription(
        "Plays a stream.",
        [
            stream, .optional("at", .unsigned32, "The media time to start at, in units of the stream's timescale; absent: now."),
        ],
        answer: played, refusals: refusedStream + [.cannotStartPlaying],
        [.init(#"{"type":"stream.start","id":30,"stream":2,"at":960000}"#, #"{"type":"ok","id":30,\#(playing)}"#)])

    static let streamPrime = RequestDescription(
        "Fills a stream up to where it could be played.", [stream],
        answer: played + [
            .required(
                "primed", .object([.required("frames", .integer(from: 0)), .required("milliseconds", .number(from: 0))]),
                "What is there to be played at once.")
        ],
        refusals: refusedStream,
        [.init(#"{"type":"stream.prime","id":31,"stream":2}"#, #"{"type":"ok","id":31,\#(silent),"primed":{"frames":5,"milliseconds":100}}"#)])

    static let streamPause = RequestDescription(
        "Pauses a stream; what is there is kept.", [stream], answer: played, refusals: refusedStream,
        [
            .init(
                #"{"type":"stream.pause","id":32,"stream":2}"#,
                #"{"type":"ok","id":32,"playback":{"stream":2,"state":"paused","elapsed":11,"rate":0,"at":1760000000000}}"#)
        ])

    static let streamStop = RequestDescription(
        "Stops a stream.",
        [stream, .optional("mode", .words(ClientRequest.StopMode.self), "Drain: what is queued goes out first; absent: immediate.")],
        answer: played, refusals: refusedStream,
        [.init(#"{"type":"stream.stop","id":33,"stream":2,"mode":"drain"}"#, #"{"type":"ok","id":33,\#(silent)}"#)])

    static let streamFlush = RequestDescription(
        "Plays out everything of a stream, and then starts its decoder afresh.", [stream], answer: played, refusals: refusedStream,
        [.init(#"{"type":"stream.flush","id":34,"stream":2}"#, #"{"type":"ok","id":34,\#(playing)}"#)])

    static let streamReset = RequestDescription(
        "Silences a stream now, and drops everything that is queued of it.", [stream], answer: played, refusals: refusedStream,
        [.init(#"{"type":"stream.reset","id":35,"stream":2}"#, #"{"type":"ok","id":35,\#(silent)}"#)])

    static let setParameters = RequestDescription(
        "How a stream is played.",
        [
            stream,
            .optional("volume", volume),
            .optional("rampMilliseconds", ramp, "How long the volume takes to get there; absent: at once."),
            .optional("rate", rate),
            .optional("pan", pan, "-1 is left, 1 right."),
            .optional("at", .unsigned32, "Timestamp of the frame with which it takes effect, when that plays; absent: at once."),
        ],
        answer: played + [
            .required(
                "parameters",
                .object([
                    .required("stream", .unsigned32), .required("volume", volume), .optional("rampMilliseconds", ramp), .required("rate", rate),
                    .required("pan", pan), .optional("at", .unsigned32),
                ]), "What holds now; with `at`, from that frame on.")
        ],
        refusals: refusedStream + [.badValue],
        [
            .init(
                #"{"type":"stream.setParameters","id":36,"stream":2,"volume":0.5,"rampMilliseconds":250,"rate":1.5,"pan":-0.25,"at":96000}"#,
                #"{"type":"ok","id":36,\#(playing),"parameters":{"stream":2,"volume":0.5,"rampMilliseconds":250,"rate":1.5,"pan":-0.25,"at":96000}}"#)
        ])

    private static let volume = number(ParameterChange.volumes)
    private static let rate = number(ParameterChange.rates)
    private static let pan = number(ParameterChange.pans)
    private static let ramp = JSONSchema.number(ParameterChange.rampsMilliseconds)

    private static func number(_ range: ClosedRange<Float>) -> JSONSchema {
        JSONSchema.number(Double(range.lowerBound)...Double(range.upperBound))
    }
}
