import MediaProtocol

/// Requests about streams.
extension RequestDescription {
    static let publish = RequestDescription(
        "Announces a stream of the client's.",
        [
            .required("kind", .reference(.streamKind)),
            .required(
                "codec", .text(bytesMax: MediaCodec.codecStringBytesMax),
                "opus, pcm_s16, pcmu, pcma, aac, or a video codec string (RFC 6381); for data any text."),
            .optional("description", .reference(.streamDescription)),
            .optional(
                "source", SharedSchema.source,
                "What the stream is of: microphone, camera, screen or the publisher's own word; at most \(SignallingBounds.sourceBytesMax) bytes."),
            .optional(
                "layers", SharedSchema.layers,
                "Simulcast: the encodings that the stream's frames are of, lowest first. Absent: one encoding, spatial layer 0."),
            .optional(
                "priority", .words(StreamPriority.self),
                "Whose layers go first when a subscriber's bandwidth does not carry all; absent: medium."),
        ],
        // Only video comes in layers.
        rules: [.init("if", ["required": ["layers"]]), .init("then", ["properties": ["kind": ["const": "video"]]])],
        answer: [.required("stream", .unsigned32, "The number that the stream's frames carry, unique in the room as long as the room exists.")],
        refusals: [
            .notInRoom, .role, .notAllowed, .unknownCodec, .badValue, .streamsMax, .publishersMax, .roomStreamsMax,
            .cannotStartRecording, .category,
        ],
        [
            .init(
                #"{"type":"publish","id":5,"kind":"video","codec":"avc1.42E01E","source":"camera","priority":"high","description":{"width":640,"height":360,"frameRate":25,"timescale":90000},"layers":[{"width":320,"height":180,"bitrate":150000},{"temporalLayers":3,"width":640,"height":360,"frameRate":25,"bitrate":500000}]}"#,
                #"{"type":"ok","id":5,"stream":2}"#),
            .init(
                #"{"type":"publish","id":6,"kind":"audio","codec":"opus","description":{"sampleRate":48000,"channels":1,"frameMilliseconds":20}}"#,
                #"{"type":"ok","id":6,"stream":3}"#),
        ])

    static let unpublish = RequestDescription(
        "Ends a stream of the client's.", [.required("stream", .unsigned32)], answer: [.required("stream", .unsigned32)],
        refusals: [.notInRoom, .unknownStream], [.init(#"{"type":"unpublish","id":6,"stream":2}"#, #"{"type":"ok","id":6,"stream":2}"#)])

    private static let streams = JSONSchema.list(of: .unsigned32, 1...SignallingBounds.streamsPerRequestMax)
    private static let highestLayer = JSONSchema.integer(0...StreamLayer.countMax - 1)

    static let subscribe = RequestDescription(
        "Asks for streams of the room.",
        [
            .optional("streams", streams, "These streams; not looked at beside all."),
            .optional("all", .boolean, "True: every stream of the room but one's own, those to come included."),
            .optional(
                "sources", .list(of: SharedSchema.source, 1...SignallingBounds.sourcesPerRequestMax),
                "Every stream of the room but one's own whose source is one of these, those to come included."),
            .optional(
                "delivery", .words(ClientRequest.Delivery.self),
                "Live: forwarded at once. Paced: through a jitter buffer of the relay's. Mixed: all audio but one's own as one stream, only with all."
            ),
            .optional(
                "maxLayer", .object([.optional("spatial", highestLayer), .optional("temporal", highestLayer)]),
                "Nothing above these layers, whatever the bandwidth; an absent member means all."),
            .optional("maxBitrate", .number(StreamLayer.bitrates), "Video of one stream, bits a second at most."),
            .optional(
                "maxDelay", .number(SignallingBounds.delayMilliseconds),
                "Milliseconds after which a queued frame is of no use to this subscriber; it can only shorten the class's deadline."),
            .optional("late", .words(ClientRequest.LatePolicy.self), "Paced: what becomes of late and lost frames; absent: drop."),
            .optional(
                "profile", .words(ClientRequest.JitterProfileName.self),
                "Paced: how much delay for how much concealment; absent: by the audio session's mode."),
            .optional("delay", .number(SignallingBounds.pinnedMilliseconds), "Paced: the buffer's delay in milliseconds, whatever arrives."),
            .optional("channels", .integer(SignallingBounds.mixChannels), "Mixed: of the mix; absent: 1."),
            .optional(
                "lastN", .integer(SignallingBounds.lastN),
                "Of video but screens, only that of so many participants who spoke last; only with all. Absent: of everybody."),
        ],
        rules: [.anyOf([["all"], ["sources"], ["streams"]])],
        answer: [
            .required("subscribed", .list(of: .unsigned32), "The streams that the request named, or means at the moment."),
            .optional("mix", .reference(.mixInfo), "Mixed: the stream that has all audio but one's own."),
        ],
        refusals: [.notInRoom, .badValue, .unknownStream, .pending, .deliveriesMax, .cannotStartPlaying, .category],
        [
            .init(#"{"type":"subscribe","id":7,"all":true,"delivery":"live"}"#, #"{"type":"ok","id":7,"subscribed":[1,2]}"#),
            .init(#"{"type":"subscribe","id":7,"all":true,"lastN":4}"#, #"{"type":"ok","id":7,"subscribed":[1,2]}"#),
            .init(
                #"{"type":"subscribe","id":8,"streams":[2],"sources":["screen"],"maxLayer":{"spatial":1,"temporal":2},"maxBitrate":500000,"maxDelay":250}"#,
                #"{"type":"ok","id":8,"subscribed":[2]}"#),
            .init(
                #"{"type":"subscribe","id":9,"streams":[1],"delivery":"paced","late":"conceal","profile":"lowLatency","delay":60}"#,
                #"{"type":"ok","id":9,"subscribed":[1]}"#),
            .init(
                #"{"type":"subscribe","id":10,"all":true,"delivery":"mixed","channels":2}"#,
                #"{"type":"ok","id":10,"subscribed":[2],"mix":{"stream":9,"codec":"opus","sampleRate":48000,"channels":2,"frameMilliseconds":20}}"#),
        ])

    static let unsubscribe = RequestDescription(
        "Lets go of streams.",
        [
            .optional("streams", streams, "These streams; not looked at beside all."),
            .optional("all", .boolean, "True: all of them, and those to come."),
        ],
        rules: [.anyOf([["all"], ["streams"]])],
        answer: [.required("subscribed", .list(of: .unsigned32), "The streams that are left.")],
        refusals: [.notInRoom, .badValue, .unknownStream],
        [
            .init(#"{"type":"unsubscribe","id":8,"streams":[1]}"#, #"{"type":"ok","id":8,"subscribed":[2]}"#),
            .init(#"{"type":"unsubscribe","id":9,"all":true}"#, #"{"type":"ok","id":9,"subscribed":[]}"#),
        ])

    static let requestKeyFrame = RequestDescription(
        "Asks the publisher of a video stream for a key frame.", [.required("stream", .unsigned32, "One that the client is subscribed to.")],
        refusals: [.notInRoom, .unknownStream, .badValue],
        [.init(#"{"type":"keyframe.request","id":9,"stream":2}"#, #"{"type":"ok","id":9}"#)])
}
