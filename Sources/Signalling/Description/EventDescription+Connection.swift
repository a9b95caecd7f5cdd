/// Events of a session's connection and of real time.
extension EventDescription {
    private static let milliseconds = JSONSchema.number(from: 0)
    private static let share = JSONSchema.number(0...1)
    private static let layer = JSONSchema.integer(0...StreamLayer.countMax - 1)

    static let streamGap = EventDescription(
        "What a resumed session will never get of a stream.", SharedSchema.streamGapMembers,
        #"{"type":"stream.gap","stream":2,"frames":3,"milliseconds":60}"#)

    static let streamReport = EventDescription(
        "A publisher's stream as its receivers have it, over the reports of the last seconds.",
        [
            .required("stream", .unsigned32),
            .required("receivers", .integer(from: 1), "Receivers that reported."),
            .required("concealedShare", share, "Of what should have been played, over all receivers."),
            .required("concealedShareMax", share, "Of the receiver that has it worst."),
            .required("lateShare", share, "Of what should have been played, over all receivers."),
            .required("lateShareMax", share, "Of the receiver that has it worst."),
            .optional("bufferMilliseconds", milliseconds, "What jitter buffers hold, over all receivers that said it."),
            .optional("bufferMillisecondsMax", milliseconds),
            .optional("jitterMillisecondsMax", milliseconds, "The largest mean deviation of arrival."),
        ],
        #"{"type":"stream.report","stream":1,"receivers":3,"concealedShare":0.004,"concealedShareMax":0.012,"lateShare":0.001,"lateShareMax":0.003,"bufferMilliseconds":52.5,"bufferMillisecondsMax":80,"jitterMillisecondsMax":6.25}"#
    )

    static let streamUnmixed = EventDescription(
        "A stream that is not heard in the mix, or comes paced with late frames dropped instead of concealed.",
        [.required("stream", .unsigned32), .required("reason", .words(RelayMessage.UnmixedReason.self), "Why the relay cannot decode it.")],
        #"{"type":"stream.unmixed","stream":5,"reason":"encrypted"}"#)

    static let keyFrameRequested = EventDescription(
        "Somebody needs a key frame; to the publisher.",
        [.required("stream", .unsigned32), .optional("layer", layer, "The spatial layer, where the stream has several.")],
        #"{"type":"keyframe.requested","stream":2}"#, #"{"type":"keyframe.requested","stream":2,"layer":1}"#)

    static let layersWanted = EventDescription(
        "What the best subscribers of a stream want of it; to the publisher.",
        [
            .required("stream", .unsigned32),
            .required(
                "layers",
                .list(
                    of: .object([
                        .required("spatial", layer), .required("temporal", layer, "The highest temporal layer that somebody gets."),
                    ]), 0...StreamLayer.countMax), "Empty: nobody gets anything of the stream now."),
        ],
        #"{"type":"layers.wanted","stream":2,"layers":[{"spatial":0,"temporal":0},{"spatial":1,"temporal":2}]}"#)

    private static let bitrate: [SchemaMember] = [
        .optional(
            "bitrate", .number(from: 0), "What the relay takes the connection to carry, bits a second; absent while it does not know.")
    ]

    static let congested = EventDescription(
        "The client's connection does not carry what is due to it.", bitrate, #"{"type":"congested","bitrate":310000}"#)

    static let recovered = EventDescription(
        "The client's connection carries what is due to it again.", bitrate, #"{"type":"recovered","bitrate":1200000}"#)

    static let keepAlive = EventDescription(
        "Nothing else has gone to the client for as long as its hello wishes.", [], #"{"type":"keepalive"}"#)

    static let goAway = EventDescription(
        "The relay ends this session after so many milliseconds.",
        [
            .required("deadlineMilliseconds", .integer(from: 0)), .required("reason", .text),
            .optional("node", .text, "Where the client may go, HOST:PORT; absent: the way it came."),
        ],
        #"{"type":"goaway","deadlineMilliseconds":10000,"reason":"drain"}"#)

    static let goAwayCancelled = EventDescription(
        "The relay stays after all: sessions that have not gone may stay.", [], #"{"type":"goaway.cancelled"}"#)
}
