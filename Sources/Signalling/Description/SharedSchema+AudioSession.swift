import AudioSession
import RelayBase

extension SharedSchema {
    static let warnings = SchemaMember.optional(
        "warnings", .list(of: .words(SessionWarning.allCases.map(\.rawValue) + ["unknown_reason"])),
        "What was odd about a request that was granted nevertheless; nothing has changed then but what the word says.")

    /// RFC 6716 §2.
    static let bandwidth = JSONSchema.words(["narrowband", "mediumband", "wideband", "superwideband", "fullband"])

    static let session = JSONSchema.object([
        .required("state", .words(RelayMessage.SessionState.State.self)),
        .required("category", .words(Category.allCases.map(\.rawValue))),
        .required("mode", .words(Mode.allCases.map(\.rawValue))),
        .required("options", .integer(0...Int(CategoryOptions.known.rawValue)), "The platform's bits."),
        .required(
            "paused", .boolean, "The user paused playback, or the headset was pulled: nothing is sent until playback.continue."),
        .optional(
            "format",
            .object([
                .required("sampleRate", .number(RoutePort.sampleRates), "Hz."), .required("channels", .integer(1...WantedFormat.channelsMax)),
                .required("bandwidth", bandwidth, "Opus' audio bandwidth (RFC 6716 §2)."),
                .optional("latency", .number(RoutePort.latencies), "Seconds from the relay's last sample to the ear, as far as the client knows."),
            ]), "What is sent to the client is fitted to this."),
    ]).described("A client's audio session as the relay has it.")

    static let port = JSONSchema.object([
        .required("type", .words(PortType.allCases.map(\.rawValue))),
        .optional(
            "name", .text(bytesMax: RoutePort.nameBytesMax),
            "To others only where its owner shares it; at most \(RoutePort.nameBytesMax) bytes."),
        .optional("sampleRate", .number(RoutePort.sampleRates), "Hz."),
        .optional("channels", .integer(RoutePort.channelCounts)),
        .optional("latency", .number(RoutePort.latencies), "Seconds."),
    ]).described("Where sound goes in or out.")

    static let ports = JSONSchema.list(of: .reference(.audioPort), 0...RouteDescription.portsMax)

    static let route = JSONSchema.object([
        .required("inputs", ports), .required("outputs", ports),
    ]).described("Where a client's sound goes in and out, as in AVAudioSessionRouteDescription.")

    static let playbackMembers: [SchemaMember] = [
        .required("stream", .unsigned32),
        .required("state", .words(RelayMessage.StreamPlayback.State.self)),
        .required("elapsed", .number(from: 0), "Seconds of media that were sent on."),
        .required("rate", .number(from: 0), "0: it does not move."),
        .required("at", .reference(.unixMilliseconds), "At the relay, when that was so."),
    ]
}
