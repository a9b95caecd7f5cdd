import RelayRooms

/// Requests about the session itself.
extension RequestDescription {
    static let hello = RequestDescription(
        "First of all, and once: who the client is and how it wants to be served.",
        [
            .required(
                "versions", .list(of: JSONSchema(("type", "integer"))).with("minItems", 1),
                "The protocol versions that the client speaks; the relay picks the highest that it speaks too."),
            .optional("client", .object([.required("name", .text), .optional("version", .text)]), "The program."),
            .optional(
                "token", .text,
                "A bearer token (JWT, RFC 7519): the identity where there is no certificate, a second factor where there is one."),
            .optional(
                "device", .text(bytesMax: SignallingBounds.deviceBytesMax),
                "The device's name, shown to devices of the same identity; at most \(SignallingBounds.deviceBytesMax) bytes."),
            .optional("wishes", wishes, "How the session wants to be served."),
            .optional("resume", resumption, "Goes on with a session whose connection was lost or is about to be replaced."),
        ],
        answer: welcome,
        refusals: [.version, .helloTwice, .badValue, .tokenRefused, .unauthenticated, .resumeRefused, .connectionShared, .pending],
        [
            .init(
                #"{"type":"hello","id":1,"versions":[1],"client":{"name":"example","version":"0.1"},"token":"\#(ExampleValues.jws)","device":"telephone","wishes":{"parts":true,"bundles":{"delayMilliseconds":5},"keepAliveMilliseconds":20000}}"#,
                #"{"type":"welcome","id":1,\#(session(resumeToken: ExampleValues.resumeToken))}"#),
            .init(
                #"{"type":"hello","id":1,"versions":[1],"resume":{"token":"\#(ExampleValues.resumeToken)","received":[{"stream":1,"sequence":417,"timestamp":400320},{"stream":2,"sequence":80,"timestamp":240000,"layer":1}]}}"#,
                #"{"type":"welcome","id":1,\#(session(resumeToken: ExampleValues.nextResumeToken)),"resumed":{"room":{\#(ExampleValues.room)},"subscribed":[1,2],"published":[{"stream":3,"layer":0,"sequence":803}],"gaps":[{"stream":1,"frames":3,"milliseconds":60}],"session":{"state":"active","category":"playback","mode":"default","options":0,"paused":false}}}"#
            ),
            .init(
                #"{"type":"hello","id":1,"versions":[1],"resume":{"token":"\#(ExampleValues.resumeToken)"}}"#,
                #"{"type":"welcome","id":1,\#(session(resumeToken: ExampleValues.nextResumeToken)),"resumed":{"waiting":"demo","subscribed":[],"published":[],"gaps":[]}}"#
            ),
        ])

    private static func session(resumeToken: String) -> String {
        #""version":1,"session":"\#(ExampleValues.session)","node":"segue","serverTime":1760000000000,"identity":\#(ExampleValues.alice),"limits":{"controlMessageBytesMax":65536,"audioFrameBytesMax":8192,"videoFrameBytesMax":4194304,"dataFrameBytesMax":65536,"streamsPerParticipantMax":16,"controlMessagesPerSecondMax":200},"resumeToken":"\#(resumeToken)","resumeMilliseconds":15000"#
    }

    private static let wishes = JSONSchema.object([
        .optional("parts", .boolean, "Video frames may come cut into parts, so that audio need not wait for a large one."),
        .optional(
            "bundles",
            .object([
                .required(
                    "delayMilliseconds", .number(SignallingBounds.bundleMilliseconds), "How long a frame may be held so that others can join it.")
            ]), "Several frames may come in one message."),
        .optional(
            "keepAliveMilliseconds", .number(SignallingBounds.keepAliveMilliseconds),
            "A data message at least this often: for balancers that do not count pings."),
    ])

    private static let resumption = JSONSchema.object([
        .required("token", .hexadecimal(digits: 64), "The resumeToken of the latest welcome; it is good once."),
        .optional(
            "received",
            .list(
                of: .object([
                    .required("stream", .unsigned32), .required("sequence", .unsigned32), .required("timestamp", .unsigned32),
                    .optional("layer", .integer(0...StreamLayer.countMax - 1), "The spatial layer that the frame is of; absent: 0."),
                ])), "The last frame that came of each stream; streams of which none came are left out."),
    ])

    private static let welcome: [SchemaMember] = [
        .required("version", .integer(from: 1), "The version that both speak from here on."),
        .required("session", .hexadecimal(digits: 32), "Drawn at random; for logs and support."),
        .required("identity", .reference(.identity)),
        .required(
            "limits",
            .object([
                .required("controlMessageBytesMax", .integer(from: 1)), .required("audioFrameBytesMax", .integer(from: 1)),
                .required("videoFrameBytesMax", .integer(from: 1)), .required("dataFrameBytesMax", .integer(from: 1)),
                .required("streamsPerParticipantMax", .integer(from: 1)), .required("controlMessagesPerSecondMax", .integer(from: 1)),
            ]), "Of the relay's limits those that a client has to keep to."),
        .required("serverTime", .reference(.unixMilliseconds), "At the relay."),
        .required("node", .text, "The relay's name."),
        .optional(
            "resumeToken", .hexadecimal(digits: 64),
            "What to come back with after a lost connection, a secret; absent where the relay keeps no lost sessions."),
        .optional("resumeMilliseconds", .integer(from: 1), "How long a lost session is kept."),
        .optional("resumed", resumed, "What the session is again, when hello asked to resume it."),
    ]

    private static let resumed = JSONSchema.object([
        .optional("room", .reference(.roomEntry), "Absent when the session is in no room."),
        .optional("waiting", .text, "The room whose lobby the session waits in."),
        .required("subscribed", .list(of: .unsigned32), "The streams that the session gets."),
        .required(
            "published",
            .list(
                of: .object([
                    .required("stream", .unsigned32),
                    .optional(
                        "layer", .integer(0...StreamLayer.countMax - 1),
                        "The spatial layer; absent: the stream has only one. A stream in layers has an entry for each."),
                    .optional("sequence", .unsigned32, "The last frame of it that the relay has; absent: none."),
                ])), "The client's own streams."),
        .required("gaps", .list(of: .reference(.streamGap)), "What the session will never get."),
        .optional("mix", .reference(.mixInfo), "The stream that has the mix, where the session is subscribed to it."),
        .optional("session", .reference(.sessionState), "The audio session; absent: there is none."),
    ])

    static let time = RequestDescription(
        "The relay's clock against the client's.",
        [
            .required("clientTime", clock, "The client's clock in milliseconds, given back as it came."),
            .optional(
                "last",
                .object([
                    .required("clientTime", clock, "The client's clock when it asked."),
                    .required("serverTime", clock, "The relay's, as it answered."),
                    .required("received", clock, "The client's clock when the answer came."),
                ]), "An exchange before this one, completed: from it the relay knows round trip, offset and drift."),
        ],
        answer: [
            .required("clientTime", clock, "As it came."),
            .required("serverTime", .reference(.unixMilliseconds), "With fractions; carried on by a clock that nobody sets."),
        ],
        refusals: [.badValue],
        [
            .init(#"{"type":"time","id":2,"clientTime":1234.5}"#, #"{"type":"ok","id":2,"clientTime":1234.5,"serverTime":1760000000012.0427}"#),
            .init(
                #"{"type":"time","id":3,"clientTime":6234.5,"last":{"clientTime":1234.5,"serverTime":1760000000012.0427,"received":1258.25}}"#,
                #"{"type":"ok","id":3,"clientTime":6234.5,"serverTime":1760000005012.125}"#),
        ])

    private static let clock = JSONSchema.number(-ClockEstimator.clockMillisecondsMax...ClockEstimator.clockMillisecondsMax)

    static let authenticate = RequestDescription(
        "Adds a bearer token as a second factor, or renews the one that the session lives by.",
        [.required("token", .text, "A JWT (RFC 7519) in the compact form.")],
        answer: [.required("expires", .reference(.unixMilliseconds), "When the session ends unless a newer token comes.")],
        refusals: [.tokenRefused, .pending],
        [.init(#"{"type":"authenticate","id":4,"token":"\#(ExampleValues.jws)"}"#, #"{"type":"ok","id":4,"expires":1760003600000}"#)])

    static let report = RequestDescription(
        "What a receiver says of the streams it plays; counts are totals since it subscribed.",
        [
            .required(
                "streams",
                .list(
                    of: .object([
                        .required("stream", .unsigned32),
                        .optional("received", count, "Frames that came."),
                        .optional("played", count, "Frames that were played; absent: everything that came in time."),
                        .optional("concealed", count, "Frames that were concealed because they were missing."),
                        .optional("late", count, "Of those, frames that came too late to be played."),
                        .optional("bufferMilliseconds", milliseconds, "What the jitter buffer holds."),
                        .optional("jitterMilliseconds", milliseconds, "The mean deviation of arrival."),
                        .optional(
                            "bitrate", .number(0...SignallingBounds.reportedBitsPerSecondMax),
                            "Bits a second that arrived of the stream, over the last seconds."),
                    ]), 0...SignallingBounds.reportedStreamsMax))
        ],
        refusals: [.notInRoom, .badValue],
        [
            .init(
                #"{"type":"report","id":12,"streams":[{"stream":2,"received":500,"played":498,"concealed":2,"late":0,"bufferMilliseconds":60,"jitterMilliseconds":3.5,"bitrate":48000}]}"#,
                #"{"type":"ok","id":12}"#)
        ])

    private static let count = JSONSchema.integer(0...Int(ReceiverTotals.countMax))
    private static let milliseconds = JSONSchema.number(0...SignallingBounds.reportedMillisecondsMax)
}
